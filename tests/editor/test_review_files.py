"""Reviews of many files: decisions about one or all, kinds of files, cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.dialogs import answers
from tests.harness.review import FILES, NOTHING, accepted, bar, left_overs, opened, review
from tests.harness.work import lua_work_of

if TYPE_CHECKING:
    from tests.harness.editor import Editor, EditorFactory

MORE = {
    "path": "more.txt",
    "action": "modify",
    "before": "a\nb\nc",
    "filetype": "",
    "hunks": [{"start": 0, "old": ["a"], "new": ["A"]}, {"start": 2, "old": ["c"], "new": ["C"]}],
}
BINARY = {"path": "logo.png", "action": "modify", "whole": True, "note": "binary, 3 bytes", "hunks": []}
MODE = {"path": "run.sh", "action": "modify", "whole": True, "note": "mode 644 → 755", "hunks": []}
NOTED = {**MORE, "note": "line ends CRLF → LF"}


def test_a_file_is_decided_at_once_and_reverted_as_one_decision(editor: Editor) -> None:
    review(editor, opened(editor), MORE)
    editor.feed("gr")
    editor.feed("gfa")
    assert told(editor, "3 accepted, 1 rejected, 2 open")
    assert editor.lua("return vim.fn.expand('%:t')") == "more.txt"
    editor.feed("gu")
    assert editor.lua("return vim.fn.expand('%:t')") == "a.txt"
    assert told(editor, "1 rejected, 5 open")
    editor.feed("gU")
    assert told(editor, "3 accepted, 1 rejected, 2 open")
    editor.feed("gfo")
    assert told(editor, "6 open")
    editor.feed("gu")
    editor.feed("]f")
    editor.feed("gfrg<CR>")
    assert accepted(editor) == [[1, 2, 3], []]


def told(editor: Editor, words: str) -> bool:
    """Wait until a wide bar has this text."""
    editor.command("set columns=200")
    editor.wait("vim.wo.winbar:find(..., 1, true)", 60, f" hunks: {words} ")
    return True


def test_a_hunk_and_everything_are_opened_again(editor: Editor) -> None:
    review(editor, opened(editor), MORE)
    editor.feed("ga")
    editor.feed("gfr")
    editor.feed("go")
    assert "nothing of this hunk is decided" in editor.messages()
    editor.feed("gO")
    assert told(editor, "6 open")
    editor.feed("gu")
    assert told(editor, "1 accepted, 3 rejected, 2 open")
    editor.feed("gggo")
    assert answers(editor) == []
    assert told(editor, "3 rejected, 3 open")
    editor.feed("gAg<CR>")
    assert accepted(editor) == [[0], [0, 1]]


@pytest.mark.parametrize("ending", [":wq<CR>", "<CR>"])
def test_an_edit_that_leads_to_the_next_file_leaves_its_keys_there(editor: Editor, ending: str) -> None:
    review(editor, *FILES[:3])
    editor.feed(f"gageggVGcmine<Esc>{ending}")
    assert editor.lua("return vim.fn.expand('%:t')") == "old.txt"
    editor.feed("grg<CR>")
    assert accepted(editor) == [[0], [0], []]


def test_a_file_of_which_nothing_is_open_says_how_to_open_it(editor: Editor) -> None:
    review(editor, opened(editor), MORE)
    editor.feed("gfa")
    editor.feed("[f")
    editor.feed("gfr")
    assert "nothing of this file is open: go, gfo and gO reopen decided hunks" in editor.messages()
    assert told(editor, "4 accepted, 2 open")


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (BINARY, "b logo.png · binary, 3 bytes"),
        (MODE, "m run.sh · mode 644 → 755"),
        ({**NOTED, "hunks": NOTED["hunks"][:1]}, "~ more.txt · line ends CRLF → LF · 1 ope"),
        ({**MODE, "note": "link to a → link to b"}, "l run.sh · link to a → link to b"),
        (FILES[1], "+ new.lua · create"),
        (FILES[2], "- old.txt · delete"),
        (FILES[3], "→ from.txt → to.txt · move"),
        ({**FILES[2], "note": "binary, 1 bytes"}, "- old.txt · delete · binary, 1 bytes"),
    ],
)
def test_a_file_is_shown_as_what_becomes_of_it(editor: Editor, file: dict[str, Any], words: str) -> None:
    review(editor, file)
    assert words in bar(editor)
    editor.feed("gag<CR>")
    assert accepted(editor) == [[0]]


def test_what_has_no_lines_is_told_and_one_file_may_be_there_twice(editor: Editor) -> None:
    review(editor, MORE, {**MODE, "path": "more.txt"}, {**FILES[1], **BINARY, "action": "create"})
    editor.feed("]fga")
    assert editor.lines() == ["binary, 3 bytes"]
    editor.feed("[f")
    assert editor.lines() == ["mode 644 → 755"]
    editor.wait_for(lambda: "mode 644 → 755" in bar(editor), "the bar says it, too")
    editor.feed("gA")
    editor.feed("g<CR>")
    assert accepted(editor) == [[0, 1], [0], [0]]
    assert left_overs(editor) == NOTHING


def hunk_line(editor: Editor) -> int:
    """Return the line after `]c` from the first line, from 1."""
    editor.feed("gg]c")
    return int(editor.lua("return vim.fn.line('.')"))


def test_lines_that_stand_twice_are_told_apart_after_each_reload(editor: Editor) -> None:
    lines = ["{", "}"] * 10
    number = editor.edit("a.txt", "\n".join(["// typed", *lines]) + "\n")
    hunks = [{"start": 11, "old": ["}"], "new": ["} end"]}]
    file = {"path": "a.txt", "action": "modify", "buffer": number, "filetype": "", "hunks": hunks}
    review(editor, {**file, "before": "\n".join(lines)})
    assert hunk_line(editor) == 13, "the text had changed before the review"
    editor.lua("vim.fn.writefile(..., 'a.txt')", ["// top"] * 2 + lines)
    editor.command("edit!")
    editor.lua("require('tideate.ui').focus()")
    assert hunk_line(editor) == 14
    editor.feed("gg")
    editor.lua("vim.fn.writefile(..., 'a.txt')", ["// top"] * 6 + lines)
    editor.command("set autoread | checktime")
    editor.wait("vim.api.nvim_buf_line_count(0) == 26")
    assert hunk_line(editor) == 18, "what happens after :edit is followed, too"
    editor.feed("gag<CR>")
    assert accepted(editor) == [[0]]


DECIDE = """
  _G.decisions = require('tideate.ui.review.decisions')
  local files, hunks = ...
  local list = {}
  for number = 1, files do
    local made, lines = {}, {}
    for row = 0, hunks * 2 - 1 do
      lines[row + 1] = 'line ' .. row
      if row % 2 == 0 then
        table.insert(made, { start = row, old = { 'line ' .. row }, new = { 'x' } })
      end
    end
    local before = table.concat(lines, '\\n')
    list[number] = { path = number .. '.txt', action = 'modify', before = before, hunks = made }
  end
  local question = { execution_id = '0', payload = { files = list } }
  _G.review = require('tideate.ui.review').open(question, function() end)
  _G.review:focus()
