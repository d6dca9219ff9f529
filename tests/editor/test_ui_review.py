"""The diff review: hunk by hunk, over the person's own buffer, which it never changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.dialogs import answers, decline, focused, wait_focused
from tests.harness.events import Run
from tests.harness.review import FILES, HUNKS, LINES, NOTHING, accepted, bar, left_overs, opened, review

if TYPE_CHECKING:
    from tests.harness.editor import Editor


def test_hunks_are_decided_one_by_one_and_the_last_decision_can_be_reverted(editor: Editor) -> None:
    review(editor)
    editor.feed("gagr")
    editor.feed("ga")
    assert answers(editor) == []
    editor.feed("ga")
    assert "all is decided: g<CR> finishes, gu undoes" in editor.messages()
    assert "g<CR> finish  gu undo" in bar(editor)
    editor.feed("gugr")
    assert answers(editor) == []
    editor.feed("g<CR>")
    assert answers(editor)[0]["accepted"] is True
    assert accepted(editor) == [[0, 2]]
    assert editor.lines() == LINES
    assert left_overs(editor) == NOTHING


def test_finishing_early_leaves_out_what_is_open(editor: Editor) -> None:
    review(editor)
    editor.feed("g<CR>")
    assert answers(editor) == []
    editor.feed("]cga")
    editor.feed("g<CR>")
    assert accepted(editor) == [[1]]
    assert "review finished: 1 of 4 accepted, 3 hunks left out" in editor.messages()


def test_the_keys_move_between_hunks(editor: Editor) -> None:
    review(editor)
    line = "return vim.fn.line('.')"
    seen = [editor.lua(line)]
    for key in ("]c", "]c", "]c", "]c", "[c", "[c"):
        editor.feed(key)
        seen.append(editor.lua(line))
    assert seen == [1, 10, 30, 60, 60, 30, 10]


def test_it_shows_both_sides_and_the_keys(screen_editor: Editor) -> None:
    editor = screen_editor
    review(editor, opened(editor), demonstration=True)
    editor.wait_screen("eleven")
    screen = editor.wait_screen("ga accept  gr reject")
    assert "a.txt · hunk 1/4 · 4 open" in screen[0]
    assert "g? help" in screen[0]
    assert "demo" in screen[0]
    text = [line.strip() for line in editor.wait_screen("+ first")]
    assert text.index("+ first") + 1 == text.index("line 01")
    at = text.index("- line 11")
    assert text[at - 1 : at + 5] == ["- line 10", "- line 11", "+ ten", "+ eleven", "+ more", "line 12"]
    editor.feed("gh")
    editor.wait_screen("· hidden")
    editor.wait_screen_without("eleven")
    editor.feed("gh")
    editor.wait_screen("eleven")
    editor.wait_screen_without("hidden")
    editor.feed("]cgp")
    editor.wait_screen("│+ eleven")


def test_only_hunks_in_sight_are_drawn(editor: Editor) -> None:
    hunks = [{"start": row, "old": [LINES[row]], "new": ["x"]} for row in range(0, 60, 2)]
    review(editor, opened(editor, hunks))
    drawn = editor.lua("""
      local ns = vim.api.nvim_get_namespaces()['tideate.review']
      return vim.iter(vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, {details = true}))
        :filter(function(m) return m[4].virt_lines end):map(function(m) return m[2] end):totable()
    """)
    assert 0 in drawn
    assert len(drawn) < 25
    editor.feed("G")
    editor.wait("""vim.iter(vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces()['tideate.review'],
        {58, 0}, -1, {details = true})):any(function(m) return m[4].virt_lines ~= nil end)""")


def test_what_the_person_types_stays_and_the_hunks_follow(editor: Editor) -> None:
    review(editor)
    editor.feed("5GOtyped<CR>twice<Esc>")
    editor.feed("gg]c")
    assert editor.lua("return vim.fn.line('.')") == 12
    editor.feed("gAg<CR>")
    assert accepted(editor) == [[0, 1, 2, 3]]
    assert editor.lines() == [*LINES[:4], "typed", "twice", *LINES[4:]]


def test_a_hunk_that_the_person_changed_cannot_be_accepted(editor: Editor) -> None:
    review(editor)
    editor.feed("10GAmine<Esc>")
    editor.feed("ga")
    assert "you changed these lines" in editor.messages()
    editor.feed("gA")
    assert answers(editor) == []
    editor.feed("g<CR>")
    assert accepted(editor) == [[0, 2, 3]]
    assert editor.lines()[9] == "line 10mine"


def test_undoing_the_own_change_makes_the_hunk_acceptable_again(editor: Editor) -> None:
    review(editor, opened(editor, HUNKS[1:2]))
    editor.feed("10GAmine<Esc>u")
    editor.feed("gag<CR>")
    assert accepted(editor) == [[0]]


def test_a_person_who_types_is_not_moved_and_gets_no_keys(editor: Editor) -> None:
    file = opened(editor)
    editor.command("enew")
    editor.feed("ityping")
    review(editor, file, focus=False)
    editor.feed("ga")
    assert editor.mode() == "i"
    assert editor.lines() == ["typingga"]
    assert editor.lua("return #vim.api.nvim_buf_get_keymap(..., 'n')", file["buffer"]) == 0
    editor.feed("<Esc>")
    wait_focused(editor)
    assert editor.lua("return vim.api.nvim_get_current_buf()") == file["buffer"]
    decline(editor, "gRg<CR>")
    assert editor.lines() == ["typingga"]


def test_own_mappings_of_the_buffer_come_back(editor: Editor) -> None:
    file = opened(editor)
    editor.command("nnoremap <buffer> ga :let g:mine = 1<CR>")
    editor.lua("vim.wo.winbar = 'my bar'")
    review(editor, file)
    assert editor.lua("return vim.wo.winbar") != "my bar"
    editor.command("split")
    decline(editor, "gRg<CR>")
    assert editor.lua("return vim.wo.winbar") in ("my bar", "")
    editor.command("only")
    editor.feed("ga")
    assert editor.lua("return vim.g.mine") == 1


def test_a_buffer_that_is_closed_is_loaded_again_and_its_review_goes_on(editor: Editor) -> None:
    review(editor)
    editor.command("bdelete!")
    editor.wait("vim.fn.bufloaded('a.txt') == 1 and vim.fn.buflisted('a.txt') == 1")
    editor.lua("require('tideate.ui').focus()")
    assert editor.lua("return vim.fn.expand('%:t')") == "a.txt"
    editor.feed("gg]cga")
    editor.feed("g<CR>")
    assert accepted(editor) == [[1]]
    assert left_overs(editor)["autocmds"] == 0


WAYS_TO_CLOSE = {
    "its buffer was wiped out": "bwipeout!",
    "its file is gone": "call delete(expand('%')) | bdelete!",
}


@pytest.mark.parametrize("reason", WAYS_TO_CLOSE)
def test_a_review_whose_buffer_cannot_be_loaded_again_waits(editor: Editor, reason: str) -> None:
    review(editor)
    editor.command(WAYS_TO_CLOSE[reason])
    said = f"a.txt was closed, and {reason}; the review waits: :Workflow review opens it again"
    editor.wait(f"vim.api.nvim_exec2('messages', {{output = true}}).output:find('{said}', 1, true)")
    assert answers(editor) == []
    editor.command("Workflow review")
    assert editor.messages().count("the review waits") == 2


def test_a_file_that_has_other_lines_when_it_is_loaded_again_is_reviewed_all_the_same(editor: Editor) -> None:
    review(editor)
    editor.command("call writefile(['x'], expand('%')) | bdelete!")
    editor.wait("vim.fn.bufloaded('a.txt') == 1")
    editor.command("Workflow review")
    editor.feed("gAg<CR>")
    assert accepted(editor) == [[0, 3]], "hunks that delete lines which are not there are left out"
    assert editor.lines(editor.lua("return vim.fn.bufnr('a.txt')")) == ["x"]


@pytest.mark.parametrize("command", ["quit!", "wq"])
def test_closing_the_last_window_leaves_neither_neovim_nor_the_review(editor: Editor, command: str) -> None:
    review(editor)
    editor.lua("require('tideate.ui.output').hide()")
    editor.command(command)
    editor.wait("vim.api.nvim_exec2('messages', {output = true}).output:find('the review is still open')")
    assert editor.lua("return #require('tideate.ui.window').normal_windows()") == 1
    assert editor.lua("return vim.fn.expand('%:t')") == "a.txt"
    editor.lua("require('tideate.ui').focus()")
    editor.feed("gg]cga")
    editor.feed("g<CR>")
    assert accepted(editor) == [[1]]


def test_one_of_two_windows_is_closed_during_a_review_as_always(editor: Editor) -> None:
    review(editor)
    editor.command("split")
    editor.command("quit")
    assert editor.lua("return #require('tideate.ui.window').normal_windows()") == 1
    assert "still open" not in editor.lua("return vim.api.nvim_exec2('messages', {output = true}).output")


def test_the_number_of_hunks_is_told_once_to_who_is_typing(editor: Editor) -> None:
    file = opened(editor)
    editor.nvim.input("i")
    editor.wait("vim.api.nvim_get_mode().mode == 'i'")
    review(editor, file, focus=False)
    messages = "vim.api.nvim_exec2('messages', {output = true}).output"
    editor.wait(f"{messages}:find(': 4 hunks to review; press <Esc>, or :Workflow', 1, true)")


def test_files_without_a_buffer_are_reviewed_in_scratch_buffers(editor: Editor) -> None:
    editor.edit("mine.txt", "mine\n")
    review(editor, *FILES)
    shown = []
    for key in ("ga", "gr", "ga", "ga"):
        shown.append(editor.lines())
        assert editor.lua("return vim.bo.modifiable") is False
        editor.feed(key)
    editor.feed("g<CR>")
    assert shown == [["a", "b"], ["return 1"], ["gone"], ["same"]]
    assert accepted(editor) == [[0], [], [0], [0]]
    assert editor.lines() == ["mine"]
    assert left_overs(editor) == NOTHING


def test_leaving_a_review_gives_no_answer_and_takes_everything_of_it_away(editor: Editor) -> None:
    review(editor, *FILES)
    editor.feed("ga<Esc>")
    editor.feed("q")
    assert answers(editor) == []
    words = "refactor waits (4 hunks: 1 accepted, 3 open); :Workflow review opens it again"
    assert words in editor.messages()
    editor.lua("require('tideate.ui.notify').close()")
    editor.wait_for(lambda: left_overs(editor) == NOTHING, "nothing is left")


def test_the_key_that_ends_a_recording_leaves_no_review(editor: Editor) -> None:
    review(editor)
    editor.lua("vim.api.nvim_feedkeys('qa', 'nt', false)")
    editor.wait("vim.fn.reg_recording() == 'a'")
    editor.feed("]cq")
    editor.wait("vim.fn.reg_recording() == ''")
    assert editor.lua("return #require('tideate.ui').pending()") == 1


@pytest.mark.parametrize(
    "command",
    ["quit", "bdelete!", "bwipeout!", "enew", "tabnew", "tabnew | tabprevious | tabclose", "new | only"],
)
def test_a_scratch_review_that_was_closed_is_opened_again(editor: Editor, command: str) -> None:
    editor.command("split")
    review(editor, *FILES)
    editor.feed("ga")
    editor.feed("[f")
    editor.command(command)
    editor.lua("vim.wait(0)")
    assert answers(editor) == []
    editor.command("Workflow review")
    assert editor.lines() == ["return 1"]
    editor.feed("[f")
    assert editor.lines() == ["a", "b"]
    decline(editor, "grg<CR>")
    assert answers(editor)[0]["accepted"] is False


def test_the_keys_move_between_files(editor: Editor) -> None:
    review(editor, opened(editor), *FILES)
    names = []
    for key in ("]f", "]f", "[f", "[f", "[f"):
        editor.feed(key)
        names.append(editor.lua("return vim.fn.expand('%:t')"))
    assert names == ["on_disk.txt", "new.lua", "on_disk.txt", "a.txt", "from.txt"]


BROKEN = """
local rows = require('tideate.ui.review.syntax').virtual({ (...), 'x' }, {
  width = select(2, ...), tabstop = 4, base = 'Normal', words = {},
})
local whole = {}
for _, row in ipairs(rows) do
  for _, chunk in ipairs(row) do
    table.insert(whole, (chunk[1]:gsub('↪ ', '')))
  end
