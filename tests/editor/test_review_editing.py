"""Edited hunks in a review, merged with text typed in the buffer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.editor.test_review_rounds import review
from tests.harness.dialogs import answers, ask, wait_focused
from tests.harness.review import HUNKS, LINES, NOTHING, drawn, labels, left_overs, opened, value

if TYPE_CHECKING:
    from tests.harness.editor import Editor

WITHDRAW = "assert(#require('tideate.ui').pending() == 1) require('tideate.ui').close()"
NEW = {"path": "new.txt", "action": "create", "filetype": "", "before": "", "hunks": [
    {"start": 0, "old": [], "new": ["one", "two"]}
]}  # fmt: skip


def verdict(editor: Editor) -> dict[str, Any]:
    (file,) = value(editor)["files"]
    return dict(file)


@pytest.mark.parametrize("ending", [":w<CR>", ":x<CR>", "<CR>"])
def test_edited_lines_take_the_place_of_the_proposed_ones(editor: Editor, ending: str) -> None:
    review(editor, opened(editor))
    editor.command("new | wincmd p")
    editor.feed("]cge")
    assert editor.lines() == ["ten", "eleven", "more"]
    editor.feed(f"jAth<Esc>Go2 more<Esc>{ending}")
    assert editor.lines() == LINES, "the buffer is as it was, and in front again"
    editor.feed("10G")
    assert "eleventh" in drawn(editor)
    assert "2 more" in drawn(editor)
    assert "10 ✓ accepted, edited by you" in labels(editor)
    editor.feed("g<CR>")
    edited = {"hunk": 1, "old": ["line 10", "line 11"], "new": ["ten", "eleventh", "more", "2 more"]}
    assert verdict(editor) == {"path": "a.txt", "accepted": [1], "rejected": [], "edited": [edited]}
    assert left_overs(editor) == {**NOTHING, "wins": 2, "bufs": 2}


def test_an_edit_is_undone_made_again_and_opened_again(editor: Editor) -> None:
    review(editor, opened(editor))
    editor.feed("]cgeggcctenth<Esc>:w<CR>")
    editor.feed("gu")
    assert "tenth" not in drawn(editor)
    assert "eleven" in drawn(editor)
    assert "edited by you" not in labels(editor)
    editor.feed("gU")
    assert "tenth" in drawn(editor)
    editor.feed("go")
    assert "10 edited by you" in labels(editor)
    editor.feed("ge")
    assert editor.lines() == ["tenth", "eleven", "more"], "it goes on from what was written"
    editor.feed(":q<CR>")
    assert editor.lines() == LINES
    editor.feed("gsshorter<CR>g<CR>")
    assert verdict(editor)["accepted"] == []
    assert verdict(editor)["edited"][0]["new"] == ["tenth", "eleven", "more"]
    assert [one["text"] for one in value(editor)["comments"]] == ["shorter"]


def test_leaving_the_edit_decides_nothing_and_what_was_begun_is_kept(editor: Editor) -> None:
    review(editor, opened(editor))
    editor.feed("]cge:q<CR>")
    assert editor.lines() == LINES
    editor.feed("geccbegun<Esc>:q<CR>")
    assert "begun" not in drawn(editor)
    editor.feed("ge")
    assert editor.lines()[0] == "begun"
    editor.feed("u:w<CR>")
    editor.feed("g<CR>")
    assert verdict(editor) == {"path": "a.txt", "accepted": [1], "rejected": []}, "written as it was proposed"


def test_no_lines_delete_and_the_old_ones_reject(editor: Editor) -> None:
    review(editor, opened(editor))
    editor.feed("]cgeggdG:w<CR>")
    editor.feed("ge")
    assert editor.lines() == [""], "it brings no lines: the next hunk deletes"
    editor.feed("ccline 30<Esc>:w<CR>")
    assert "these are the lines as they stand: the hunk is rejected" in editor.messages()
    editor.feed("g<CR>")
    edited = [{"hunk": 1, "old": ["line 10", "line 11"], "new": []}]
    assert verdict(editor) == {"path": "a.txt", "accepted": [1], "rejected": [2], "edited": edited}


def test_a_blank_line_is_a_line_and_deleted_ones_are_none(editor: Editor) -> None:
    hunks = [
        {"start": 10, "old": ["line 11"], "new": [""]},
        {"start": 14, "old": [], "new": [""]},
        {"start": 19, "old": ["line 20"], "new": ["twenty"]},
        {"start": 29, "old": ["line 30"], "new": [""]},
    ]
    review(editor, opened(editor, hunks))
    editor.feed("ge:w<CR>")
    editor.feed("geddu:w<CR>")
    editor.feed("geccx<BS><Esc>:w<CR>")
    editor.feed("gedd:w<CR>")
    editor.feed("g<CR>")
    edited = [
        {"hunk": 2, "old": ["line 20"], "new": [""]},
        {"hunk": 3, "old": ["line 30"], "new": []},
    ]
    expected = {"path": "a.txt", "accepted": [0, 1, 2, 3], "rejected": [], "edited": edited}
    assert verdict(editor) == expected


def test_a_heading_is_no_mark_of_a_conflict(editor: Editor) -> None:
    hunk = {"start": 9, "old": ["line 10"], "new": ["Title", "======="]}
    review(editor, opened(editor, [hunk]))
    editor.feed("geggA!<Esc>:w<CR>")
    assert editor.lines() == LINES
    editor.feed("10Gccmine<Esc>ge")
    assert editor.lines().count("=======") == 2
    editor.feed("ggdd2ddGdd:w<CR>")
    assert editor.lines() == [*LINES[:9], "mine", *LINES[10:]], "the heading may stay"
    editor.feed("g<CR>")
    edited = {"hunk": 0, "old": ["mine"], "new": ["Title!", "======="]}
    assert verdict(editor)["edited"] == [edited]


def test_an_unfinished_edit_keeps_what_it_was_begun_for(editor: Editor) -> None:
    file = opened(editor)
    review(editor, file)
    editor.feed("]cgeccbegun<Esc>:q<CR>")
    editor.lua(WITHDRAW)
    editor.feed("10Gccmine<Esc>")
    review(editor, {**file, "hunks": HUNKS[1:]})
    editor.feed("gg]cge")
    assert editor.lines()[0] == "begun", "it is the same hunk, of another number"
    editor.feed(":w<CR>10G")
    assert "! conflict: ge merges it" in labels(editor)
    editor.feed("]cga")
    editor.feed("g<CR>")
    assert answers(editor) == []
    editor.feed("g<CR>")
    assert verdict(editor)["accepted"] == [1]
    assert editor.lines()[9] == "mine"


def test_an_unfinished_edit_opens_for_no_other_hunk(editor: Editor) -> None:
    same = [{"start": start, "old": [f"line {start + 1}"], "new": ["same"]} for start in (9, 19)]
    file = opened(editor, [*same, HUNKS[2]])
    review(editor, file)
    editor.feed("geccfirst<Esc>:q<CR>")
    editor.feed("30Ggeccthird<Esc>:q<CR>")
    editor.lua(WITHDRAW)
    review(editor, {**file, "hunks": [HUNKS[2], HUNKS[3]]})
    editor.feed("G$ge")
    assert editor.lines() == ["last"]
    editor.feed(":q<CR>30Gge")
    assert editor.lines() == ["third"]


MERGES = """
local count, merge = 0, require('tideate.ui.review.merge')
local lines = merge.lines
merge.lines = function(...)
  count = count + 1
  return lines(...)