"""


def test_a_decision_makes_as_much_work_among_many_hunks_as_among_few(editor: Editor) -> None:
    work = []
    for files, hunks in ((4, 50), (40, 500)):
        editor.lua(DECIDE, files, hunks)
        editor.lua("decisions.decide(review, 'accepted')")
        decide = "decisions.decide(review, 'accepted') decisions.travel(review, 'past')"
        work.append(lua_work_of(editor, decide))
        editor.lua("_G.review:close()")
    few, many = work
    assert many < 2 * few, work


OTHERS = """
_G.review:close()
local question = _G.review.question
local other = vim.deepcopy(question.payload.files)
for _, hunk in ipairs(other[1].hunks) do hunk.new = { 'y' } end
question.payload.alternatives = { { adapter = 'other', files = other } }
_G.review = require('tideate.ui.review').open(question, function() end)
_G.review:focus()
"""


@pytest.mark.parametrize("compared", [False, True], ids=["one run", "compared"])
def test_accepting_all_hunks_of_a_file_makes_as_much_work_as_there_are_hunks(
    editor: Editor, compared: bool
) -> None:
    work = []
    for hunks in (50, 500):
        editor.lua(DECIDE, 1, hunks)
        if compared:
            editor.lua(OTHERS)
        work.append(lua_work_of(editor, "decisions.decide_all(review, 'accepted')"))
        assert editor.lua("return _G.review.model.counts.accepted") == hunks
        editor.lua("_G.review:close()")
    few, many = work
    assert many < 15 * few, work


COMPARED = """
local count = ...
local function hunks(word)
  local found = {}
  for i = 1, count do found[i] = { start = 4 * i, old = { 'line ' .. i }, new = { word .. i } } end
  return found
