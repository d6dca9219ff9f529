"""Editing of hunks in a review: what a person writes in their place, merged with what they typed there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.editor.test_review_rounds import drawn, review, value
from tests.editor.test_ui_review import HUNKS, LINES, NOTHING, left_overs, opened
from tests.support.dialogs import ask, wait_focused

if TYPE_CHECKING:
    from tests.support.editor import Editor

WITHDRAW = "assert(#require('tideate.ui').pending() == 1) require('tideate.ui').close()"
NEW = {"path": "new.txt", "action": "create", "filetype": "", "before": "", "hunks": [
    {"start": 0, "old": [], "new": ["one", "two"]}
]}  # fmt: skip


def verdict(editor: Editor) -> dict[str, Any]:
    (file,) = value(editor)["files"]
    return dict(file)


def labels(editor: Editor) -> str:
    """Return what is drawn behind lines."""
    return str(
        editor.lua("""
          local ns, found = vim.api.nvim_get_namespaces()['tideate.review'], {}
          for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })) do
            for _, chunk in ipairs(mark[4].virt_text or {}) do
              table.insert(found, ('%d%s'):format(mark[2] + 1, chunk[1]))
            end
          end
          return table.concat(found, '\\n')
        """)
    )


@pytest.mark.parametrize("ending", [":w<CR>", ":wq<CR>", ":x<CR>", "<CR>"])
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
    editor.feed("gag<CR>")
    assert verdict(editor)["edited"][0]["new"] == ["tenth", "eleven", "more"]


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


def test_a_new_file_is_edited_and_its_buffer_shows_that(editor: Editor) -> None:
    review(editor, dict(NEW))
    assert editor.lines() == ["one", "two"]
    editor.feed("eGothree<Esc>:w<CR>")
    assert editor.lines() == ["one", "two", "three"]
    editor.feed("u")
    assert editor.lines() == ["one", "two"]
    editor.feed("<C-r>")
    assert editor.lines() == ["one", "two", "three"]
    editor.feed("<CR>")
    assert verdict(editor)["edited"] == [{"hunk": 0, "old": [], "new": ["one", "two", "three"]}]


def test_files_without_lines_to_edit_say_so(editor: Editor) -> None:
    gone = {"path": "gone.txt", "action": "delete", "filetype": "", "before": "x", "hunks": []}
    review(editor, gone)
    editor.feed("e")
    assert "decided about as a whole" in editor.messages()
    assert editor.lines() == ["x"]


def test_the_key_works_in_the_view_beside(editor: Editor) -> None:
    editor.command("set columns=160")
    review(editor, opened(editor))
    editor.feed("]cgp<C-w>l")
    editor.feed("eggcctenth<Esc>:w<CR>")
    assert editor.lines()[10:13] == ["tenth", "eleven", "more"], "the proposal shows it"
    editor.feed("u")
    assert editor.lines()[10] == "ten"
    editor.feed("<C-r><CR>")
    assert verdict(editor)["edited"][0]["new"][0] == "tenth"


def test_a_change_of_other_words_is_merged_and_shown_anew(editor: Editor) -> None:
    hunk = {"start": 9, "old": ["line 10"], "new": ["long line 10"]}
    review(editor, opened(editor, [hunk]))
    editor.feed("A, too<Esc>")
    assert "long line 10, too" in drawn(editor)
    assert "merged with what you changed here" in labels(editor)
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
    assert "the lines of both are still there" in editor.messages()
    editor.feed("ggdd2jddddGdd:w<CR>10G")
    assert "accepted, edited by you" in labels(editor)
    editor.feed("g<CR>")
    edited = verdict(editor)["edited"]
    assert edited == [{"hunk": 1, "old": ["mine", "line 11"], "new": ["mine", "line 11", "eleven", "more"]}]


def test_what_is_typed_after_an_edit_is_not_overwritten(editor: Editor) -> None:
    review(editor, opened(editor))
    editor.feed("]cgeggcctenth<Esc>:w<CR>")
    editor.feed("10Gccmine<Esc>")
    editor.feed("g<CR>")
    assert "you changed the lines of 1 accepted" in editor.messages()
    assert verdict(editor)["accepted"] == []


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


@pytest.mark.parametrize(
    "edit",
    ["7", '"x"', "[]", '{"old":[],"new":[1]}', '{"old":[],"new":["a\\nb"]}', '{"old":{"a":1},"new":[]}'],
)
def test_a_damaged_edit_is_left_out(editor: Editor, edit: str) -> None:
    draft = editor.cwd / "draft"
    draft.write_text(f'{{"decided":[[1,2,"a",null,null,{edit}]]}}\n')
    payload = {"files": [opened(editor)], "demonstration": False, "revisable": True}
    ask(editor, "review", payload=payload, draft=str(draft))
    wait_focused(editor)
    assert "1 step of what was decided before could not be read" in editor.messages()
    assert "edited by you" not in labels(editor)


def test_an_earlier_round_is_repeated_with_its_edits(editor: Editor) -> None:
    edited = {"hunk": 1, "old": ["line 10", "line 11"], "new": ["tenth"]}
    file = {**opened(editor), "decided": {"accepted": [1], "rejected": [], "edited": [edited]}}
    review(editor, file)
    assert "tenth" in drawn(editor)
    editor.feed("gag<CR>")
    assert verdict(editor) == {"path": "a.txt", "accepted": [0, 1], "rejected": [], "edited": [edited]}


def test_what_is_written_already_has_no_key_to_edit(editor: Editor) -> None:
    file = opened(editor, HUNKS)
    ask(editor, "review", payload={"files": [file], "demonstration": False, "written": True})
    wait_focused(editor)
    assert editor.lua("return vim.fn.maparg('ge', 'n')") == ""
