"""`:Workflow commit`: the message of a run's commit in a buffer."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.harness.runs import accept_all, configure, result, start

if TYPE_CHECKING:
    from tests.harness.editor import Editor
    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow

OLD, NEW = "def f():\n    return  1\n", "def f():\n    return 1\n"


def git(editor: Editor, *arguments: str) -> str:
    identity = ("-c", "user.name=Me", "-c", "user.email=me@example.org")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=editor.cwd, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_message_is_edited_in_a_buffer_and_written_to_commit(
    screen_editor: Editor, server: ModelServer
) -> None:
    editor = screen_editor
    (editor.home / ".gitconfig").write_text("[user]\n\tname = Me\n\temail = me@example.org\n")
    editor.edit("a.py", OLD)
    git(editor, "init", "-q")
    git(editor, "add", "a.py")
    git(editor, "commit", "-qm", "begin")
    configure(editor, server)
    server.answers("what must not change", "MY ANALYSIS")
    server.answers("MY ANALYSIS", f"```python\n{NEW}```")
    accept_all(editor)
    run = start(editor, "refactor", "tidy")
    assert result(editor)["ok"]
    editor.feed("q")
    editor.command(f"Workflow commit {run[:8]}")
    editor.wait_screen("save them (`:w`)")
    editor.command("bufdo if expand('%:t') == 'a.py' | write | endif")
    editor.command("Workflow commit")
    editor.wait("vim.bo.filetype == 'gitcommit'")
    lines = editor.lines()
    assert (lines[0], lines[-1]) == ("tidy", "#\ta.py")
    editor.feed("ggcc<Esc>:w<CR>")  # an empty message
    editor.wait_screen("nothing was committed")
    editor.feed(":messages clear<CR>ggi#1 Tidy f<Esc>:w<CR>")
    editor.wait_screen("1 file committed")
    assert editor.lua("return vim.bo.filetype") != "gitcommit"
    assert git(editor, "log", "--format=%s").split("\n")[:2] == ["#1 Tidy f", "begin"]
    assert git(editor, "status", "--short") == ""
