"""Fixtures for a project with workflow files, and its catalog."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.harness.project import use_home
from tests.workflows.definition_texts import query
from tideate_core.workflows import Catalog, Registration, WorkflowDefinition, WorkflowRegistry, loading
from tideate_core.workflows.loading import load

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.workflows import KnownNames
    from tideate_core.workflows.workflow_files import WorkflowFile


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the person's own files are."""
    use_home(tmp_path, monkeypatch)
    return tmp_path / "config" / "tideate" / "workflows"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".tideate" / "workflows").mkdir(parents=True)
    return tmp_path / "project"


@pytest.fixture
def project(root: Path) -> Path:
    return root / ".tideate" / "workflows"


@pytest.fixture
def registry() -> WorkflowRegistry:
    registry = WorkflowRegistry()
    registry.register(WorkflowDefinition.chain("ask", ["query"]), {"query": query}, source="builtin")
    return registry


@pytest.fixture
def catalog(registry: WorkflowRegistry, root: Path) -> Catalog:
    return Catalog(registry, root)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were parsed."""
    names: list[str] = []

    def counted(file: WorkflowFile, known: KnownNames | None) -> Registration:
        names.append(file.path.name)
        return load(file, known)

    monkeypatch.setattr(loading, "load", counted)
    return names


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """All files of the test were written long ago, as far as the clock says."""
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 10**12)