end
return #rows < 100 and table.concat(whole):gsub(' ', '')
"""


def test_added_lines_are_whole_in_a_window_of_any_width(editor: Editor) -> None:
    for width in (-3, 0, 1, 2, 3, 4, 5, 20):
        assert editor.lua(BROKEN, "ab = 函数\twäre", width) == "ab=函数wärex"


def test_on_a_narrow_screen_the_name_goes_before_the_hunks_number(small_editor: Editor) -> None:
    names = ("src/words.py", "src/tally/__init__.py")
    hunks = [{"start": 0, "old": ["b"], "new": ["B"]}]
    base = opened(small_editor)
    files = [
        {**base, "path": name, "buffer": small_editor.edit(name, "b\n"), "hunks": hunks} for name in names
    ]
    review(small_editor, *files)
    shown = bar(small_editor)
    assert "/__init__.py · file 2/2 · 2 open " in shown, shown
    assert "ga accept  gr reject" in shown


def test_the_files_of_a_review_pass_through_one_window(editor: Editor) -> None:
    other = editor.edit("b.txt", "b\n")
    editor.command("split")
    first = opened(editor)
    home = editor.lua("return vim.api.nvim_get_current_win()")
    hunks = [{"start": 0, "old": ["b"], "new": ["B"]}]
    review(editor, first, {**first, "path": "b.txt", "buffer": other, "hunks": hunks})
    editor.feed("]f")
    assert editor.lua("return vim.api.nvim_get_current_win()") == home
    assert "b.txt · file 2/2 · hunk 1/1 · 5 open" in bar(editor)
    editor.command("wincmd j")
    editor.wait("vim.wo.winbar:find('#TideateTitle#', 1, true)")
    dimmed = editor.lua("return vim.wo[...].winbar", home)
    assert "#TideateOut#" in dimmed
    assert "ga accept" not in dimmed
    decline(editor, "gRg<CR>")
    assert editor.lua("return vim.api.nvim_win_get_buf(...)", home) == first["buffer"]


def test_lines_that_are_only_added_have_signs_beside_the_numbers(screen_editor: Editor) -> None:
    editor = screen_editor
    file = opened(editor, HUNKS[:1])
    editor.command("setlocal number")
    review(editor, file)
    line = next(line for line in editor.wait_screen("+     first") if "first" in line)
    assert line.startswith("+ ")


@pytest.mark.slow
def test_a_key_typed_when_the_review_appears_decides_nothing(editor: Editor) -> None:
    review(editor, focus=False)
    editor.wait_for(lambda: focused(editor), "the review is shown")
    editor.feed("gA")
    assert answers(editor) == []
    wait_focused(editor)
    editor.feed("gAg<CR>")
    assert accepted(editor) == [[0, 1, 2, 3]]


def test_the_review_leaves_the_tab_page_of_the_output(editor: Editor) -> None:
    editor.lua("require('tideate').setup({ui = {output = 'tab'}})")
    file = opened(editor)
    window = editor.lua("return vim.api.nvim_get_current_win()")
    run = Run(editor)
    assert editor.lua("return vim.api.nvim_get_current_win()") == run.window()
    review(editor, file)
    assert editor.lua("return vim.api.nvim_get_current_win()") == window
    editor.feed("gAg<CR>")
    assert editor.lua("return vim.api.nvim_get_current_win()") == window


def test_a_fixed_window_keeps_its_buffer(editor: Editor) -> None:
    editor.edit("fixed.txt", "fixed\n")
    editor.command("setlocal winfixbuf")
    review(editor, *FILES)
    assert editor.lua("return #vim.fn.win_findbuf(vim.fn.bufnr('fixed.txt'))") == 1
    editor.feed("gAg<CR>")
    assert accepted(editor) == [[0], [0], [0], [0]]
    assert editor.lua("return #vim.api.nvim_list_wins()") == 1


def test_a_withdrawn_review_leaves_nothing(editor: Editor) -> None:
    identity = review(editor, opened(editor), *FILES)
    editor.feed("]f")
    editor.lua("require('tideate.ui').withdraw(...)", identity)
    assert answers(editor) == []
    assert left_overs(editor) == NOTHING
    assert editor.lines() == LINES


def test_no_bar_comes_back_with_a_buffer_that_was_reviewed(editor: Editor) -> None:
    review(editor)
    editor.command("enew")
    editor.lua("require('tideate.ui').focus()")
    editor.command("buffer a.txt | enew")
    editor.lua("require('tideate.ui').withdraw('question1')")
    editor.command("buffer a.txt")
    assert editor.lua("return vim.wo.winbar") == ""


def test_a_file_that_is_moved_and_changed_shows_its_change(screen_editor: Editor) -> None:
    editor = screen_editor
    hunks = [
        {"start": 0, "old": ["one"], "new": ["first"]},
        {"start": 2, "old": ["three"], "new": ["third", "fourth"]},
    ]
    file = {"path": "from.txt", "action": "move", "move_to": "to.txt", "before": "one\ntwo\nthree"}
    review(editor, {**file, "filetype": "", "hunks": hunks})
    rows = "\n".join(editor.wait_screen("fourth"))
    assert "from.txt → to.txt" in rows
    assert all(row in rows for row in ("- one", "first", "- three", "third"))
    editor.feed("gag<CR>")
    assert accepted(editor) == [[0]]


def test_a_notice_of_a_review_expires(editor: Editor) -> None:
    editor.lua("""
      vim.o.columns = 40 -- no notice fits into the command line
      require('tideate.ui.notify').limits.shown = 1
      _G.made = 0
      local float = require('tideate.ui.window').float
      require('tideate.ui.window').float = function(...)
        _G.made = _G.made + 1
        return float(...)
      end
    """)
    review(editor)
    floats = """return #vim.tbl_filter(function(win)
      return vim.api.nvim_win_get_config(win).relative ~= ''
    end, vim.api.nvim_list_wins())"""
    for number, keys in enumerate(("g<CR>", "gu", "gU"), start=1):
        editor.feed(keys)
        editor.wait("_G.made == ...", 60, number)
        editor.wait_for(lambda: editor.lua(floats) == 0, "the notice is gone", 10)
    assert answers(editor) == []
