"""Every built-in workflow end to end with the bundled model.

The answers are weak, so only the mechanics are checked: a real answer streams, a usable edit is
reviewed and applied, an unusable edit is refused and changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.runs import accept_all, result, start

if TYPE_CHECKING:
    from tests.harness.editor import Editor

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CODE = "def add(a, b):\n    return a + b\n\n\nprint(add(1, 2))\n"
REFUSALS = {"UnusableAnswer", "StepFailed", "InvalidReply", "ContextTooLong"}


@pytest.fixture
def nvim(editor: Editor) -> Editor:
    """An editor with the default adapter in a project with one file."""
    editor.write("pyproject.toml")
    editor.edit("a.py", CODE)
    accept_all(editor, "override")  # what brings syntax errors is what a person should not take
    return editor


def refused(editor: Editor, done: dict[str, Any]) -> bool:
    """Return whether the run failed; assert that a failed run changed nothing."""
    if done["ok"]:
        return False
    assert done.get("cancelled") or done["error_code"] in REFUSALS, done
    assert editor.lines(1) == CODE.splitlines()
    assert files(editor) == {"a.py": CODE, "pyproject.toml": ""}
    return True


def files(editor: Editor) -> dict[str, str]:
    return {path.name: path.read_text() for path in editor.cwd.iterdir() if path.is_file()}


@pytest.mark.parametrize(("name", "prompt"), [("ask", "What is a list in Python?"), ("summarize", "")])
def test_an_answer_streams_and_is_the_result(nvim: Editor, name: str, prompt: str) -> None:
    identity = start(nvim, name, prompt)
    done = result(nvim, 280)
    assert done["ok"], done
    assert len(done["response"].split()) > 3
    streamed = "".join(nvim.lua("return require('tideate.state').text(...)", identity))
    assert streamed.strip() == done["response"]
    assert nvim.lua("return require('tideate').get_status(...).demonstration", identity)
    assert done["usage"]["output_tokens"] > 3


@pytest.mark.parametrize(
    ("name", "prompt", "place", "replaced"),
    [
        ("refactor", "add type hints", (1, 2), slice(0, 2)),
        ("generate", "a function that subtracts two numbers", (), slice(3, 3)),
    ],
)
def test_an_edit_is_what_the_result_says_or_refused(
    nvim: Editor, name: str, prompt: str, place: tuple[int, ...], replaced: slice
) -> None:
    nvim.lua("vim.api.nvim_win_set_cursor(0, { 3, 0 })")
    context = nvim.lua("return require('tideate.context').capture(...)", *([list(place)] if place else []))
    start(nvim, name, prompt, context=context)
    done = result(nvim, 280)
    if refused(nvim, done):
        return
    wanted = CODE.splitlines()
    wanted[replaced] = done["response"].split("\n")
    assert nvim.lines(1) == wanted
    compile("\n".join(wanted), "a.py", "exec")
    assert done["files"] == (["a.py"] if wanted != CODE.splitlines() else [])
    assert set(files(nvim)) == {"a.py", "pyproject.toml"}


def test_the_edits_of_several_files_are_what_the_result_says_or_refused(nvim: Editor) -> None:
    start(nvim, "multi_file", "add a docstring to add")
    done = result(nvim, 280)
    if refused(nvim, done):
        return
    found = files(nvim) | {"a.py": "\n".join(nvim.lines(1)) + "\n"}
    before = {"a.py": CODE, "pyproject.toml": ""}
    changed = {name for name in found.keys() | before.keys() if found.get(name) != before.get(name)}
    assert changed <= set(done["files"]), done
    for name in changed & found.keys():
        if name.endswith(".py"):
            compile(found[name], name, "exec")