end
_G.merges = function()
  local found = count
  count = 0
  return found
end
local position = require('tideate.ui.review.hunk_position')
local diff = position.diff
_G.matched = 0
position.diff = function(before, now, options)
  _G.matched = _G.matched + (options.linematch and #vim.split(before, '\\n') > 20 and 1 or 0)
  return diff(before, now, options)
end
"""


def test_only_hunks_in_sight_are_merged_as_one_types_and_each_once(editor: Editor) -> None:
    hunks = [{"start": row, "old": [LINES[row]], "new": [f"long {LINES[row]}"]} for row in range(0, 60, 3)]
    review(editor, opened(editor, hunks))
    editor.command("resize 8 | normal! gg")
    editor.lua(MERGES)
    editor.lua("for row = 1, 58, 3 do vim.fn.setline(row, vim.fn.getline(row) .. ', too') end")
    editor.feed("gg")
    first = editor.lua("return _G.merges()")
    assert 0 < first < 20, first
    assert editor.lua("return _G.matched") == 0, "lines are matched within changes"
    editor.feed("4GjA.<Esc>")
    assert editor.lua("return _G.merges()") == 0, "nothing of a hunk was changed"
    editor.feed("ggA!<Esc>")
    assert editor.lua("return _G.merges()") == 1
    assert f"long {LINES[0]}, too!" in drawn(editor)
    editor.feed("58Gga")
    editor.feed("g<CR>")
    assert verdict(editor)["edited"] == [{"hunk": 19, "old": ["line 58, too"], "new": ["long line 58, too"]}]


def test_a_change_within_a_large_hunk_is_compared_alone(editor: Editor) -> None:
    """The other lines were split into words earlier."""
    merge = """
      local merge, base, new = require('tideate.ui.review.merge'), {}, {}
      for i = 1, ... do base[i], new[i] = 'one line ' .. i, 'some line ' .. i end
      local known, ours = merge.base(base, new), vim.list_slice(base)
      ours[7], ours[9] = ours[7] .. ' more', 'one line nine'
      table.insert(ours, 8, 'between')
      local found = merge.lines(known, ours)
      assert(merge.lines(known, base)[7] == 'some line 7')
      ours[9] = 'any line 8'
      return { found, merge.lines(known, ours) == nil }
    """
    found, clashes = editor.lua(merge, 40)
    expected = [f"some line {n}" for n in range(1, 41)]
    expected[6], expected[8] = "some line 7 more", "some line nine"
    expected.insert(7, "between")
    assert clashes
    assert found == expected


def test_a_new_file_is_edited_and_its_buffer_shows_that(editor: Editor) -> None:
    review(editor, dict(NEW))
    assert editor.lines() == ["one", "two"]
    editor.feed("geGothree<Esc>:w<CR>")
    assert editor.lines() == ["one", "two", "three"]
    editor.feed("gu")
    assert editor.lines() == ["one", "two"]
    editor.feed("gU")
    assert editor.lines() == ["one", "two", "three"]
    editor.feed("g<CR>")
    assert verdict(editor)["edited"] == [{"hunk": 0, "old": [], "new": ["one", "two", "three"]}]


def test_files_without_lines_to_edit_say_so(editor: Editor) -> None:
    gone = {"path": "gone.txt", "action": "delete", "filetype": "", "before": "x", "hunks": []}
    review(editor, gone)
    editor.feed("ge")
    assert "you accept or reject this file as a whole" in editor.messages()
    assert editor.lines() == ["x"]


def test_the_key_works_in_the_view_beside(editor: Editor) -> None:
    editor.command("set columns=160")
    review(editor, opened(editor))
    editor.feed("]cgp<C-w>l")
    editor.feed("geggcctenth<Esc>:w<CR>")
    assert editor.lines()[10:13] == ["tenth", "eleven", "more"], "the proposal shows it"
    editor.feed("gu")
    assert editor.lines()[10] == "ten"
    editor.feed("gUg<CR>")
    assert verdict(editor)["edited"][0]["new"][0] == "tenth"


def test_a_change_of_other_words_is_merged_and_shown_anew(editor: Editor) -> None:
    hunk = {"start": 9, "old": ["line 10"], "new": ["long line 10"]}
    review(editor, opened(editor, [hunk]))
    editor.feed("A, too<Esc>")
    assert "long line 10, too" in drawn(editor)
    assert "! merged: ga accepts it" in labels(editor)
    editor.feed("A!<Esc>")
    assert "long line 10, too!" in drawn(editor)
    editor.feed("ga")
    assert "accepted, edited by you" in labels(editor)
    editor.feed("g<CR>")
    edited = {"hunk": 0, "old": ["line 10, too!"], "new": ["long line 10, too!"]}
    assert verdict(editor)["edited"] == [edited]
    assert editor.lines()[9] == "line 10, too!"


def test_a_change_of_the_same_words_is_refused_and_merged_by_hand(editor: Editor) -> None:
    review(editor, opened(editor))
    editor.feed("]cccmine<Esc>")
    editor.feed("ga")
    assert "ge merges both by hand" in editor.messages()
    editor.feed("ge")
    both = ["mine", "line 11", "=======", "ten", "eleven", "more"]
    assert editor.lines() == ["<<<<<<< your lines", *both, ">>>>>>> proposed"]
    editor.feed(":w<CR>")
    assert "both versions are still there" in editor.messages()
    editor.feed(":1d | $d | 4d<CR>:w<CR>")
    assert editor.lines() == ["mine", "line 11", "=======", "eleven", "more"], "the middle mark is left"
    editor.feed("/=====<CR>dd:w<CR>10G")
    assert "accepted, edited by you" in labels(editor)
    editor.feed("g<CR>")
    edited = verdict(editor)["edited"]
    assert edited == [{"hunk": 1, "old": ["mine", "line 11"], "new": ["mine", "line 11", "eleven", "more"]}]


def test_a_change_beyond_the_edge_of_a_hunk_cannot_be_told_from_it(editor: Editor) -> None:
    review(editor, opened(editor))
    typed = [*LINES[:8], "typed", *LINES[11:]]  # for 9 to 11, of which the hunk has 10 and 11
    editor.feed("9G3cctyped<Esc>gg]cge")
    assert editor.lines() == typed, "no buffer to edit it is opened"
    assert "you changed lines here that reach beyond the hunk" in editor.messages()
    editor.feed("gag<CR>")
    assert "you changed these lines, too" in editor.messages()


def test_an_edit_whose_lines_changed_is_open_again_and_merged(editor: Editor) -> None:
    review(editor, opened(editor))
    editor.feed("]cgeggcctenth<Esc>:w<CR>")
    editor.feed("11GA, too<Esc>")
    editor.feed("g<CR>")
    assert "you changed the lines of 1 hunk that you had accepted: it is open again" in editor.messages()
    assert "! conflict: ge merges it" in labels(editor)
    assert answers(editor) == []
    editor.feed("ge")
    both = ["line 10", "line 11, too", "=======", "tenth", "eleven", "more"]
    assert editor.lines() == ["<<<<<<< your lines", *both, ">>>>>>> proposed"]
    editor.feed(":1,4d | $d | %s/eleven/eleven, too/<CR>:w<CR>")
    editor.feed("g<CR>")
    new = ["tenth", "eleven, too", "more"]
    assert verdict(editor)["edited"] == [{"hunk": 1, "old": ["line 10", "line 11, too"], "new": new}]


def test_edits_are_in_the_draft(editor: Editor) -> None:
    draft = editor.cwd / "draft"
    payload = {"files": [opened(editor)], "demonstration": False, "revisable": True}
    ask(editor, "review", payload=payload, draft=str(draft))
    wait_focused(editor)
    editor.feed("]cgeggcctenth<Esc>:w<CR>")
    editor.feed("gegg:d<CR>:w<CR>gu")
    steps = [json.loads(line) for line in draft.read_text().splitlines()[1:]]
    old, new = ["line 10", "line 11"], ["tenth", "eleven", "more"]
    assert steps[0] == {"decided": [[1, 2, "a", None, None, {"old": old, "new": new}]]}
    editor.lua(WITHDRAW)
    ask(editor, "review", payload=payload, draft=str(draft))
    wait_focused(editor)
    editor.feed("g<CR>")
    assert verdict(editor)["edited"] == [{"hunk": 1, "old": old, "new": new}]


def test_an_earlier_round_is_repeated_with_its_edits(editor: Editor) -> None:
    edited = {"hunk": 1, "old": ["line 10", "line 11"], "new": ["tenth"]}
    file = {**opened(editor), "decided": {"accepted": [1], "rejected": [], "edited": [edited]}}
    review(editor, file)
    assert "tenth" in drawn(editor)
    editor.feed("gag<CR>")
    assert verdict(editor) == {"path": "a.txt", "accepted": [0, 1], "rejected": [], "edited": [edited]}
