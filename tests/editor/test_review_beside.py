"""Review: side by side view, changed words, hunks as text objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.editor.test_review_files import MORE
from tests.harness.dialogs import answers, ask, decline, wait_focused
from tests.harness.review import FILES, LINES, NOTHING, accepted, left_overs, opened, review

if TYPE_CHECKING:
    from tests.harness.editor import Editor

PROPOSED = ["first", *LINES[:9], "ten", "eleven", "more", *LINES[11:29], *LINES[30:], "last"]


def beside(editor: Editor) -> list[str] | None:
    """Return the lines of the shown proposal, else None."""
    found: list[str] | None = editor.lua("""
      for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
        local buf = vim.api.nvim_win_get_buf(win)
        if vim.api.nvim_buf_get_name(buf):find('^tideate://proposal/') then
          return vim.api.nvim_buf_get_lines(buf, 0, -1, true)
        end
      end
    """)
    return found


def test_a_file_is_shown_side_by_side_and_inline_again(editor: Editor) -> None:
    review(editor)
    editor.command("set foldcolumn=1 nowrap winhighlight=Normal:Comment")
    editor.feed("gp")
    assert beside(editor) == PROPOSED
    assert editor.lua("return vim.fn.expand('%:t')") == "a.txt"
    diff = "return vim.tbl_map(function(win) return vim.wo[win].diff end, vim.api.nvim_list_wins())"
    assert editor.lua(diff) == [True, True]
    assert editor.lua("return vim.wo.winhighlight") == "Normal:Comment,DiffAdd:TideateDelete"
    assert "eleven" not in drawn(editor)
    editor.feed("gp")
    assert beside(editor) is None
    assert editor.lua("return {vim.wo.diff, vim.wo.foldcolumn, vim.wo.wrap}") == [False, "1", False]
    assert editor.lua("return vim.wo.winhighlight") == "Normal:Comment"
    editor.feed("]c")
    assert "eleven" in drawn(editor)
    assert editor.lines() == LINES


@pytest.mark.parametrize("end", ["gp", "gAg<CR>", "q"])
def test_no_fold_of_the_diff_stays_in_the_window(editor: Editor, end: str) -> None:
    review(editor, opened(editor, [{"start": 9, "old": ["line 10"], "new": ["ten"]}]))
    editor.feed("gp")
    folded = "return vim.tbl_filter(function(n) return vim.fn.foldclosed(n) > 0 end, vim.fn.range(1, 30))"
    assert editor.lua(f"vim.cmd.redraw() {folded}")
    editor.feed(end)
    assert beside(editor) is None
    assert editor.lua(f"vim.cmd.redraw() {folded}") == []


def drawn(editor: Editor) -> str:
    return str(
        editor.lua("""
          local ns, found = vim.api.nvim_get_namespaces()['tideate.review'], {}
          for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })) do
            for _, line in ipairs(vim.list_extend({ mark[4].virt_text or {} }, mark[4].virt_lines or {})) do
              table.insert(found, table.concat(vim.tbl_map(function(chunk) return chunk[1] end, line)))
            end
          end
          return table.concat(found, '\\n')
        """)
    )


SIGNS = """
local found = {}
for _, win in ipairs({ vim.fn.winnr('1h'), vim.fn.winnr('1l') }) do
  local buf = vim.fn.winbufnr(win)
  local signs, all = {}, vim.api.nvim_buf_get_extmarks(buf, -1, 0, -1, { details = true, type = 'sign' })
  for _, mark in ipairs(all) do
    local sign = vim.trim(mark[4].sign_text)
    if sign ~= '' then
      table.insert(signs, sign .. ' ' .. vim.fn.getbufline(buf, mark[2] + 1)[1])
    end
  end
  table.insert(found, signs)
