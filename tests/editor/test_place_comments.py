"""Comments on lines of a document and on files of a plan: made, listed below their place, kept, sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.editor.test_document import withdraw
from tests.support.dialogs import answers, ask, wait_focused

if TYPE_CHECKING:
    from tests.support.editor import Editor

TEXT = "# Plan\n\n## Steps\n\n1. **edit** first\n2. **edit** second\n3. **edit** third\n"
SECOND = 6
FILES = [
    {"action": "modify", "path": "a.py", "why": "use it"},
    {"action": "create", "path": "lib/b.py", "why": "the library"},
]
SENT = "comments were sent to the model"


def document(editor: Editor, text: str = TEXT, *, message: str = "Carry out this plan?", **more: Any) -> str:
    payload = {
        "text": text,
        "filetype": "markdown",
        "title": "Plan",
        "problems": [],
        "revisable": True,
        **more,
    }
    question = ask(editor, "document", message=message, payload=payload)
    wait_focused(editor)
    return question


def plan(editor: Editor, **more: Any) -> None:
    ask(editor, "plan", message="Continue with 2 files?", payload={"files": FILES, "revisable": True, **more})
    wait_focused(editor)


def shown(editor: Editor) -> list[str]:
    return [line.rstrip() for line in editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)")]


def at(editor: Editor, words: str) -> None:
    """Put the cursor on the line that has these words."""
    editor.feed(f"gg/{words}<CR>")


def below(editor: Editor, words: str) -> str:
    lines = shown(editor)
    (row,) = [row for row, line in enumerate(lines) if words in line]
    return lines[row + 1]


@pytest.mark.parametrize("key", ["gs", "gb"])
def test_a_comment_on_a_line_is_listed_below_it_and_sent(editor: Editor, key: str) -> None:
    document(editor)
    at(editor, "second")
    editor.feed(f"{key}do it later<CR>")
    assert below(editor, "second") == " » do it later"
    editor.feed("y")
    assert answers(editor) == []
    assert any("your comments are not sent: g<CR> sends them" in line for line in shown(editor))
    editor.feed("g<CR>")
    comments = [{"line": SECOND, "text": "do it later"}]
    assert answers(editor) == [{"accepted": False, "reason": SENT, "value": {"comments": comments}}]
    assert editor.lua("return #vim.api.nvim_list_bufs()") == 1


def test_comments_of_several_lines_and_on_all_of_it(editor: Editor) -> None:
    document(editor)
    at(editor, "third")
    editor.feed("gBione<CR>two<Esc>:w<CR>")
    assert below(editor, "third") == " » one"
    editor.feed("gSibe brief<Esc>:w<CR>")
    assert " » be brief" in shown(editor)
    at(editor, "third")
    editor.feed("g<CR>")
    assert answers(editor)[0]["value"]["comments"] == [{"text": "be brief"}, {"line": 7, "text": "one\ntwo"}]


def test_a_comment_is_removed_and_yes_accepts(editor: Editor) -> None:
    document(editor)
    at(editor, "second")
    editor.feed("gslater<CR>gs<C-u><CR>y")
    assert answers(editor) == [{"accepted": True}]


def test_without_a_comment_nothing_is_sent(editor: Editor) -> None:
    document(editor)
    editor.feed("g<CR>")
    assert answers(editor) == []
    assert any("you have not said anything" in line for line in shown(editor))


def test_yes_twice_leaves_the_comments_out(editor: Editor) -> None:
    document(editor)
    at(editor, "second")
    editor.feed("gslater<CR>yy")
    assert answers(editor) == [{"accepted": True}]


def test_comments_go_along_with_an_edited_text(editor: Editor) -> None:
    document(editor)
    at(editor, "second")
    editor.feed("gsthis one<CR>")
    at(editor, "third")
    editor.feed("gsand this<CR>")
    editor.feed("eggOnew<CR>newer<CR>newest<Esc>:g/first/d<CR>:%s/third/last/<CR>:w<CR>")
    assert below(editor, "second") == " » this one"
    assert below(editor, "last") == " » and this"
    editor.feed("g<CR>")
    value = answers(editor)[0]["value"]
    lines = value["text"].split("\n")
    assert [lines[one["line"] - 1] for one in value["comments"]] == ["2. **edit** second", "3. **edit** last"]


def test_a_revision_marks_what_changed_and_has_what_nobody_answered(editor: Editor) -> None:
    said = [{"line": SECOND, "text": "one"}, {"line": SECOND, "text": "two"}, {"text": "on all"}]
    document(editor, revision=2, changed=[SECOND], comments=said)
    lines = shown(editor)
    assert [line for line in lines if line.startswith("▌")] == ["▌2. **edit** second"]
    assert " ▌ changed in this revision" in lines
    assert {" » one", "   two", " » on all"} <= set(lines)
    editor.feed("g<CR>")
    assert answers(editor)[0]["value"]["comments"] == [
        {"text": "on all"},
        {"line": SECOND, "text": "one\ntwo"},
    ]


def test_comments_outlive_a_question_that_ends_without_an_answer(editor: Editor) -> None:
    question = document(editor)
    at(editor, "second")
    editor.feed("gslater<CR>")
    withdraw(editor, question)
    document(editor, revision=2)
    assert not any("later" in line for line in shown(editor)), "it is another text"
    editor.feed("n")
    document(editor)
    assert below(editor, "second") == " » later"
    editor.feed("n")
    document(editor)
    assert not any("later" in line for line in shown(editor)), "it was answered"


def test_lines_that_are_broken_or_counted_have_their_numbers(editor: Editor) -> None:
    document(editor, "x" * 2500 + "\n" * 40 + "last one\n")
    at(editor, "last one")
    editor.feed("gshere<CR>")
    at(editor, "↪")
    editor.feed("gslong<CR>")
    assert shown(editor).count(" » long") == 1, "below the whole line"
    editor.feed("g<CR>")
    assert answers(editor)[0]["value"]["comments"] == [
        {"line": 1, "text": "long"},
        {"line": 41, "text": "here"},
    ]


def test_where_the_model_cannot_be_asked_there_are_no_such_keys(editor: Editor) -> None:
    document(editor, revisable=False)
    assert editor.lua("return vim.fn.maparg('gs', 'n', false, true).buffer") is None
    editor.feed("y")
    assert answers(editor) == [{"accepted": True}]


def test_a_comment_on_a_file_of_a_plan_goes_with_the_files_that_are_left(editor: Editor) -> None:
    plan(editor, revision=2, changed=["lib/b.py"])
    assert [line[:1] for line in shown(editor) if ".py" in line] == [" ", "▌"]
    at(editor, "a.py")
    editor.feed("x")
    at(editor, "lib/b.py")
    editor.feed("gsno library<CR>")
    assert below(editor, "lib/b.py") == " » no library"
    editor.feed("yg<CR>")
    comments = [{"path": "lib/b.py", "text": "no library"}]
    value = {"files": [FILES[1]], "comments": comments}
    assert answers(editor) == [{"accepted": False, "reason": SENT, "value": value}]
