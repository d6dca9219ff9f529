"""Fixtures of the gates' tests: a project, its trust record, and views of its files."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

import pytest

from tests.harness.gates import Verifier, report
from tests.harness.project import use_home
from tideate_core.gates import DocumentValidator, GateEnforcer, StagedView
from tideate_core.toolchain import ProjectTrust
from tideate_core.workspace import FileChange, Workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Disk: TypeAlias = "Callable[..., StagedView]"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test its own trust record."""
    home = tmp_path / "home"
    use_home(home, monkeypatch)
    return home


@pytest.fixture
def workspace(root: Path, tmp_path: Path) -> Workspace:
    (tmp_path / "private").mkdir()
    return Workspace(root, private=tmp_path / "private")


@pytest.fixture
def gates(workspace: Workspace) -> GateEnforcer:
    return GateEnforcer(DocumentValidator(), Verifier(report()), resolve=workspace.resolve)


@pytest.fixture
def disk(workspace: Workspace, root: Path) -> Disk:
    """Return a factory of views of the project as it is now; keywords give earlier contents."""

    def view(**before: str) -> StagedView:
        earlier = {name.replace("__", "."): text for name, text in before.items()}
        changes = []
        for path in (path for path in root.rglob("*") if path.is_file()):
            name = path.relative_to(root).as_posix()
            with suppress(UnicodeDecodeError):
                changes.append(FileChange(name, "modify", earlier.get(name), path.read_text()))
        return StagedView(workspace, changes)

    return view


@pytest.fixture
def trust(root: Path) -> ProjectTrust:
    return ProjectTrust(root)
