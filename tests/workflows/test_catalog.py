"""Lookup of workflows by name or path: precedence, notices, caching, obfuscation."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from tests.workflows import definition_texts
from tests.workflows.definition_texts import query, write as write_text
from tideate_core.errors import InvalidDefinition, InvalidInput, InvalidWorkflowFile, UnknownWorkflow
from tideate_core.machines.language import parse
from tideate_core.project import project_state
from tideate_core.workflows import (
    Catalog,
    MachineWorkflow,
    WorkflowDefinition,
    WorkflowRegistry,
    workflow_key,
)
from tideate_core.workflows.workflow_files import BUILTIN_MACHINES

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.workflows.registration import Registration, Source

TEXT = "# {}\n* to draft: Write.\ndraft to polish\npolish to *\n"
BROKEN = "* to draft\ndraft polish\ndraft to\npolish to *\n"


def write(path: Path, text: str = TEXT.format("a file")) -> Path:
    return write_text(path, text)


def aged(path: Path) -> None:
    """Set a file's times to an hour ago."""
    long_ago = time.time() - 3600
    os.utime(path, (long_ago, long_ago))


def package_machine(registry: WorkflowRegistry, name: str) -> None:
    text = TEXT.format("a package's")
    registry.register(MachineWorkflow(name, parse(text, name).require(name)), {}, source="package")


def machine_of(known: Registration) -> MachineWorkflow:
    assert isinstance(known.definition, MachineWorkflow)
    return known.definition


# who has a name


def test_the_planner_is_there_without_any_file_and_asks_before_it_works(registry: WorkflowRegistry) -> None:
    known = Catalog(registry, None).get("PLANNER")
    assert (known.source, known.kind, known.handlers) == ("builtin", "machine", {})
    assert machine_of(known).confirm == {"execution"}
    assert machine_of(known).needs == ("prompt",)


def test_the_first_place_that_has_a_name_wins(
    registry: WorkflowRegistry, root: Path, project: Path, person: Path
) -> None:
    package_machine(registry, "PLANNER")
    written: list[tuple[Source, Path | None]] = [
        ("project", write(project / "PLANNER.workflow")),
        ("user", write(person / "PLANNER.workflow")),
        ("package", None),
    ]
    for source, path in written:
        known = Catalog(registry, root).get("PLANNER")
        assert (known.source, machine_of(known).path) == (source, path)
        assert [k.source for k in Catalog(registry, root).list() if k.definition.name == "PLANNER"] == [
            source
        ]
        if path:
            path.unlink()


@pytest.mark.parametrize("name", ["PLANNER", "./PLANNER.workflow"])
def test_a_copy_of_the_planner_keeps_its_confirmation_and_needs(
    registry: WorkflowRegistry, root: Path, project: Path, tmp_path: Path, name: str
) -> None:
    text = (BUILTIN_MACHINES / "PLANNER.workflow").read_text()
    write(project / "PLANNER.workflow", text)
    write(tmp_path / "PLANNER.workflow", text)
    machine = machine_of(Catalog(registry, root, cwd=tmp_path).get(name))
    assert machine.path != BUILTIN_MACHINES / "PLANNER.workflow"
    assert machine.confirm == {"execution"}
    assert machine.needs == ("prompt",)


def test_a_namesake_of_the_planner_without_its_states_can_be_used(catalog: Catalog, project: Path) -> None:
    write(project / "PLANNER.workflow")
    assert machine_of(catalog.get("PLANNER")).confirm == frozenset()


def test_a_projects_file_that_takes_anothers_place_is_told(
    registry: WorkflowRegistry, root: Path, project: Path, person: Path
) -> None:
    package_machine(registry, "sonnet")
    for name in ("PLANNER", "essay", "sonnet", "letter"):
        write(project / f"{name}.workflow")
    write(person / "essay.workflow")
    known = Catalog(registry, root)
    expected = {
        name: f"this project's own {name} is used: {project / name}.workflow"
        for name in ("PLANNER", "essay", "sonnet")
    }
    assert sorted(known.notices) == sorted(expected.values())
    for name, notice in expected.items():
        assert known.notices_of(name) == [notice]
    assert known.notices_of("letter") == []