end
return found
"""


def test_both_sides_have_signs_that_need_no_colour(editor: Editor) -> None:
    review(editor)
    editor.feed("gp")
    signs = editor.lua(SIGNS)
    assert signs[0] == ["- line 10", "- line 11", "- line 30"]
    assert signs[1][:4] == ["+ first", "+ ten", "+ eleven", "+ more"]
    offsets = editor.lua("return vim.tbl_map(function(w) return w.textoff end, vim.fn.getwininfo())")
    assert len(set(offsets)) == 1, "both texts begin in the same column"
    editor.feed("]c")
    editor.feed("gr")
    rejected = editor.lua(SIGNS)
    assert "- line 10" not in rejected[0]
    assert "- line 30" in rejected[0]
    assert "+ ten" not in rejected[1]
    editor.feed("gp")
    assert editor.lua("return vim.fn.winnr('$')") == 1
    decline(editor, "gRg<CR>")
    assert left_overs(editor) == NOTHING
    assert editor.lua("return #vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, {})") == 0


@pytest.mark.parametrize("window", ["h", "l"])
def test_all_keys_of_the_review_work_in_each_window(editor: Editor, window: str) -> None:
    review(editor, {**opened(editor)}, MORE)
    editor.feed("gp")
    editor.command(f"wincmd {window}")
    here = "return {vim.fn.winnr(), vim.fn.getline('.')}"
    number = editor.lua("return vim.fn.winnr()")
    seen = []
    for key in ("]c", "]c", "[c", "ga", "gr", "gu", "gU", "ggga"):
        editor.feed(key)
        seen.append(editor.lua(here))
    right = window == "l"
    ten, gone, last = ("ten", "line 31", "last") if right else ("line 10", "line 30", "line 60")
    assert [where for where, _ in seen] == [number] * 8
    assert [text for _, text in seen[:7]] == [ten, gone, ten, gone, last, gone, gone]
    editor.feed("gr")
    assert beside(editor) == ["A", "b", "C"]
    assert editor.lua("return vim.fn.winnr()") == number
    editor.feed("gfag<CR>")
    assert accepted(editor) == [[0, 1], [0, 1]]
    assert left_overs(editor) == NOTHING


def test_decisions_and_what_the_person_types_show_on_both_sides(editor: Editor) -> None:
    review(editor)
    editor.feed("gp")
    editor.feed("ga")
    assert "✓ accepted" in drawn(editor)
    editor.command("wincmd l")
    labels = editor.lua("""
      local ns = vim.api.nvim_get_namespaces()['tideate.review.side']
      return vim.tbl_map(function(mark) return mark[4].virt_text[1][1] end,
        vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true, type = 'virt_text' }))
    """)
    assert labels == [" ✓ accepted"]
    editor.command("wincmd h")
    editor.feed("11GAmine<Esc>5GOtyped<Esc>")
    editor.wait("require('tideate.ui').pending()[1].focused")
    wanted = ["first", *LINES[:4], "typed", *LINES[4:10], "line 11mine", *LINES[11:29], *LINES[30:], "last"]
    editor.wait_for(lambda: beside(editor) == wanted, "the proposal follows, and leaves what is typed alone")
    editor.feed("gA")
    assert answers(editor) == []


def test_closing_either_window_shows_the_changes_inline(editor: Editor) -> None:
    review(editor)
    for close in ("wincmd l | quit", "wincmd l | wincmd h | enew"):
        editor.feed("gp")
        editor.command(close)
        editor.wait_for(lambda: beside(editor) is None, "the other window goes, too")
        editor.lua("require('tideate.ui').focus()")
        assert editor.lua("return vim.wo.diff") is False
    editor.feed("gg]c")
    assert "eleven" in drawn(editor)
    decline(editor, "gRg<CR>")
    assert left_overs(editor)["autocmds"] == 0


def test_files_that_are_not_open_are_shown_beside_each_other_and_not_loaded(editor: Editor) -> None:
    editor.edit("mine.txt", "mine\n")
    review(editor, MORE, *FILES[1:])
    editor.feed("gp")
    assert (editor.lines(), beside(editor)) == (["a", "b", "c"], ["A", "b", "C"])
    editor.feed("]f")
    assert (editor.lines(), beside(editor)) == (["return 1"], None)
    editor.feed("[f")
    assert beside(editor) == ["A", "b", "C"]
    assert editor.lua("return vim.fn.bufexists('more.txt')") == 0
    editor.feed("gAg<CR>")
    assert left_overs(editor) == NOTHING
    assert editor.lines() == ["mine"]


def marked(editor: Editor, buffer_group: str) -> list[str]:
    """Return the texts with a highlight group, in the buffer or in virtual text."""
    return list(
        editor.lua(
            """
          local group, found = ..., {}
          local ns = vim.api.nvim_get_namespaces()['tideate.review']
          for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })) do
            local row, column, more = mark[2], mark[3], mark[4]
            if more.hl_group == group then
              local text = vim.api.nvim_buf_get_text(0, row, column, more.end_row, more.end_col, {})
              table.insert(found, text[1])
            end
            for _, line in ipairs(more.virt_lines or {}) do
              for _, chunk in ipairs(line) do
                if type(chunk[2]) == 'table' and vim.list_contains(chunk[2], group) then
                  table.insert(found, chunk[1])
                end
              end
            end
          end
          return found
        """,
            buffer_group,
        )
    )


WORDS = [
    (["a = old(1)"], ["a = new(1)"], ["old"], ["new"]),
    (["\tresult = a"], ["\tresult = ä, b"], ["a"], ["ä, b"]),
    (["one two", "three four"], ["one 2", "added here", "three 4"], ["two", "four"], ["2", "4"]),
    (["nothing alike"], ["x(y)"], [], []),
    (["for price in prices:"], ['print("adding up", len(prices))'], [], []),
    (["one(a)  # b"], ["one(a)"], ["# b"], []),
    (["    indented = 1"], ["indented = 1"], ["    "], []),
    (["a \u202e b"], ["a \u202e c"], [], []),
]


def test_the_words_that_differ_are_marked(editor: Editor) -> None:
    for old, new, gone, come in WORDS:
        number = editor.edit("a.txt", "\n".join(old) + "\n")
        hunk = {"start": 0, "old": old, "new": new}
        file: dict[str, Any] = {"path": "a.txt", "action": "modify", "buffer": number}
        review(editor, {**file, "before": "\n".join(old), "filetype": "", "hunks": [hunk]})
        assert (marked(editor, "TideateDeleteText"), marked(editor, "TideateAddText")) == (gone, come)
        editor.lua("require('tideate.ui').close()")


@pytest.mark.parametrize("filetype", ["", "lua"])
def test_a_proposal_has_the_colours_of_a_file_that_no_buffer_shows(editor: Editor, filetype: str) -> None:
    hunk = {"start": 0, "old": ["local a = 1"], "new": ["local a = 2"]}
    file = {"path": "a.lua", "action": "modify", "before": "local a = 1", "filetype": filetype}
    review(editor, {**file, "hunks": [hunk]})
    editor.feed("gp")
    assert beside(editor) == ["local a = 2"]
    colours = editor.lua("""
      return vim.tbl_map(function(win)
        local buf = vim.api.nvim_win_get_buf(win)
        return vim.treesitter.highlighter.active[buf] ~= nil or vim.bo[buf].syntax == 'lua'
      end, vim.api.nvim_tabpage_list_wins(0))
    """)
    assert colours == [True, True]


def test_hunks_are_text_objects(editor: Editor) -> None:
    review(editor)
    editor.feed("]cyih")
    assert editor.lua("return vim.fn.getreg('\"')") == "line 10\nline 11\n"
    editor.feed("Vih<Esc>")
    assert editor.lua('return {vim.fn.line("\'<"), vim.fn.line("\'>")}') == [10, 11]
    editor.feed("ggyih")
    assert "this hunk has no lines here" in editor.messages()
    editor.feed("11Go<Esc>11Gyah")
    assert editor.lua("return vim.fn.getreg('\"')") == "line 10\nline 11\n\n"
    editor.feed("gp")
    editor.command("wincmd l")
    editor.feed("gg]cyih")
    assert editor.lua("return vim.fn.getreg('\"')") == "ten\neleven\nmore\n"


def test_the_hunks_of_a_selection_are_decided_as_one(editor: Editor) -> None:
    review(editor)
    editor.feed("5GV35Gga")
    editor.feed("gu")
    editor.feed("5GV35Ggr")
    editor.feed("ggVGgo")
    editor.feed("gu")
    editor.feed("gAg<CR>")
    assert accepted(editor) == [[0, 3]]


def test_every_key_says_what_it_does(editor: Editor) -> None:
    review(editor, MORE)
    maps = editor.lua("""
      local found = {}
      for _, mode in ipairs({ 'n', 'x', 'o' }) do
        vim.list_extend(found, vim.api.nvim_buf_get_keymap(0, mode))
      end
      return vim.tbl_map(function(map) return { map.lhs, map.desc or '' } end, found)
    """)
    assert {"ga", "gfa", "gl", "gp", "ih", "ah"} <= {lhs for lhs, _ in maps}
    assert [lhs for lhs, desc in maps if not desc] == []
    editor.feed("g?")
    text = "\n".join(editor.lines())
    assert all(f" {key} " in text for key in ("gfa", "gfo", "gO", "ih", "ah", "gp", "gl"))


LONG = {"start": 0, "old": ["one"], "new": [f"line {number}" for number in range(80)]}
FILE = {"path": "a.txt", "action": "modify", "before": "one", "filetype": "", "hunks": [LONG]}
STATE = """
  local win, view = vim.api.nvim_get_current_win(), vim.fn.winsaveview()
  return { win, vim.fn.bufnr('#'), view, vim.o.eventignore, vim.bo.bufhidden, vim.api.nvim_list_bufs() }
