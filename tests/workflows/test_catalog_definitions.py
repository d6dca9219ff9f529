"""YAML and JSON definitions in the catalog: precedence, names, handlers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.workflows.definition_texts import BROKEN, MACHINE, TEXT, query, write
from tideate_core.errors import InvalidDefinition, InvalidDefinitionFile
from tideate_core.workflows import Catalog, StepContext, WorkflowDefinition, WorkflowRegistry

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.workflows.registration import Source


async def other(_step: StepContext) -> str:
    return "other"


def package_graph(registry: WorkflowRegistry, name: str, source: Source = "package") -> None:
    registry.register(WorkflowDefinition.chain(name, ["a"]), {"a": other}, source=source)


@pytest.mark.parametrize("suffix", [".yaml", ".yml", ".json"])
def test_a_definition_is_a_graph_with_its_text_and_path(catalog: Catalog, project: Path, suffix: str) -> None:
    text = json.dumps({"steps": [{"id": "draft", "task": "Write."}]}) if suffix == ".json" else TEXT
    path = write(project / f"essay{suffix}", text)
    known = catalog.get("essay")
    assert (known.kind, known.source, known.path, known.text) == ("graph", "project", path, text)
    assert known.definition.name == "essay"
    assert known.definition.step_names == ("draft",)
    assert catalog.file_of("essay") == path


def test_the_first_place_that_has_a_name_wins(
    registry: WorkflowRegistry, catalog: Catalog, project: Path, person: Path
) -> None:
    package_graph(registry, "essay")
    written: list[tuple[Source, Path | None]] = [
        ("project", write(project / "essay.yaml")),
        ("user", write(person / "essay.json", '{"steps": [{"id": "draft", "task": "Write."}]}')),
        ("package", None),
    ]
    for source, path in written:
        known = catalog.get("essay")
        assert (known.source, known.path) == (source, path)
        assert [one.source for one in catalog.list() if one.definition.name == "essay"] == [source]
        if path:
            path.unlink()


@pytest.mark.parametrize("source", ["builtin", "editor"])
def test_no_definition_takes_the_place_of_a_graph_that_people_know(
    registry: WorkflowRegistry, catalog: Catalog, project: Path, source: Source
) -> None:
    package_graph(registry, "mine", source)
    path = write(project / "mine.yaml")
    assert catalog.get("mine") is registry.get("mine")
    assert catalog.notices == [
        f"{path} was not used: 'mine' is a workflow already ({source}); rename the file"
    ]
    with pytest.raises(InvalidDefinition, match="rename the file"):
        catalog.get(str(path))


def test_of_two_files_of_one_name_in_a_directory_the_second_is_told(catalog: Catalog, project: Path) -> None:
    for name in ("essay.json", "essay.yml", "essay.yaml"):
        write(project / name)
    machine = write(project / "essay.workflow", MACHINE)
    assert catalog.file_of("essay") == machine
    told = [
        f"{project / name} was not used: essay.workflow has the same name; rename one of them"
        for name in ("essay.yaml", "essay.yml", "essay.json")
    ]
    assert catalog.notices == told
    assert catalog.notices_of("essay") == told


@pytest.mark.parametrize("name", ["essay.yaml", "./essay.yml", "deep/essay.json"])
def test_a_path_is_a_workflow_too(registry: WorkflowRegistry, tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "here" / name, '{"steps": [{"id": "draft", "task": "Write."}]}')
    known = Catalog(registry, None, cwd=tmp_path / "here").get(name)
    assert (known.source, known.path, known.definition.name) == ("file", path, "essay")


def test_other_files_beside_are_no_workflows(catalog: Catalog, project: Path) -> None:
    for name in (".essay.yaml", "essay.yaml~", "notes.md", "essay.toml"):
        write(project / name)
    assert catalog.names() == ("PLANNER", "ask")
    assert catalog.notices == []


def test_all_mistakes_are_raised_and_the_first_is_a_notice(catalog: Catalog, project: Path) -> None:
    path = write(project / "essay.yaml", BROKEN)
    for _ in range(2):
        with pytest.raises(InvalidDefinitionFile) as caught:
            catalog.get("essay")
        assert len(caught.value.mistakes) == 3
        assert f"{path}:3:" in str(caught.value)
    (notice,) = catalog.notices
    assert notice.startswith(f"{path}:2:")
    assert notice.endswith("(and 2 more)")
    assert "essay" not in [known.definition.name for known in catalog.list()]


def test_a_nested_workflow_has_to_be_known(catalog: Catalog, project: Path) -> None:
    write(project / "all.yaml", "steps:\n  - {id: one, workflow: essy}\n")
    write(project / "essay.yaml")
    with pytest.raises(InvalidDefinitionFile, match="no workflow is called 'essy'; did you mean 'essay'"):
        catalog.get("all")


def test_a_step_that_is_a_machine_has_to_name_one(catalog: Catalog, project: Path) -> None:
    write(project / "all.yaml", "steps:\n  - {id: one, machine: walk}\n  - {id: two, machine: essay}\n")
    write(project / "essay.yaml")
    with pytest.raises(InvalidDefinitionFile) as caught:
        catalog.get("all")
    assert "no machine is called 'walk'" in str(caught.value)
    assert "'essay' has steps and is not a machine" in str(caught.value)
    write(project / "walk.workflow", MACHINE)
    write(project / "all.yaml", "steps:\n  - {id: one, machine: walk}\n  - {id: two, machine: PLANNER}\n")
    assert catalog.get("all").definition.step_names == ("one", "two")


def test_steps_have_the_handlers_that_they_name(
    registry: WorkflowRegistry, catalog: Catalog, person: Path
) -> None:
    registry.register_handler("shout", other)
    steps = "steps:\n  - {id: a, handler: ask.query}\n  - {id: b, handler: shout}\n  - {id: shout}\n"
    write(person / "essay.yaml", steps)
    assert catalog.get("essay").handlers == {"ask.query": query, "shout": other}


def test_a_file_in_a_packages_place_has_the_packages_handlers(
    registry: WorkflowRegistry, catalog: Catalog, person: Path
) -> None:
    package_graph(registry, "greet")
    write(person / "greet.yaml", "steps:\n  - id: a\n  - {id: b, handler: a, dependencies: [a]}\n")
    assert catalog.get("greet").handlers == {"a": other}


def test_an_unknown_handler_is_told_with_the_nearest(catalog: Catalog, project: Path) -> None:
    write(project / "essay.yaml", "steps:\n  - {id: a, handler: ask.qery}\n")
    with pytest.raises(
        InvalidDefinitionFile, match=r"no handler is called 'ask\.qery'; did you mean 'ask\.query'"
    ):
        catalog.get("essay")


def test_a_handlers_name_is_taken_once(registry: WorkflowRegistry) -> None:
    registry.register_handler("shout", other)
    registry.register_handler("shout", other)
    with pytest.raises(InvalidDefinition, match="exists already"):
        registry.register_handler("shout", query)
    with pytest.raises(InvalidDefinition, match="not a name for a handler"):
        registry.register_handler("two words", query)


def test_a_file_is_parsed_again_where_what_it_may_name_is_there_now(catalog: Catalog, project: Path) -> None:
    write(project / "all.yaml", "steps:\n  - {id: one, workflow: essay}\n")
    with pytest.raises(InvalidDefinitionFile):
        catalog.get("all")
    write(project / "essay.yaml")
    assert catalog.get("all").definition.step_names == ("one",)
