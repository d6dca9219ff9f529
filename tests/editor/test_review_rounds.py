"""Rounds of a review in a real Neovim: reasons and comments reach the model, changed hunks are open again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.dialogs import answers, ask, decline, wait_focused
from tests.harness.model_server import ModelServer
from tests.harness.review import HUNKS, NOTHING, drawn, left_overs, opened, value
from tests.harness.runs import configure, result, start
from tideate_core.app import read_details
from tideate_core.store import Reader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness.editor import Editor


def review(editor: Editor, file: dict[str, Any], **more: Any) -> None:
    ask(editor, "review", payload={"files": [file], "demonstration": False, "revisable": True, **more})
    wait_focused(editor)


def test_a_reason_is_shown_below_its_hunk_and_sent_at_the_end(editor: Editor) -> None:
    review(editor, opened(editor))
    editor.feed("ga")
    editor.feed("gbas a loop<CR>")
    assert "» as a loop" in drawn(editor)
    editor.feed("ga")
    editor.feed("gr")
    assert "all is decided: g<CR> sends 1 comment, gu undoes" in editor.messages()
    editor.feed("g<CR>")
    assert answers(editor)[0]["accepted"] is False
    assert value(editor) == {
        "files": [{"path": "a.txt", "accepted": [0, 2], "rejected": [1, 3]}],
        "comments": [{"path": "a.txt", "hunk": 1, "text": "as a loop"}],
    }
    assert left_overs(editor) == NOTHING
    assert "2 of 4 accepted, 1 comment to the model" in editor.messages()


def test_a_comment_decides_nothing_and_a_reason_goes_with_an_acceptance(editor: Editor) -> None:
    review(editor, opened(editor, HUNKS[1:3]))
    editor.feed("gsgood<CR>")
    editor.feed("ga")
    editor.feed("gbno<CR>g<CR>")
    assert value(editor)["comments"] == [
        {"path": "a.txt", "hunk": 0, "text": "good"},
        {"path": "a.txt", "hunk": 1, "text": "no"},
    ]
    assert value(editor)["files"] == [{"path": "a.txt", "accepted": [0], "rejected": [1]}]


def test_an_acceptance_takes_the_reason_away_and_an_empty_line_too(editor: Editor) -> None:
    review(editor, opened(editor, HUNKS[1:]))
    editor.feed("gbno<CR>")
    editor.feed("[c")
    editor.feed("ga")
    editor.feed("[cgb<C-u>never<CR>")
    assert "» never" in drawn(editor)
    editor.feed("[cgb<C-u><CR>")
    assert "»" not in drawn(editor)
    editor.feed("gAg<CR>")
    assert value(editor)["comments"] == []
    assert answers(editor)[0]["accepted"] is True


def test_something_is_said_of_all_and_nothing_has_to_be_decided(editor: Editor) -> None:
    review(editor, opened(editor))
    editor.feed("gSiall of it<Esc>:w<CR>")
    assert answers(editor) == []
    editor.feed("gu")
    editor.feed("g<CR>")
    assert answers(editor) == [], "nothing is decided, and nothing was said"
    editor.feed("gU")
    assert "comment on all of it: all of it" in editor.messages()
    editor.feed("g<CR>")
    assert value(editor)["comments"] == [{"text": "all of it"}]


def test_decisions_are_reverted_and_made_again(editor: Editor) -> None:
    review(editor, opened(editor))
    line = "return vim.fn.line('.')"
    editor.feed("ga")
    editor.feed("gbwhy<CR>")
    assert editor.lua(line) == 30
    editor.feed("gu")
    assert editor.lua(line) == 10
    assert "»" not in drawn(editor)
    editor.feed("gu")
    editor.feed("gu")
    assert "there is no earlier decision" in editor.messages()
    editor.feed("gU")
    editor.feed("gU")
    assert "» why" in drawn(editor)
    editor.feed("gU")
    assert "there is no later decision" in editor.messages()
    editor.feed("gRg<CR>")
    assert value(editor)["files"] == [{"path": "a.txt", "accepted": [0], "rejected": [1, 2, 3]}]
    assert [one["text"] for one in value(editor)["comments"]] == ["why"]


def test_a_revision_opens_only_what_is_not_decided(editor: Editor) -> None:
    file = {**opened(editor), "decided": {"accepted": [0, 3], "rejected": [2]}}
    review(editor, file, revision=2)
    assert editor.lua("return vim.fn.line('.')") == 10
    assert "revision 2" in str(editor.lua("return vim.wo.winbar"))
    editor.feed("gag<CR>")
    assert value(editor)["files"] == [{"path": "a.txt", "accepted": [0, 1, 3], "rejected": [2]}]


def test_a_revision_that_leaves_nothing_open_waits_for_the_person(editor: Editor) -> None:
    file = {**opened(editor), "decided": {"accepted": [0, 3], "rejected": [1, 2]}}
    review(editor, file, revision=2)
    assert answers(editor) == []
    assert "revision 2 brings nothing to decide: g<CR> finishes" in editor.messages()
    editor.feed("g<CR>")
    assert value(editor)["files"] == [{"path": "a.txt", "accepted": [0, 3], "rejected": [1, 2]}]


def test_comments_that_nobody_can_be_asked_about_are_shown_and_not_sent(editor: Editor) -> None:
    file = {**opened(editor, HUNKS[1:3]), "decided": {"accepted": [1], "rejected": [0]}}
    said = [{"path": "a.txt", "hunk": 0, "text": "again"}, {"text": "all of it"}]
    review(editor, file, comments=said, revisable=False)
    editor.feed("gg")
    assert "» again" in drawn(editor)
    editor.feed("g<CR>")
    assert answers(editor)[0]["accepted"] is True
    assert value(editor) == {
        "files": [{"path": "a.txt", "accepted": [1], "rejected": [0]}],
        "comments": [],
    }


def test_blanks_of_any_keyboard_are_no_comment(editor: Editor) -> None:
    review(editor, opened(editor, HUNKS[1:3]))
    for blank in ("\u3000", "\u00a0", " \u3000 "):
        editor.feed(f"gs{blank}<CR>")
    editor.feed("gAg<CR>")
    assert value(editor)["comments"] == []
    assert answers(editor)[0]["accepted"] is True


def test_why_there_is_no_revision_is_said_where_the_review_opens_again(editor: Editor) -> None:
    file = {**opened(editor, HUNKS[1:2]), "decided": {"accepted": [0], "rejected": []}}
    review(editor, file, warnings=["the model could not revise it: refused"])
    assert "the model could not revise it: refused" in editor.messages()
    assert "all is decided" not in editor.messages()


def test_without_a_model_that_revises_there_are_no_comments(editor: Editor) -> None:
    review(editor, opened(editor), revisable=False)
    assert editor.lua("return vim.fn.maparg('gb', 'n')") == ""
    assert editor.lua("return vim.fn.maparg('gu', 'n') ~= ''") is True


def test_a_comment_cannot_steer_the_screen(editor: Editor) -> None:
    file = {**opened(editor, HUNKS[1:2]), "decided": {"accepted": [], "rejected": [0]}}
    review(editor, file, comments=[{"path": "a.txt", "hunk": 0, "text": "a\x1b[2Jb\u202ec"}])
    assert r"» a\x1b[2Jb\u202ec" in drawn(editor)


@pytest.mark.parametrize("rows", [1, 2, 9])
def test_every_hunk_is_shown_with_its_replacement_wherever_the_window_stands(
    screen_editor: Editor, rows: int
) -> None:
    editor = screen_editor
    hunk = {"start": 59, "old": ["line 60"], "new": [f"new {number}" for number in range(rows)]}
    first = {"start": 40, "old": ["line 41"], "new": ["forty-one"] * 3}
    review(editor, opened(editor, [first, hunk]))
    editor.feed("]c")
    editor.wait_screen("- line 60")
    editor.wait_screen(f"new {rows - 1}")


# a run

LINES = [f"line {number:02}" for number in range(1, 31)]
FIRST = "Say it in German, please"
SECOND = "German has a word for the last one, which is not this"
THIRD = "The word of the last one, in German, begins with a capital letter"


def answer(first: str, last: str) -> str:
    return "```\n" + "\n".join([first, *LINES[1:14], "MIDDLE", *LINES[15:29], last]) + "\n```"


@pytest.mark.slow
def test_three_rounds_of_reasons_each_open_only_what_changed(editor: Editor) -> None:
    with ModelServer() as server:
        server.answers("what must not change", "Nothing.", times=1)
        server.answers("in one fenced block", answer("FIRST", "LAST"))
        server.answers(FIRST, answer("ERSTER", "LAST"))
        server.answers(SECOND, answer("ERSTER", "letzter"))
        server.answers(THIRD, answer("ERSTER", "Letzter"))
        configure(editor, server)
        editor.edit("a.txt", "\n".join(LINES) + "\n")
        start(editor, "refactor", "shout")
        wait_focused(editor)
        editor.feed("y")
        wait_review(editor, 1)
        editor.feed(f"gb{FIRST}<CR>")
        editor.feed("ga")
        editor.feed("grg<CR>")
        wait_review(editor, 2)
        assert editor.lua("return vim.fn.line('.')") == 1
        editor.feed("G")
        editor.feed(f"gb{SECOND}<CR>")
        editor.feed("gag<CR>")
        wait_review(editor, 3)
        assert editor.lua("return vim.fn.line('.')") == 30
        editor.feed(f"gb{THIRD}<CR>g<CR>")
        wait_review(editor, 4)
        assert editor.lua("return vim.fn.line('.')") == 30
        assert editor.lines() == LINES, "nothing is written before the last review"
        editor.feed("gag<CR>")
        assert result(editor, 40)["ok"]
        assert editor.lines() == ["ERSTER", *LINES[1:14], "MIDDLE", *LINES[15:29], "Letzter"]
        assert server.unmatched == []


@pytest.mark.slow
def test_a_syntax_error_is_corrected_by_the_model_or_it_is_said_why_not(screen_editor: Editor) -> None:
    editor = screen_editor
    told = "What was accepted of it brings new syntax errors"
    with ModelServer() as server:
        server.answers("what must not change", "Nothing.", times=1)
        server.answers("in one fenced block", "```python\nx = (\n```")
        server.fails(told, 400, times=1)
        server.answers(told, "```python\nx = 10\n```")
        configure(editor, server)
        editor.edit("a.py", "x = 1\n")
        start(editor, "refactor", "shout", require_confirmation=False)
        editor.wait("vim.wo.winbar:find('1 open', 1, true)", 40)
        wait_focused(editor)
        editor.feed("gAg<CR>")
        wait_override(editor)
        editor.feed("f")
        editor.wait_screen("the model could not revise it")
        wait_focused(editor)
        editor.feed("g<CR>")
        wait_override(editor)
        editor.feed("f")
        wait_review(editor, 2)
        editor.feed("gAg<CR>")
        assert result(editor, 40)["ok"]
        assert editor.lines() == ["x = 10"]
        assert server.unmatched == []


@pytest.mark.slow
def test_what_the_person_wrote_is_written_recorded_and_rolled_back(editor: Editor) -> None:
    """This holds over a round with the model, which reads the comment."""
    with ModelServer() as server:
        server.answers("what must not change", "Nothing.", times=1)
        server.answers("in one fenced block", answer("FIRST", "LAST"))
        server.answers(FIRST, answer("FIRST", "LETZTER"))
        (editor.cwd / ".tideate").mkdir()
        configure(editor, server)
        editor.edit("a.txt", "\n".join(LINES) + "\n")
        run = start(editor, "refactor", "shout", require_confirmation=False)
        wait_review(editor, 1)
        editor.feed("geccmine<Esc>othe second line<Esc>:w<CR>")
        editor.feed(f"gaGgb{FIRST}<CR>g<CR>")
        wait_review(editor, 2)
        (asked,) = [text for text in map(json.dumps, server.requests) if FIRST in text]
        assert "They have written this part" in asked
        assert "+the second line" in asked
        editor.feed("GA, typed<Esc>geggVGcthe end, typed<Esc>:w<CR>")
        editor.feed("g<CR>")
        assert result(editor, 40)["ok"]
        assert server.unmatched == []
        assert editor.lines() == [
            "mine",
            "the second line",
            *LINES[1:14],
            "MIDDLE",
            *LINES[15:29],
            "the end, typed",
        ]
        assert read_details(Reader(editor.state), run).edited == {"a.txt": 2}
        editor.lua("require('tideate').rollback(..., function(r) _G.back = r end)", run)
        assert editor.wait("_G.back", 40)["ok"]
        assert editor.lines() == [*LINES[:29], "line 30, typed"]


def shown(editor: Editor) -> list[list[str]]:
    """Return the texts of listed buffers in windows."""
    return list(
        editor.lua("""
          local found = {}
          for _, win in ipairs(vim.api.nvim_list_wins()) do
            local buf = vim.api.nvim_win_get_buf(win)
            if vim.bo[buf].buflisted then
              table.insert(found, vim.api.nvim_buf_get_lines(buf, 0, -1, true))
            end
          end
          return found""")
    )


@pytest.fixture
def poet(editor: Editor) -> Iterator[Editor]:
    """An editor with a review of a text for a new buffer."""
    with ModelServer() as server:
        configure(editor, server)
        server.answers("a poem", "```\nROSES\nRED\n```", times=1)
        server.answers("in blue", "```\nVIOLETS\nBLUE\n```")
        editor.command("set nomodifiable columns=120")  # as `nvim -M` does
        start(editor, "generate", "a poem", require_confirmation=False)
        editor.wait("vim.wo.winbar:find('1 open', 1, true)", 40)
        wait_focused(editor)
        yield editor
        assert server.unmatched == []


@pytest.mark.slow
def test_a_text_for_a_new_buffer_is_revised_edited_and_opened(poet: Editor) -> None:
    assert poet.lines() == ["ROSES", "RED"]
    assert "new buffer" in poet.lua(
        "return vim.api.nvim_eval_statusline(vim.wo.winbar, {use_winbar=true}).str"
    )
    poet.feed("gbin blue<CR>g<CR>")
    poet.wait("vim.wo.winbar:find('revision 2', 1, true)", 40)
    wait_focused(poet)
    assert poet.lines() == ["VIOLETS", "BLUE"]
    poet.feed("geGosky<Esc>:w<CR>")
    poet.feed("g<CR>")
    assert result(poet, 40)["response"] == "VIOLETS\nBLUE\nsky"
    assert ["VIOLETS", "BLUE", "sky"] in shown(poet)


@pytest.mark.slow
def test_a_text_for_a_new_buffer_that_is_rejected_is_not_opened(poet: Editor) -> None:
    decline(poet, "grg<CR>")
    assert result(poet, 40)["cancelled"]
    assert shown(poet) == [[""]]


def wait_review(editor: Editor, number: int) -> None:
    """Wait for the next round with one open hunk; the first round has three."""
    words = f"revision {number} · 1 open" if number > 1 else "3 open"
    editor.wait(f"vim.wo.winbar:find('{words}', 1, true)", 40)
    wait_focused(editor)


def wait_override(editor: Editor) -> None:
    editor.wait_screen("Write it anyway?")
    wait_focused(editor)
