"""A project to be gated, and what a person trusts of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tideate_core.gates import DiskView
from tideate_core.toolchain.selection import ProjectTrust
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tideate_core.gates import FilesView


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is trusted is the test's own."""
    home = tmp_path / "home"
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    return home


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root


@pytest.fixture
def workspace(root: Path, tmp_path: Path) -> Workspace:
    (tmp_path / "private").mkdir()
    return Workspace(root, private=tmp_path / "private")


@pytest.fixture
def disk(workspace: Workspace) -> Callable[..., FilesView]:
    """Makes a view of the project on disk; what files were before is given by name."""

    def view(**before: bytes) -> FilesView:
        return DiskView(workspace, {name.replace("__", "."): data for name, data in before.items()})

    return view


@pytest.fixture
def trust(root: Path) -> ProjectTrust:
    return ProjectTrust(root)
