"""Unfinished reviews: decisions in the draft, comments in buffers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.editor.test_review_rounds import review
from tests.harness.dialogs import answers, ask, wait_focused
from tests.harness.review import HUNKS, NOTHING, bar, drawn, left_overs, opened, value

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.editor import Editor

WITHDRAW = "assert(#require('tideate.ui').pending() == 1) require('tideate.ui').close()"


@pytest.fixture
def draft(editor: Editor) -> Path:
    return editor.cwd / "draft"


def begin(editor: Editor, draft: Path, *steps: str) -> None:
    """Open a review of four hunks with a draft that has these lines."""
    if steps:
        draft.write_text("".join(f"{step}\n" for step in steps))
    file = opened(editor)
    payload = {"files": [file], "demonstration": False, "revisable": True}
    ask(editor, "review", payload=payload, draft=str(draft))
    wait_focused(editor)


def summary(editor: Editor) -> str:
    """Return the review's text in a wide bar."""
    editor.lua("vim.o.columns = 200")
    return bar(editor)


def steps(draft: Path) -> list[Any]:
    return [json.loads(line) for line in draft.read_text().splitlines()]


def test_each_neovim_begins_with_its_own_line_and_old_drafts_are_read(editor: Editor, draft: Path) -> None:
    begin(
        editor, draft, '{"decided":[[1,1,"a",null]]}', '{"decided":[[1,2,"r",{"text":"no","because":true}]]}'
    )
    assert "1 accepted, 1 rejected, 2 open · 1 comment" in summary(editor)
    assert "could not be read" not in editor.messages()
    editor.feed("ga")
    own = {"v": 1, "by": editor.lua("return vim.uv.os_getpid()")}
    assert steps(draft)[2:] == [own, {"decided": [[1, 3, "a", None]]}]


@pytest.mark.parametrize(
    "line",
    [
        "5",
        '"x"',
        "[1]",
        '{"decided":1}',
        '{"decided":[1]}',
        '{"decided":[[]]}',
        '{"decided":[[{},{},{},{}]]}',
        '{"decided":[[1,1.5,"a",null]]}',
        '{"decided":[[1,9,"a",null]]}',
        '{"decided":[[1,2,"a","x"]]}',
        '{"decided":[[1,2,"a",{"text":5}]]}',
        '{"again":5}',
        '{"decided":[[1,2,"a",null,null,"x"]]}',
        '{"decided":[[1,2,"a",null,null,{"old":[],"new":[1]}]]}',
        '{"decided":[[1,2,"a",null,null,{"old":[],"new":["a\\nb"]}]]}',
        '{"decided":[[1,2,"a",null,null,{"old":{"a":1},"new":[]}]]}',
        '{"decided":[[1,',
    ],
)
def test_damaged_steps_are_left_out_and_counted(editor: Editor, draft: Path, line: str) -> None:
    begin(editor, draft, '{"decided":[[1,1,"a",null]]}', line, line, '{"decided":[[1,4,"r",null]]}')
    assert "1 accepted, 1 rejected, 2 open" in summary(editor)
    assert "2 steps of earlier decisions could not be read" in editor.messages()


def test_a_draft_that_was_cut_goes_on_in_a_new_line(editor: Editor, draft: Path) -> None:
    draft.write_text('{"decided":[[1,1,"a",null]]}\n{"decided":[[1,2')
    begin(editor, draft)
    assert "1 step of earlier decisions could not be read" in editor.messages()
    editor.feed("ga")
    last = draft.read_text().splitlines()[-2:]
    assert json.loads(last[0]).keys() == {"v", "by"}
    assert json.loads(last[1]) == {"decided": [[1, 2, "a", None]]}


@pytest.mark.parametrize(
    ("line", "other"), [('{"v":1,"by":1}', "another Neovim"), ('{"v":1,"by":1,"in":"shell"}', "the shell")]
)
def test_a_neovim_whose_review_was_opened_elsewhere_writes_no_more(
    editor: Editor, draft: Path, line: str, other: str
) -> None:
    begin(editor, draft)
    editor.feed("ga")
    before = draft.read_text() + line + '\n{"decided":[[1,2,"r",null]]}\n'
    draft.write_text(before)
    editor.feed("ga")
    assert f"not kept for the next Neovim: {other} has opened this review" in editor.messages()
    editor.feed("ga")
    assert draft.read_text() == before
    assert "3 accepted, 1 open" in summary(editor), "the review goes on here"