end
local function file(own) return { path = 'a.txt', action = 'modify', before = '', hunks = own } end
local others = hunks('other')
for i = 2, count, 2 do others[i].start = others[i].start + 2 end
local one, comments = file(hunks('own')), {}
local decided = { accepted = {}, rejected = {}, added = others, edited = {} }
for i = 1, count do
  decided.edited[i] = { hunk = i - 1, old = { 'line ' .. i }, new = { 'mine' } }
  comments[i] = { path = 'a.txt', hunk = i - 1, text = 'why?' }
end
one.decided = decided
local runs = { { adapter = 'other', files = { file(others) } } }
_G.question = { payload = { files = { one }, alternatives = runs, comments = comments, revisable = true } }
"""
AGAIN = """
local find, found = require('tideate.ui.review.alternatives').find, 0
local entry = require('tideate.ui.review.model').new(_G.question).entries[1]
for own, hunk in ipairs(_G.question.payload.alternatives[1].files[1].hunks) do
  local unit, variant = find(entry, own % 2 == 0 and -1 or own - 1, hunk)
  found = found + (unit and variant and 1 or 0)
end
_G.found = found
"""


def test_a_compared_review_opens_again_with_work_that_grows_as_its_hunks_do(editor: Editor) -> None:
    work = []
    for hunks in (50, 500):
        editor.lua(COMPARED, hunks)
        work.append(lua_work_of(editor, AGAIN))
        assert editor.lua("return _G.found") == hunks
    few, many = work
    assert many < 15 * few, work


def test_what_clashes_with_an_accepted_hunk_is_found_as_by_comparing_each_with_each(editor: Editor) -> None:
    clashes = """
      math.randomseed(7)
      local entry, found = { units = {} }, {}
      for i = 1, 60 do
        local old = {}
        for line = 1, math.random(0, 4) do old[line] = 'x' end
        local state = math.random(2) == 1 and 'accepted' or 'open'
        local variants = math.random(2) == 1 and {} or nil
        local hunk = { start = math.random(0, 60), old = old, new = {} }
        entry.units[i] = { proposed = { hunk }, state = state, variants = variants }
      end
      local conflicts = require('tideate.ui.review.alternatives').conflicts(entry)
      for i, unit in ipairs(entry.units) do found[i] = conflicts(unit) end
      return { found, vim.tbl_map(function(unit)
        local hunk = unit.proposed[1]
        return { hunk.start, #hunk.old, unit.state == 'accepted', unit.variants ~= nil }
      end, entry.units) }
    """
    found, units = editor.lua(clashes)

    def clash(one: list[Any], other: list[Any]) -> bool:
        (start, size, accepted, mixed), (at, count, _, also_mixed) = one, other
        insert = size == count == 0 and start == at
        overlap = start < at + count and at < start + size
        return bool(one is not other and accepted and (mixed or also_mixed) and (insert or overlap))

    expected = [any(clash(one, unit) for one in units) for unit in units]
    assert found == expected
    assert True in expected
    assert False in expected


ANCHORED = """
local count, set = 0, vim.api.nvim_buf_set_extmark
local anchors = vim.api.nvim_get_namespaces()['tideate.review.anchors']
vim.api.nvim_buf_set_extmark = function(buf, ns, ...)
  count = count + (ns == anchors and 1 or 0)
  return set(buf, ns, ...)
end
_G.anchored = function()
  local found = count
  count = 0
  return found
end
"""


def test_a_decision_about_many_hunks_is_reverted_with_no_hunk_anchored_anew(editor: Editor) -> None:
    editor.lua(DECIDE, 1, 300)
    editor.lua(ANCHORED)
    editor.lua(
        "decisions.decide_all(review, 'accepted') for _, way in ipairs({ 'past', 'future' }) do"
        " decisions.travel(review, way) end"
    )
    assert editor.lua("return _G.review.model.counts")["accepted"] == 300
    assert editor.lua("return _G.anchored()") == 0
    editor.lua("decisions.travel(review, 'past')")
    edit = """
      local made = {}
      for _, unit in ipairs(_G.review.model.entries[1].units) do
        local one = unit.proposed[1]
        local edit = { start = one.start, old = one.old, new = { 'mine' } }
        table.insert(made, { unit = unit, state = 'accepted', edit = edit })
      end
      decisions.change(review, made)
    """
    editor.lua(edit)
    assert editor.lua("return _G.anchored()") == 300, "all of them once"
    editor.lua("decisions.travel(review, 'past')")
    assert editor.lua("return _G.anchored()") == 300


@pytest.fixture
def wide(start_editor: EditorFactory) -> Editor:
    return start_editor(ui=(140, 30))


def shown_list(editor: Editor) -> list[str]:
    """Return the lines of the list of files."""
    found = editor.lua("""
      for _, win in ipairs(vim.api.nvim_list_wins()) do
        local buf = vim.api.nvim_win_get_buf(win)
        if vim.api.nvim_buf_get_name(buf):find('review-files', 1, true) then
          return vim.api.nvim_buf_get_lines(buf, 0, -1, true)
        end
      end
      return {}
    """)
    return [" ".join(line.split()) for line in found]


def test_a_wide_screen_lists_the_files_with_what_is_decided(wide: Editor) -> None:
    review(wide, opened(wide), MORE, BINARY, MODE, {**MODE, "path": "more.txt"}, *FILES[1:])
    assert wide.lua("return vim.fn.expand('%:t')") == "a.txt"
    wide.feed("gagr")
    assert shown_list(wide) == [
        "~ a.txt ✓1 ✗1 ○2",
        "~ more.txt ○2",
        "b logo.png ○",
        "m run.sh ○",
        "m more.txt ○",
        "+ new.lua ○",
        "- old.txt ○",
        "→ from.txt → to.txt ○",
    ]
    wide.feed("gu")
    assert shown_list(wide)[0] == "~ a.txt ✓1 ○3"
    wide.feed("gAg<CR>")
    assert left_overs(wide) == NOTHING


def test_the_list_is_hidden_on_a_narrow_screen_until_it_is_asked_for(editor: Editor) -> None:
    review(editor, opened(editor), MORE)
    assert shown_list(editor) == []
    editor.feed("gl")
    assert shown_list(editor) == ["~ a.txt ○4", "~ more.txt ○2"]
    assert editor.lua("return vim.fn.bufname()").startswith("tideate://review-files/")
    editor.feed("gl")
    assert shown_list(editor) == []
    assert editor.lua("return vim.fn.expand('%:t')") == "a.txt"


def test_a_list_shown_unasked_goes_with_its_room(wide: Editor) -> None:
    review(wide, opened(wide), MORE)
    assert shown_list(wide)
    wide.command("set columns=80")
    assert shown_list(wide) == []


def test_files_are_decided_and_gone_to_from_the_list(wide: Editor) -> None:
    review(wide, opened(wide), MORE, *FILES[1:])
    wide.command("wincmd h")
    wide.feed("ga")
    assert shown_list(wide)[0] == "~ a.txt ✓4"
    assert wide.lua("return vim.fn.line('.')") == 2
    wide.feed("kgrgo")
    wide.feed("gu")
    wide.feed("gU")
    assert shown_list(wide)[0] == "~ a.txt ○4"
    wide.feed("gggr")
    assert shown_list(wide)[:2] == ["~ a.txt ✗4", "~ more.txt ○2"]
    wide.feed("j<CR>")
    assert wide.lua("return vim.fn.expand('%:t')") == "new.lua"
    wide.double_click(wide.lua("return vim.fn.winbufnr(1)"), 2)
    assert wide.lua("return vim.fn.expand('%:t')") == "more.txt"
    wide.double_click(wide.lua("return vim.fn.winbufnr(1)"), 3)
    wide.command("wincmd h")
    wide.feed("gl")
    assert shown_list(wide) == []
    assert wide.lua("return vim.fn.expand('%:t')") == "new.lua"
    wide.feed("glgAg<CR>")
    assert accepted(wide) == [[], [0, 1], [0], [0], [0]]
    assert left_overs(wide) == NOTHING


@pytest.mark.slow
def test_buffers_of_files_on_disk_are_not_kept_and_their_decisions_are(editor: Editor) -> None:
    review(editor, *({**MORE, "path": f"{number}.txt"} for number in range(50)))
    editor.feed("ga")
    most = 0
    for _ in range(49):
        editor.feed("]f")
        most = max(most, editor.lua("return #vim.api.nvim_list_bufs()"))
    assert most <= 25
    editor.feed("]f")
    assert editor.lua("return vim.fn.expand('%:t')") == "0.txt"
    assert told(editor, "1 accepted, 99 open")
    editor.feed("gggr")
    editor.feed("gA")
    editor.feed("g<CR>")
    assert accepted(editor) == [[1], *[[0, 1]] * 49]
    assert left_overs(editor) == NOTHING