"""


def test_added_last_lines_are_drawn_after_the_proposal_was_scrolled_to_its_end(screen_editor: Editor) -> None:
    editor = screen_editor
    ask(editor, "review", payload={"files": [FILE], "demonstration": False})
    wait_focused(editor)
    editor.wait_screen("line 3")
    editor.feed("gp<C-w>lG")
    editor.wait_screen("line 79")
    editor.feed("gp")
    editor.wait_screen_without("line 79")
    editor.wait_screen("+ line 3")


def test_added_last_lines_are_drawn_in_a_window_that_had_a_diff(screen_editor: Editor) -> None:
    editor = screen_editor
    buf = editor.edit("a.txt", "one")
    editor.edit("b.txt", "".join(f"{number}\n" for number in range(200)))
    editor.edit("a.txt")
    editor.command("diffthis | rightbelow vertical split b.txt | diffthis")
    editor.feed("G")
    editor.wait_screen("199")
    editor.command("diffoff! | close!")
    before = editor.lua(STATE)
    ask(editor, "review", payload={"files": [FILE | {"buffer": buf}], "demonstration": False})
    wait_focused(editor)
    editor.wait_screen("+ line 3")
    assert editor.lua(STATE) == before


def test_added_last_lines_are_drawn_where_another_file_had_a_diff(screen_editor: Editor) -> None:
    editor = screen_editor
    editor.edit("other.txt", "one")
    editor.edit("b.txt", "".join(f"{number}\n" for number in range(200)))
    editor.edit("other.txt")
    editor.command("diffthis | rightbelow vertical split b.txt | diffthis")
    editor.feed("G")
    editor.wait_screen("199")
    editor.command("diffoff! | close!")
    ask(editor, "review", payload={"files": [FILE], "demonstration": False})
    wait_focused(editor)
    editor.wait_screen("+ line 3")


def test_a_window_is_prepared_without_an_event_and_without_reading_its_file_again(editor: Editor) -> None:
    editor.edit("a.txt", "one")
    editor.write("a.txt", "changed by another program, which Neovim has not seen")
    before = editor.lua(STATE)
    editor.lua("""
      vim.o.autoread, _G.events = true, {}
      vim.api.nvim_create_autocmd({ 'FileChangedShell', 'BufEnter', 'BufLeave', 'OptionSet' }, {
        callback = function(event)
          if event.match ~= 'eventignore' then
            table.insert(_G.events, event.event)
          end
        end,
      })
      require('tideate.ui.window').draw_end(vim.api.nvim_get_current_win())
    """)
    assert editor.lines() == ["one"]
    assert editor.lua("return { _G.events, vim.bo.buftype }") == [[], ""]
    assert editor.lua(STATE) == before


def test_a_window_that_cannot_be_prepared_keeps_its_events(editor: Editor) -> None:
    editor.edit("a.txt", "one")
    editor.lua("""
      vim.keymap.set('n', 'X', function()
        _G.done = pcall(require('tideate.ui.window').draw_end, 0)
        return ''
      end, { expr = true })
    """)
    editor.feed("X")
    assert editor.lua("return { _G.done, vim.o.eventignore, vim.bo.buftype, vim.bo.bufhidden }") == [
        False,
        "",
        "",
        "",
    ]


OFFERED = """
local merge, lines = require('tideate.ui.review.merge'), nil
lines, _G.merged = merge.lines, 0
merge.lines = function(...)
  _G.merged = _G.merged + 1
  return lines(...)
end
"""


def test_beside_only_stale_hunks_in_sight_are_merged(editor: Editor) -> None:
    hunks = [{"start": row, "old": [LINES[row]], "new": [f"long {LINES[row]}"]} for row in range(0, 60, 3)]
    review(editor, opened(editor, hunks))
    editor.feed("gp")
    editor.command("set diffopt-=filler nofoldenable | wincmd l | set nofoldenable | wincmd h | resize 8")
    editor.lua(OFFERED)
    editor.command("normal! gg")
    editor.lua("for row = 1, 58, 3 do vim.fn.setline(row, vim.fn.getline(row) .. ', too') end")
    editor.feed("gg")
    assert 0 < editor.lua("return _G.merged") < 20
    lines = beside(editor) or []
    assert lines[0] == f"long {LINES[0]}, too"
    assert lines[57] == f"{LINES[57]}, too", "it is out of sight"
    editor.feed("G")
    merged = f"long {LINES[57]}, too"
    editor.wait_for(lambda: (beside(editor) or [""] * 60)[57] == merged, "what came into sight is merged")
