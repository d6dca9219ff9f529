"""A separate home directory for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.project import use_home

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Home directory with XDG directories."""
    home = tmp_path / "home"
    use_home(home, monkeypatch)
    monkeypatch.delenv("TIDEATE_STATE", raising=False)
    return home


@pytest.fixture
def root(home: Path) -> Path:
    """Empty project."""
    root = home / "project"
    root.mkdir()
    return root
