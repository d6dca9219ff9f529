"""Comments on lines of a document and files of a plan: written, shown, kept, sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.dialogs import answers, ask, wait_focused

if TYPE_CHECKING:
    from tests.harness.editor import Editor

TEXT = "# Plan\n\n## Steps\n\n1. **edit** first\n2. **edit** second\n3. **edit** third\n"
SECOND = 6
FILES = [
    {"action": "modify", "path": "a.py", "why": "use it"},
    {"action": "create", "path": "lib/b.py", "why": "the library"},
]
SENT = "comments were sent to the model"
RESTART = """
require('tideate.ui').close()
for name in pairs(package.loaded) do
  if name:find('^tideate') then package.loaded[name] = nil end
end
"""


def document(editor: Editor, text: str = TEXT, *, draft: str = "", **more: Any) -> None:
    payload = {
        "text": text,
        "filetype": "markdown",
        "title": "Plan",
        "problems": [],
        "revisable": True,
        **more,
    }
    ask(editor, "document", message="Carry out this plan?", payload=payload, draft=draft)
    wait_focused(editor)


def plan(editor: Editor, *, draft: str = "", **more: Any) -> None:
    payload = {"files": FILES, "revisable": True, **more}
    ask(editor, "plan", message="Continue with 2 files?", payload=payload, draft=draft)
    wait_focused(editor)


def shown(editor: Editor) -> list[str]:
    return [line.rstrip() for line in editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)")]


def at(editor: Editor, words: str) -> None:
    """Put the cursor on the line with these words."""
    editor.feed(f"gg/{words}<CR>")


def below(editor: Editor, words: str) -> str:
    lines = shown(editor)
    (row,) = [row for row, line in enumerate(lines) if words in line]
    return lines[row + 1]


def test_a_comment_on_a_line_is_listed_below_it_and_sent(editor: Editor) -> None:
    document(editor)
    at(editor, "second")
    editor.feed("gsdo it later<CR>")
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


def test_yes_twice_leaves_the_comments_out(editor: Editor) -> None:
    document(editor)
    editor.feed("g<CR>")
    assert answers(editor) == []
    assert any("you have not said anything" in line for line in shown(editor))
    at(editor, "second")
    editor.feed("gslater<CR>gs<C-u><CR>")
    assert not any("later" in line for line in shown(editor)), "it is removed"
    editor.feed("gslater<CR>yy")
    assert answers(editor) == [{"accepted": True}]


def test_comments_go_along_with_an_edited_text(editor: Editor) -> None:
    document(editor)
    at(editor, "second")
    editor.feed("gsthis one<CR>")
    at(editor, "third")
    editor.feed("gband this<CR>")
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


def restarted(editor: Editor) -> None:
    """Forget the kept answers of this Neovim, like a new one."""
    editor.lua(RESTART)


def test_comments_and_text_outlive_neovim(editor: Editor) -> None:
    draft = str(editor.cwd / "draft")
    document(editor, draft=draft)
    at(editor, "second")
    editor.feed("gslater<CR>gSinot so fast<Esc>:w<CR>")
    editor.feed("eggOnew<Esc>:w<CR>")
    at(editor, "third")
    editor.feed("gsgone<CR>gs<C-u><CR>")
    restarted(editor)
    buffers = editor.lua("return #vim.api.nvim_list_bufs()")
    document(editor, draft=draft)
    lines = shown(editor)
    assert below(editor, "second") == " » later"
    assert {" » not so fast", " new"} <= set(lines)
    assert not any("gone" in line for line in lines)
    assert " as you changed it; d shows the changes" in lines
    editor.feed("g<CR>")
    comments = [{"text": "not so fast"}, {"line": SECOND + 1, "text": "later"}]
    assert answers(editor)[0]["value"] == {"text": f"new\n{TEXT}", "comments": comments}
    assert editor.lua("return #vim.api.nvim_list_bufs()") == buffers


def test_what_is_damaged_in_a_draft_is_left_out(editor: Editor) -> None:
    draft = editor.cwd / "draft"
    for line in (
        '{"said":[]}',
        '{"said":{"comments":5,"files":7,"text":{},"out":"x"}}',
        '{"said":{"comments":[{"path":7,"text":"x"},{"path":"a.py"},3],"files":[{"path":3}]}}',
        '{"said":{"com',
    ):
        draft.write_text(f"{line}\n")
        plan(editor, draft=str(draft))
        editor.feed("y")
        assert answers(editor)[-1] == {"accepted": True, "value": {"files": FILES}}, line
    assert len(answers(editor)) == 4


def test_a_question_that_was_opened_elsewhere_is_written_no_more(editor: Editor) -> None:
    draft = editor.cwd / "draft"
    document(editor, draft=str(draft))
    before = draft.read_text() + '{"v":1,"by":1,"in":"shell"}\n'
    draft.write_text(before)
    at(editor, "second")
    editor.feed("gslater<CR>")
    assert "not kept for the next Neovim: the shell has opened this document" in editor.messages()
    assert draft.read_text() == before
    assert below(editor, "second") == " » later"


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


def test_comments_and_files_of_a_plan_outlive_neovim(editor: Editor) -> None:
    draft = str(editor.cwd / "draft")
    plan(editor, draft=draft)
    editor.feed("eGomodify c.py<Esc>:w<CR>")
    at(editor, "a.py")
    editor.feed("x")
    at(editor, "lib/b.py")
    editor.feed("gsno library<CR>")
    restarted(editor)
    plan(editor, draft=draft)
    lines = [line for line in shown(editor) if ".py" in line]
    assert [line.split()[0] for line in lines] == ["○", "●", "●"]
    assert below(editor, "lib/b.py") == " » no library"
    at(editor, "a.py")
    editor.feed("x")
    restarted(editor)
    plan(editor, draft=draft)
    editor.feed("g<CR>")
    files = [*FILES, {"action": "modify", "path": "c.py", "why": ""}]
    comments = [{"path": "lib/b.py", "text": "no library"}]
    assert answers(editor)[0]["value"] == {"files": files, "comments": comments}


@pytest.mark.parametrize("kind", ["document", "plan"])
def test_a_warning_expires_and_stands_again_before_comments_are_left_out(editor: Editor, kind: str) -> None:
    editor.lua("require('tideate.ui.notify').limits.shown = 1")
    if kind == "document":
        document(editor)
        at(editor, "second")
    else:
        plan(editor)
        at(editor, "a.py")
    editor.feed("gslater<CR>")
    for _ in range(2):
        editor.feed("y")
        assert answers(editor) == [], "it is not the second yes of an old warning"
        editor.wait_for(lambda: not any("not sent" in line for line in shown(editor)), "the warning is gone")
    editor.lua("require('tideate.ui.notify').limits.shown = 60000")
    editor.feed("y")
    editor.feed("y")
    assert [one["accepted"] for one in answers(editor)] == [True]