@pytest.mark.parametrize("lost", ['[[1,9,"a",null]]', '[[1,0,"a",null,{"start":1,"old":[],"new":[]}]]', "1"])
def test_what_is_undone_after_a_step_that_is_left_out_stays_undone(
    editor: Editor, draft: Path, lost: str
) -> None:
    begin(editor, draft, '{"decided":[[1,1,"a",null]]}', f'{{"decided":{lost}}}', f'{{"decided":{lost}}}')
    editor.feed("gu")
    assert "4 open" in summary(editor)
    editor.feed("gu")
    assert "there is no earlier decision" in editor.messages()
    editor.lua(WITHDRAW)
    begin(editor, draft)
    assert "4 open" in summary(editor)
    editor.feed("gU")
    assert "1 accepted, 3 open" in summary(editor)


def test_a_draft_that_was_removed_is_not_made_again(editor: Editor, draft: Path) -> None:
    begin(editor, draft)
    draft.unlink()
    editor.feed("ga")
    assert "not kept for the next Neovim: the file is gone" in editor.messages()
    assert not draft.exists()


def test_a_text_that_was_left_is_there_again_and_is_sent(editor: Editor) -> None:
    review(editor, opened(editor, HUNKS[1:3]))
    editor.feed("gBitoo long<Esc>:q<CR>")
    editor.feed("gSiand all<Esc>:q<CR>")
    editor.feed("]cgBiother<Esc>:q<CR>")
    editor.feed("[cgB")
    assert editor.lines() == ["too long"]
    editor.feed("A, and loud<Esc>:w<CR>")
    assert "» too long, and loud" in drawn(editor)
    editor.feed("gS:w<CR>")
    assert "comment you began is kept" not in editor.messages()
    editor.feed("g<CR>")
    assert [one["text"] for one in value(editor)["comments"]] == ["and all", "too long, and loud"]
    assert "comment you began is kept in the buffer tideate://comment/" in editor.messages()
    kept = editor.lua(
        "return vim.tbl_filter(function(b) return vim.bo[b].modified end, vim.api.nvim_list_bufs())"
    )
    assert not kept, "nothing keeps the person from leaving"


def test_without_a_text_left_no_buffer_stays(editor: Editor) -> None:
    review(editor, opened(editor, HUNKS[1:2]))
    editor.feed("gB:q<CR>")
    editor.feed("gBino<Esc>:w<CR>")
    editor.feed("g<CR>")
    assert value(editor)["comments"] == [{"path": "a.txt", "hunk": 0, "text": "no"}]
    assert left_overs(editor) == NOTHING


def test_a_text_outlives_its_review_and_comes_back_in_the_next(editor: Editor) -> None:
    file = opened(editor, HUNKS[1:2])
    review(editor, file)
    editor.feed("gBitoo long<Esc>")
    editor.lua(WITHDRAW)
    assert "comment you began is kept in the buffer" in editor.messages()
    assert editor.lines() == ["too long"], "its window stays"
    editor.feed(":q<CR>")
    review(editor, file)
    editor.feed("gB")
    assert editor.lines() == ["too long"]
    editor.feed(":w<CR>")
    editor.feed("g<CR>")
    assert value(editor)["comments"] == [{"path": "a.txt", "hunk": 0, "text": "too long"}]
    assert left_overs(editor) == NOTHING


def test_a_line_is_kept_where_the_review_ends_before_it_is_typed(editor: Editor) -> None:
    file = opened(editor, HUNKS[1:2])
    editor.lua("vim.ui.input = function(_, done) _G.typed = done end")
    review(editor, file)
    editor.feed("gb")
    editor.lua(WITHDRAW)
    editor.lua("_G.typed('too long')")
    assert "comment you began is kept in the buffer" in editor.messages()
    review(editor, file)
    editor.feed("gB")
    assert editor.lines() == ["too long"]


def test_comments_that_were_not_answered_about_one_hunk_are_all_shown_and_sent(editor: Editor) -> None:
    file = {**opened(editor, HUNKS[1:2]), "decided": {"accepted": [], "rejected": [0]}}
    about = {"path": "a.txt", "hunk": 0}
    comments = [{**about, "text": "one"}, {"text": "all"}, {**about, "text": "two"}, {"text": "of it"}]
    review(editor, file, comments=comments)
    assert " » one\n   two" in drawn(editor)
    editor.feed("g<CR>")
    assert [one["text"] for one in value(editor)["comments"]] == ["all\nof it", "one\ntwo"]
    assert len(answers(editor)) == 1
