"""Fixtures for a project with workflow files, and its catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.project import use_home
from tests.workflows.definition_texts import query
from tideate_core.workflows import Catalog, WorkflowDefinition, WorkflowRegistry

if TYPE_CHECKING:
    from pathlib import Path


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
