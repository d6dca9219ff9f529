"""The notice about an unfinished run when Neovim opens its project."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tideate_core.project.state import state_directory_name
from tideate_core.snapshots import GuardSession, GuardState
from tideate_core.snapshots.guard_sessions import RECORD
from tideate_core.store.unfinished import NAME

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.editor import EditorFactory

pytestmark = pytest.mark.slow

NOTICE = "this project has an unfinished run: :Workflow review or :Workflow resume"
WAITING = "the changes of a guarded program wait: :Workflow land"
GONE = 2**22 + 1
"""Above the largest process id of Linux."""


def test_a_project_with_a_waiting_session_is_told_without_a_host(
    start_editor: EditorFactory, tmp_path: Path
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    record = GuardSession(id="ab12", argv=("claude",), created=1, state=GuardState.WAITING)
    for state, told in ((GuardState.WAITING, True), (GuardState.RUNNING, False)):
        place = tmp_path / "state/projects" / state_directory_name(root.resolve()) / "guard/sessions/ab12"
        place.mkdir(parents=True, exist_ok=True)
        (place / RECORD).write_text(json.dumps(replace(record, state=state).as_json()))
        editor = start_editor(cwd=root, ui=(100, 24), env={"TIDEATE_STATE": str(tmp_path / "state")})
        if told:
            editor.wait_screen(WAITING)
        else:
            editor.lua("require('tideate.unfinished').tell()")
            assert WAITING not in editor.messages()
        assert editor.lua("return require('tideate.host').state()") != "ready"


def test_a_project_with_an_unfinished_run_is_told_without_a_host(
    start_editor: EditorFactory, tmp_path: Path
) -> None:
    root = tmp_path / "my project (ü)..."
    (root / "src").mkdir(parents=True)
    env = {"TIDEATE_STATE": str(tmp_path / "state")}
    for pid, told in ((GONE, True), (os.getpid(), False)):
        state = tmp_path / "state" / "projects" / state_directory_name(root.resolve())
        state.mkdir(parents=True, exist_ok=True)
        (state / NAME).write_text(f"{pid}\n")
        editor = start_editor(cwd=root / "src", ui=(100, 24), env=env)
        if told:
            editor.wait_screen(NOTICE)
        else:
            editor.lua("require('tideate.unfinished').tell()")
            assert NOTICE not in editor.messages()
        assert editor.lua("return require('tideate.host').state()") != "ready"
