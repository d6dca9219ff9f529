"""Fixtures of the gates' tests: a project, its trust record, and views of its files."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from tests.support.gates import Verifier, report
from tideate_core.errors import NotText, WorkspaceError
from tideate_core.gates import DocumentValidator, GateEnforcer
from tideate_core.toolchain import ProjectTrust
from tideate_core.workspace import Document, Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tideate_core.gates import FilesView

# `make test-runners`: Go has to be installed
collect_ignore = [] if "TIDEATE_RUNNERS" in os.environ else ["test_real_monorepo.py"]


class DiskView:
    """Files on disk after a task.

    :param before: contents of files before the task, by name.
    """

    def __init__(self, workspace: Workspace, before: Mapping[str, bytes]) -> None:
        self._workspace = workspace
        self._before = before

    async def exists(self, path: str) -> bool:
        """Return whether the file exists."""
        return await asyncio.to_thread(self._workspace.resolve(path).is_file)

    async def text(self, path: str) -> str | None:
        """Return a file's current text."""
        self._workspace.resolve(path)
        try:
            return (await self._workspace.read(path)).text
        except WorkspaceError:
            return None

    async def text_before(self, path: str) -> str | None:
        """Return a file's text before the task."""
        name = self._workspace.resolve(path).relative_to(self._workspace.root or "/").as_posix()
        data = self._before.get(path, self._before.get(name))
        try:
            return None if data is None else Document.decode(data, path).text
        except NotText:
            return None


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test its own trust record."""
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
def gates(workspace: Workspace) -> GateEnforcer:
    return GateEnforcer(DocumentValidator(), Verifier(report()), resolve=workspace.resolve)


@pytest.fixture
def disk(workspace: Workspace) -> Callable[..., FilesView]:
    """Return a factory of views of the project on disk; keywords give earlier contents."""

    def view(**before: bytes) -> FilesView:
        return DiskView(workspace, {name.replace("__", "."): data for name, data in before.items()})

    return view


@pytest.fixture
def trust(root: Path) -> ProjectTrust:
    return ProjectTrust(root)
