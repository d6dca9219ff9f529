"""A run in a real Neovim that uses the reference filesystem server from npm as a tool (`make test-mcp`)."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from tests.harness.dialogs import wait_focused
from tests.harness.runs import result, start

if TYPE_CHECKING:
    from tests.harness.editor import EditorFactory

COMMAND = json.loads(os.environ["TIDEATE_THIRD_PARTY_SERVER"])

FLOW = """\
description: reads and writes
steps:
  - id: read
    tool: {server: files, name: read_text_file, arguments: {path: "a.txt"}}
  - id: write
    dependencies: [read]
    tool:
      server: files
      name: write_file
      arguments: {path: "b.txt", content: "{{ steps.read.result.content }} and more"}
"""


def test_a_run_uses_a_server_that_others_made(start_editor: EditorFactory) -> None:
    editor = start_editor(ui=(100, 30))
    (editor.cwd / ".tideate").mkdir()
    editor.write("a.txt", "something")
    folder = editor.home / "config" / "tideate" / "workflows"
    folder.mkdir(parents=True)
    (folder / "flow.yaml").write_text(FLOW)
    command = [*COMMAND, "."]
    editor.lua("require('tideate').setup(...)", {"mcp": {"servers": {"files": {"command": command}}}})
    start(editor, "flow")
    for shown in ('"path": "a.txt"', '"content": "something and more"'):
        wait_focused(editor)
        editor.wait_screen(shown, 60)
        editor.feed("y")
    done = result(editor, 60)
    assert done["ok"], done
    assert (editor.cwd / "b.txt").read_text() == "something and more"
    editor.wait_screen("✓ `files/write_file b.txt")
