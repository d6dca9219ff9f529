"""Fixtures with real Neovim processes, each new, with the plugin and no configuration."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.editor import REPOSITORY
from tests.harness.panel import open_panel
from tests.harness.runs import PAIR, configure

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.editor import Editor, EditorFactory
    from tests.harness.model_server import ModelServer

# `make test-mcp` installs the server and says where it is
collect_ignore = [] if "TIDEATE_THIRD_PARTY_SERVER" in os.environ else ["test_third_party.py"]


@pytest.fixture
def small_editor(start_editor: EditorFactory) -> Editor:
    """A Neovim with a screen of 80 columns and 24 rows."""
    return start_editor(ui=(80, 24))


@pytest.fixture
def screen(small_editor: Editor) -> Editor:
    """A small screen with an open panel."""
    open_panel(small_editor)
    return small_editor


@pytest.fixture
def pair(small_editor: Editor, server: ModelServer) -> Editor:
    """A small screen in a project with the workflow `pair` of two steps, and the model server as adapter."""
    small_editor.write(".tideate/workflows/pair.yaml", PAIR)
    configure(small_editor, server)
    return small_editor


@pytest.fixture
def screen_editor(start_editor: EditorFactory) -> Editor:
    """A Neovim with a screen of 100 columns and 30 rows, for prompts and floats."""
    return start_editor(ui=(100, 30))


class FakeHost:
    """A Python interpreter that runs `tests/harness/fake_host.py` instead of the host."""

    def __init__(self, folder: Path) -> None:
        self.python = folder / "python"
        self._log = folder / "heard.jsonl"
        script = REPOSITORY / "tests" / "harness" / "fake_host.py"
        python = shlex.quote(sys.executable)
        fake = f"*tideate_core.editor.main*) exec {python} {shlex.quote(str(script))} ;;"
        self.python.write_text(f'#!/bin/sh\ncase "$*" in {fake} esac\nexec {python} "$@"\n')
        self.python.chmod(0o755)

    def environment(self, start: str = "ready") -> dict[str, str]:
        """:param start: `ready`, `never`, `broken` or `crash`."""
        return {"TIDEATE_PYTHON": str(self.python), "FAKE_START": start, "FAKE_LOG": str(self._log)}

    def heard(self, method: str | None = None) -> list[dict[str, Any]]:
        """Return the requests from Lua, of one method or of all."""
        if not self._log.exists():
            return []
        calls = [json.loads(line) for line in self._log.read_text().splitlines()]
        return [call for call in calls if method is None or call.get("method") == method]


@pytest.fixture
def fake_host(tmp_path: Path) -> FakeHost:
    return FakeHost(tmp_path)


@pytest.fixture
def faked(start_editor: EditorFactory, fake_host: FakeHost) -> Editor:
    """A Neovim with the fake host."""
    return start_editor(env=fake_host.environment())
