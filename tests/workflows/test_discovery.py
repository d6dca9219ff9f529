"""Workflow files are found by their names, those of the project first, and no link is followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import InvalidDefinition, UnknownWorkflow
from tideate_core.machines.language import parse
from tideate_core.workflows import Catalog, MachineWorkflow, WorkflowRegistry
from tideate_core.workflows.discovery import find_files
from tideate_core.workflows.workflow_files import BUILTIN_MACHINES

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "* to draft: Write.\n: It is good\ndraft to polish\npolish to *\n"


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the person's own machine files are."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "tideate" / "workflows"


def write(path: Path, content: str | bytes = TEXT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def machine(text: str = TEXT, name: str = "essay") -> MachineWorkflow:
    return MachineWorkflow(name, parse(text, name).require(name))


def file_of(name: str, root: Path | None) -> Path | None:
    return Catalog(WorkflowRegistry(), root).file_of(name)


def names(root: Path | None, source: str) -> list[str]:
    return [file.path.name for file in find_files(root) if file.source == source]


def test_only_files_with_workflows_are_found(tmp_path: Path) -> None:
    folder = tmp_path / ".tideate" / "workflows"
    for name in (
        "b.workflow",
        "a.workflow",
        "PLANNER",
        "notes.md",
        "c.yaml",
        ".d.yaml",
        ".#a.workflow",
        "a.workflow~",
    ):
        write(folder / name)
    assert names(tmp_path, "project") == ["a.workflow", "b.workflow", "c.yaml", "PLANNER"]


def test_the_projects_file_comes_before_the_persons_and_that_before_the_built_in_one(
    tmp_path: Path, person: Path
) -> None:
    assert file_of("PLANNER", tmp_path) == BUILTIN_MACHINES / "PLANNER.workflow"
    own = write(person / "PLANNER.workflow")
    assert file_of("PLANNER", tmp_path) == own
    project = write(tmp_path / ".tideate/workflows/PLANNER")
    assert file_of("PLANNER", tmp_path) == project
    assert file_of("PLANNER", None) == own


def test_what_is_nowhere_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(UnknownWorkflow):
        file_of("essay", tmp_path)


def test_a_path_is_found_where_it_is(tmp_path: Path) -> None:
    path = write(tmp_path / "deep/essay.workflow")
    assert file_of(str(path), None) == path


def test_links_in_a_projects_workflows_are_not_followed(tmp_path: Path) -> None:
    secret = write(tmp_path / "elsewhere/secret", "password\n")
    root = tmp_path / "project"
    folder = root / ".tideate" / "workflows"
    folder.mkdir(parents=True)
    (folder / "secret.workflow").symlink_to(secret)
    with pytest.raises(InvalidDefinition, match="it is a link; put the file itself there"):
        file_of("secret", root)
    (problem,) = [file.problem for file in find_files(root) if file.problem]
    assert problem == f"{folder / 'secret.workflow'} was not used: it is a link; put the file itself there"


def test_a_directory_that_leads_out_of_the_project_is_not_listed(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere/essay.workflow")
    root = tmp_path / "project"
    (root / ".tideate").mkdir(parents=True)
    (root / ".tideate" / "workflows").symlink_to(tmp_path / "elsewhere")
    (found,) = [file for file in find_files(root) if file.source == "project"]
    assert found.problem.startswith(f"{root / '.tideate/workflows'} was not used: it is a link, or there is")


def test_the_persons_own_links_are_followed(tmp_path: Path, person: Path) -> None:
    real = write(tmp_path / "dotfiles/essay.workflow")
    person.mkdir(parents=True)
    (person / "essay.workflow").symlink_to(real)
    assert file_of("essay", tmp_path) == person / "essay.workflow"