def test_a_run_is_told_of_its_own_file_and_of_directories(
    catalog: Catalog, project: Path, person: Path, loads: list[str]
) -> None:
    write(project / "ask.workflow")
    write(project / "broken.workflow", BROKEN)
    person.parent.mkdir(parents=True)
    person.symlink_to(person)
    (about_ask, about_directory) = catalog.notices_of("ask")
    assert about_ask.startswith(f"{project / 'ask.workflow'} was not used")
    assert catalog.notices_of("PLANNER") == [about_directory]
    assert about_directory == f"{person} cannot be read: Too many levels of symbolic links"
    assert loads == []


def test_a_workflow_comes_before_a_file_of_its_name_and_any_other_file_after_all(
    registry: WorkflowRegistry, tmp_path: Path
) -> None:
    write(tmp_path / "PLANNER")
    own = write(tmp_path / "essay")
    known = Catalog(registry, None, cwd=tmp_path)
    assert known.get("PLANNER").source == "builtin"
    assert known.file_of("PLANNER") == BUILTIN_MACHINES / "PLANNER.workflow"
    assert machine_of(known.get("essay")).path == known.file_of("essay") == own
    assert known.file_of("ask") is None
    with pytest.raises(UnknownWorkflow):
        known.get("x" * 5000)
    with pytest.raises(InvalidDefinition):
        known.get("~nobody-of-this-name/essay.workflow")


def test_workflows_are_listed_by_name_with_where_they_come_from(
    registry: WorkflowRegistry, root: Path, project: Path, person: Path
) -> None:
    write(project / "essay.workflow", TEXT.format("Write an essay"))
    write(person / "letter.workflow")
    registry.register(WorkflowDefinition.chain("mine", ["a"]), {"a": query}, source="editor")
    listed = Catalog(registry, root).list()
    assert [(k.definition.name, k.source, k.kind) for k in listed] == [
        ("PLANNER", "builtin", "machine"),
        ("ask", "builtin", "graph"),
        ("essay", "project", "machine"),
        ("letter", "user", "machine"),
        ("mine", "editor", "graph"),
    ]
    assert listed[2].definition.description == "Write an essay"
    assert listed[2].definition.step_names == ("draft", "polish")
    assert listed[4].definition.step_names == ("a",)


def test_what_is_registered_later_is_there(registry: WorkflowRegistry) -> None:
    known = Catalog(registry, None)
    registry.register(WorkflowDefinition.chain("mine", ["a"]), {"a": query}, source="editor")
    assert known.get("mine") is registry.get("mine")


def test_an_unknown_name_is_told_with_the_nearest_of_all(catalog: Catalog, project: Path) -> None:
    write(project / "essay.workflow")
    with pytest.raises(
        UnknownWorkflow, match=r"'esay'; did you mean 'essay'\? \(known: PLANNER, ask, essay\)"
    ):
        catalog.get("esay")


@pytest.mark.parametrize("source", ["builtin", "package", "editor"])
def test_no_file_takes_the_place_of_a_graph(
    registry: WorkflowRegistry, root: Path, project: Path, person: Path, source: Source
) -> None:
    registry.register(WorkflowDefinition.chain("mine", ["a"]), {"a": query}, source=source)
    paths = [write(project / "mine.workflow"), write(person / "mine.workflow")]
    known = Catalog(registry, root)
    assert known.get("mine") is registry.get("mine")
    assert registry.get("mine") in known.list()
    assert known.notices == [
        f"{path} was not used: 'mine' is a workflow already ({source}); rename the file" for path in paths
    ]
    with pytest.raises(InvalidDefinition, match="rename the file"):
        known.get(str(paths[0]))


