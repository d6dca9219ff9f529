"""A private home and a project for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.project import use_home

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Private home directory of a test."""
    home = tmp_path / "home"
    use_home(home, monkeypatch)
    return home


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root
