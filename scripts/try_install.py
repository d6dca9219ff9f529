"""Runs the real `:Workflow install` in a Neovim with empty directories, then asks the bundled model."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.harness.editor import Editor

INSTALL_LIMIT = 300.0
"""Seconds; about a minute with a warm cache of pip's."""
ANSWER_LIMIT = 60.0
PIP_SETTINGS = ("PIP_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
"""Beginnings of the variables that tell pip where the packages are."""
ASK = """
require('tideate').run('ask', { prompt = 'What is a text editor?' }, function(result) _G.result = result end)
"""


def _install(editor: Editor) -> Path:
    """Install, and return the interpreter that the host will use."""
    editor.lua("vim.env.TIDEATE_PYTHON = nil")  # that of the tests: here it must be the one that is made
    # a clone's own .venv would be taken before the one that is made
    editor.lua("""
    local paths = require('tideate.paths')
    local root = paths.root()
    local exists = vim.uv.fs_stat
    vim.uv.fs_stat = function(path, ...)
      return not vim.startswith(path, root .. '/.venv/') and exists(path, ...) or nil
    end""")
    editor.command("Workflow install")
    editor.wait("not require('tideate.install').is_running()", INSTALL_LIMIT)
    python = Path(str(editor.lua("return (require('tideate.paths').python())")))
    if not python.is_relative_to(editor.home) or "installed." not in editor.messages():
        raise SystemExit(f"not installed ({python}):\n{editor.messages()}")
    return python


def _ask(editor: Editor) -> dict[str, Any]:
    editor.lua(ASK)
    result: dict[str, Any] = editor.wait("_G.result", ANSWER_LIMIT)
    return result


def main() -> int:
    """Return 0 if it was installed and answers."""
    with tempfile.TemporaryDirectory(prefix="tideate-install-") as temporary:
        began = time.monotonic()
        settings = {
            name: value for name, value in os.environ.items() if name.upper().startswith(PIP_SETTINGS)
        }
        with closing(Editor(Path(temporary), env=settings)) as editor:
            python = _install(editor)
            print(f"installed in {time.monotonic() - began:.0f} s: {python.relative_to(temporary)}")
            result = _ask(editor)
    print(result["response"] if result["ok"] else f"failed: {result}")
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