def test_a_file_with_a_reserved_name_is_a_notice(catalog: Catalog, project: Path) -> None:
    path = write(project / "cancel.workflow")
    assert catalog.notices == [f"{path}: 'cancel' is a subcommand of :Workflow; rename the file"]
    with pytest.raises(InvalidDefinition, match="'cancel' is a subcommand of :Workflow; rename the file"):
        catalog.get("cancel")


@pytest.mark.parametrize("name", ["esay.workflow", "./esay.workflow", "./review.workflow"])
def test_a_path_that_leads_nowhere_is_told_before_its_name_is_looked_at(
    registry: WorkflowRegistry, tmp_path: Path, name: str
) -> None:
    write(tmp_path / "essay.workflow")
    with pytest.raises(InvalidDefinition, match="cannot be read: No such file or directory") as caught:
        Catalog(registry, None, cwd=tmp_path).get(name)
    assert str(caught.value).endswith("did you mean 'essay.workflow'?") == ("esay" in name)


def test_the_notices_of_packages_are_passed_on(registry: WorkflowRegistry) -> None:
    registry.notices.append("a package failed")
    assert Catalog(registry, None).notices == ["a package failed"]


# files with mistakes


def test_a_file_with_mistakes_is_a_notice_with_the_first_and_how_many_more(
    catalog: Catalog, project: Path
) -> None:
    path = write(project / "essay.workflow", BROKEN)
    first, *others = parse(BROKEN).errors
    (notice,) = catalog.notices
    assert notice.startswith(f"{path}:2:{first.position.column}: error: {first.message}")
    assert notice.endswith(f"(and {len(others)} more)")
    assert others
    assert "essay" not in [k.definition.name for k in catalog.list()]


def test_no_namesake_takes_the_place_of_a_file_with_mistakes(
    registry: WorkflowRegistry, root: Path, project: Path
) -> None:
    package_machine(registry, "essay")
    for name in ("essay", "PLANNER"):
        write(project / f"{name}.workflow", BROKEN)
    known = Catalog(registry, root)
    assert [k.definition.name for k in known.list()] == ["ask"]
    for name in ("essay", "PLANNER"):
        with pytest.raises(InvalidWorkflowFile):
            known.get(name)


def test_a_file_that_cannot_be_read_is_a_notice_and_an_error(catalog: Catalog, project: Path) -> None:
    (project / "gone.workflow").symlink_to(project / "nowhere")
    (project / "folder.workflow").mkdir()
    assert catalog.notices == [
        f"{project / 'gone.workflow'} was not used: it is a link; put the file itself there",
        f"{project / 'folder.workflow'} was not used: it is not a regular file",
    ]
    with pytest.raises(InvalidDefinition, match="was not used"):
        catalog.get("gone")


# paths


@pytest.mark.parametrize("name", ["essay.workflow", "./PLANNER", "deep/essay.workflow"])
def test_a_relative_path_begins_where_the_caller_is(
    registry: WorkflowRegistry, tmp_path: Path, name: str
) -> None:
    path = write(tmp_path / "here" / name)
    known = Catalog(registry, None, cwd=tmp_path / "here").get(name)
    assert (known.source, machine_of(known).path) == ("file", path)
    assert known.definition.name == path.stem


def test_relative_paths_begin_in_the_process_directory_by_default(
    registry: WorkflowRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "essay.workflow")
    monkeypatch.chdir(tmp_path)
    assert Catalog(registry, None).get("essay.workflow").definition.name == "essay"


def test_an_absolute_path_stays_what_it_is(registry: WorkflowRegistry, tmp_path: Path) -> None:
    path = write(tmp_path / "essay.workflow")
    known = Catalog(registry, None, cwd=tmp_path / "elsewhere").get(str(path))
    assert machine_of(known).path == path


# reading again


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("essay.workflow", text) for text in (TEXT, BROKEN)),
        *(("essay.yaml", text) for text in (definition_texts.TEXT, definition_texts.BROKEN)),
    ],
)
def test_a_file_that_did_not_change_is_parsed_once(
    catalog: Catalog, project: Path, loads: list[str], name: str, text: str
) -> None:
    write(project / name, text)
    for _ in range(3):
        catalog.list()
        assert len(catalog.notices) == (text in (BROKEN, definition_texts.BROKEN))
    assert sorted(loads) == ["PLANNER.workflow", name]


