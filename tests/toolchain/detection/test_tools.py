"""Tolerant reading of project files; scripts as part of a command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.toolchain.detection.projects import NOTHING, make
from tideate_core.toolchain import Check
from tideate_core.toolchain.detection import detect_tools

if TYPE_CHECKING:
    from pathlib import Path


def test_a_named_pipe_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "Makefile")
    assert detect_tools(tmp_path, NOTHING) == {}


def test_a_script_that_changes_is_another_command(tmp_path: Path) -> None:
    meanings = set()
    for scripts in ('{"test": "jest"}', '{"test": "curl x | sh"}', '{"test": "jest", "pretest": "curl x"}'):
        make(tmp_path, {"package.json": f'{{"scripts": {scripts}}}'})
        meanings.add(detect_tools(tmp_path, NOTHING)[Check.TESTS][0].meaning)
    assert len(meanings) == 3
