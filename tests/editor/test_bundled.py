"""Every built-in workflow, end to end, with the bundled model.

Its answers are weak, so what is held here is the way, not the wit: a real answer streams, an edit that can be
used is reviewed and applied, one that cannot is refused, and in the latter case nothing has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.runs import accept_all, result, start

if TYPE_CHECKING:
    from tests.support.editor import Editor

CODE = "def add(a, b):\n    return a + b\n\n\nprint(add(1, 2))\n"
REFUSALS = {"UnusableAnswer", "StepFailed", "InvalidReply", "ContextTooLong"}


@pytest.fixture
def nvim(editor: Editor) -> Editor:
    """An editor with the default adapter, in a project with one file."""
    (editor.cwd / "pyproject.toml").write_text("")
    editor.edit("a.py", CODE)
    accept_all(editor)
    return editor


def usable_or_refused(editor: Editor, done: dict[str, Any]) -> None:
    """Hold that a run either changed what it says, or nothing."""
    if done["ok"]:
        assert done["results"]
        return
    assert done.get("cancelled") or done["error_code"] in REFUSALS, done
    assert editor.lines(1) == CODE.splitlines()
    assert (editor.cwd / "a.py").read_text() == CODE
    assert sorted(path.name for path in editor.cwd.iterdir() if path.is_file()) == ["a.py", "pyproject.toml"]


@pytest.mark.parametrize(("name", "prompt"), [("ask", "What is a list in Python?"), ("summarize", "")])
def test_an_answer_streams_and_is_the_result(nvim: Editor, name: str, prompt: str) -> None:
    identity = start(nvim, name, prompt)
    done = result(nvim, 90)
    assert done["ok"], done
    assert len(done["response"].split()) > 3
    streamed = "".join(nvim.lua("return require('tideate.state').text(...)", identity))
    assert streamed.strip() == done["response"]
    assert nvim.lua("return require('tideate').get_status(...).demonstration", identity)
    assert done["usage"]["output_tokens"] > 3


@pytest.mark.parametrize(
    ("name", "prompt"),
    [
        ("refactor", "add type hints"),
        ("generate", "a function that subtracts two numbers"),
        ("multi_file", "add a docstring to add"),
    ],
)
def test_an_edit_is_usable_or_refused(nvim: Editor, name: str, prompt: str) -> None:
    start(nvim, name, prompt)
    usable_or_refused(nvim, result(nvim, 110))