@pytest.mark.usefixtures("settled")
def test_a_file_at_a_path_is_parsed_once(
    registry: WorkflowRegistry, tmp_path: Path, loads: list[str]
) -> None:
    path = write(tmp_path / "essay.workflow")
    known = Catalog(registry, None)
    known.get(str(path))
    known.get(str(path), obfuscate=True)
    assert loads == ["essay.workflow"]


@pytest.mark.usefixtures("settled")
def test_a_changed_file_is_read_again(catalog: Catalog, project: Path) -> None:
    path = write(project / "essay.workflow")
    assert catalog.get("essay").definition.step_names == ("draft", "polish")
    write(path, "* to other\nother to *\n")
    assert catalog.get("essay").definition.step_names == ("other",)
    path.unlink()
    with pytest.raises(UnknownWorkflow):
        catalog.get("essay")


def test_a_file_that_changes_within_its_times_grain_is_read_again(
    catalog: Catalog, project: Path, loads: list[str]
) -> None:
    write(project / "essay.workflow")
    catalog.get("essay")
    catalog.get("essay")
    assert loads == ["essay.workflow"] * 2


@pytest.mark.usefixtures("settled")
def test_getting_one_workflow_parses_no_other(catalog: Catalog, project: Path, loads: list[str]) -> None:
    write(project / "essay.workflow")
    write(project / "letter.workflow")
    catalog.get("ask")
    assert loads == []
    catalog.get("letter")
    assert loads == ["letter.workflow"]


# obfuscation


def test_an_obfuscated_machine_has_tokens_made_with_the_projects_key(
    registry: WorkflowRegistry, root: Path, project: Path
) -> None:
    write(project / "essay.workflow")
    known = Catalog(registry, root)
    hidden = machine_of(known.get("essay", obfuscate=True))
    assert hidden.obfuscator is not None
    assert hidden.step_names == tuple(map(hidden.obfuscator.token, ("draft", "polish")))
    assert (project_state(root) / "keys/workflow.key").read_bytes() == workflow_key(project_state(root))
    assert machine_of(Catalog(registry, root).get("essay", obfuscate=True)).step_names == hidden.step_names
    assert known.get("essay").definition.step_names == ("draft", "polish")


def test_another_project_gives_other_tokens(registry: WorkflowRegistry, root: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "other"
    elsewhere.mkdir()
    one, two = (
        machine_of(Catalog(registry, place).get("PLANNER", obfuscate=True)) for place in (root, elsewhere)
    )
    assert not set(one.step_names) & set(two.step_names)
    assert one.obfuscator is not None
    assert one.confirm == {one.obfuscator.token("execution")}


def test_a_machine_without_a_project_has_the_persons_key(registry: WorkflowRegistry, tmp_path: Path) -> None:
    package_machine(registry, "essay")
    by_catalog = Catalog(registry, None).get("essay", obfuscate=True)
    assert (tmp_path / "state/tideate/keys/workflow.key").is_file()
    assert registry.get("essay", obfuscate=True).definition.step_names == by_catalog.definition.step_names


def test_a_graph_has_no_states_to_hide(registry: WorkflowRegistry, root: Path) -> None:
    for known in (Catalog(registry, root), registry):
        with pytest.raises(InvalidInput, match="'ask' has steps and no states"):
            known.get("ask", obfuscate=True)
    assert not (project_state(root) / "keys").exists()


def test_a_machine_has_no_handlers(registry: WorkflowRegistry) -> None:
    machine = MachineWorkflow("essay", parse(TEXT, "essay").require("essay"))
    with pytest.raises(InvalidDefinition, match="handlers for steps it does not list: draft"):
        registry.register(machine, {"draft": query})
