"""A project to be tested or built."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.project import use_home
from tests.mcp.projects import Project, with_own_programs

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.processes import Brood


@pytest.fixture
def project(tmp_path: Path, brood: Brood, monkeypatch: pytest.MonkeyPatch) -> Project:
    use_home(tmp_path, monkeypatch)
    monkeypatch.setenv("PATH", with_own_programs())
    return Project(tmp_path, brood)
