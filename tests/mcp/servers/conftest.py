"""A project to be tested or built."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.mcp.projects import Project, with_own_programs

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.processes import Brood


@pytest.fixture
def project(tmp_path: Path, brood: Brood, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PATH", with_own_programs())
    return Project(tmp_path, brood)
