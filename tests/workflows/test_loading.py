"""Cache of parsed definition files."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.workflows.definition_texts import BROKEN, TEXT, write
from tideate_core.errors import InvalidDefinitionFile
from tideate_core.workflows import Catalog, WorkflowRegistry, loading
from tideate_core.workflows.loading import load_definition

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.workflows.checking import KnownNames
    from tideate_core.workflows.loading import DefinitionFile


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were parsed."""
    names: list[str] = []

    def counted(path: Path, known: KnownNames, root: Path | None = None) -> DefinitionFile:
        names.append(path.name)
        return load_definition(path, known, root)

    monkeypatch.setattr(loading, "load_definition", counted)
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 10**12)  # all was written long ago
    return names


@pytest.mark.parametrize("text", [TEXT, BROKEN])
def test_a_file_that_did_not_change_is_parsed_once(
    catalog: Catalog, project: Path, loads: list[str], text: str
) -> None:
    write(project / "essay.yaml", text)
    for _ in range(3):
        catalog.list()
        assert len(catalog.notices) == (text == BROKEN)
    assert loads == ["essay.yaml"]


def test_a_file_is_parsed_again_where_what_it_may_name_is_there_now(
    registry: WorkflowRegistry, catalog: Catalog, project: Path, loads: list[str]
) -> None:
    write(project / "all.yaml", "steps:\n  - {id: one, workflow: essay}\n")
    with pytest.raises(InvalidDefinitionFile):
        catalog.get("all")
    write(project / "essay.yaml")
    assert catalog.get("all").definition.step_names == ("one",)


def test_to_find_a_registered_graph_reads_no_file(catalog: Catalog, project: Path, loads: list[str]) -> None:
    write(project / "essay.yaml", BROKEN)
    catalog.get("ask")
    catalog.names()
    catalog.notices_of("ask")
    assert loads == []
