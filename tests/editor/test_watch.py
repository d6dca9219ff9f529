"""With `watch.enabled`, Neovim's host watches the project without a request."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tideate_core.snapshots import SnapshotManager

if TYPE_CHECKING:
    from tests.harness.editor import Editor, EditorFactory

pytestmark = pytest.mark.slow


def names(editor: Editor) -> list[str]:
    if not (editor.state / "snapshots").is_dir():
        return []
    return [one.name for one in asyncio.run(SnapshotManager(editor.cwd, private=editor.state).list())]


def test_a_file_that_another_program_deletes_comes_back(start_editor: EditorFactory) -> None:
    setup = "lua require('tideate').setup({ watch = { enabled = true, settle = 0.1 } })"
    editor = start_editor(ui=(80, 24), args=("--cmd", "let g:started = 1", "-c", setup))
    editor.write("pyproject.toml", "")
    editor.write("a.py", "a = 1\n")
    editor.wait_for(lambda: "watch: at the start" in names(editor), "the first snapshot")
    (editor.cwd / "a.py").unlink()
    editor.wait_for(lambda: any("gone: a.py" in name for name in names(editor)), "the next snapshot")


def test_without_it_no_host_is_started(small_editor: Editor) -> None:
    small_editor.write("pyproject.toml", "")
    small_editor.lua("vim.wait(1500, function() return package.loaded['tideate.host'] ~= nil end)")
    assert small_editor.lua("return package.loaded['tideate.host'] == nil")
