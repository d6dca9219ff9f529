"""Definitions in YAML and JSON among the workflows: names, handlers, what needs trust."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.state import trust_all, trust_file
from tideate_core.errors import InvalidDefinition, InvalidDefinitionFile, InvalidInput, UnknownWorkflow
from tideate_core.workflows import Catalog, StepContext, WorkflowDefinition, WorkflowRegistry, loading
from tideate_core.workflows.loading import load_definition

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.workflows.checking import KnownNames
    from tideate_core.workflows.loading import DefinitionFile
    from tideate_core.workflows.registration import Source

PLAIN = "description: {}\nsteps:\n  - {{id: draft, task: Write.}}\n"
TEXT = PLAIN.format("a file")
CODE = "steps:\n  - {id: draft, handler: ask.query}\n"
TOOL = "steps:\n  - {id: look, tool: {server: git, name: status}}\n"
MACHINE = "* to draft: Write.\ndraft to *\n"
BROKEN = "steps:\n  - {id: draft, tsk: Write.}\n  - {id: end, task: End., dependencies: [draff]}\n"


async def query(_step: StepContext) -> str:
    return "query"


async def other(_step: StepContext) -> str:
    return "other"


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the person's own files are."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
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


def write(path: Path, text: str = TEXT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def package_graph(registry: WorkflowRegistry, name: str, source: Source = "package") -> None:
    registry.register(WorkflowDefinition.chain(name, ["a"]), {"a": other}, source=source)


# who has a name


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


def test_a_projects_definition_that_takes_anothers_place_is_told(
    registry: WorkflowRegistry, catalog: Catalog, project: Path, person: Path
) -> None:
    package_graph(registry, "sonnet")
    for name in ("PLANNER", "essay", "sonnet", "letter"):
        write(project / f"{name}.yaml")
    write(person / "essay.workflow", MACHINE)
    assert sorted(catalog.notices) == [
        f"this project's own {name} is used: {project / name}.yaml" for name in ("PLANNER", "essay", "sonnet")
    ]


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


def test_a_path_to_nothing_is_told_with_the_nearest_file(registry: WorkflowRegistry, tmp_path: Path) -> None:
    write(tmp_path / "essay.yaml")
    with pytest.raises(InvalidDefinition, match=r"No such file or directory; did you mean 'essay\.yaml'\?"):
        Catalog(registry, None, cwd=tmp_path).get("esay.yaml")


def test_other_files_beside_are_no_workflows(catalog: Catalog, project: Path) -> None:
    for name in (".essay.yaml", "essay.yaml~", "notes.md", "essay.toml"):
        write(project / name)
    assert catalog.names() == ("PLANNER", "ask")
    assert catalog.notices == []


def test_a_link_out_of_the_project_is_not_followed(catalog: Catalog, project: Path, tmp_path: Path) -> None:
    (project / "essay.yaml").symlink_to(write(tmp_path / "elsewhere.yaml"))
    with pytest.raises(InvalidDefinition, match="it is a link; put the file itself there"):
        catalog.get("essay")


def test_only_a_machine_can_be_obfuscated(catalog: Catalog, project: Path) -> None:
    write(project / "essay.yaml")
    with pytest.raises(InvalidInput, match="only states can be obfuscated"):
        catalog.get("essay", obfuscate=True)


# files with mistakes


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


def test_a_name_that_is_a_subcommands_is_a_notice(catalog: Catalog, project: Path) -> None:
    path = write(project / "cancel.yaml")
    assert catalog.notices == [f"{path}: 'cancel' is a subcommand of :Workflow; rename the file"]


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
    assert "'essay' has steps and is no machine" in str(caught.value)
    write(project / "walk.workflow", MACHINE)
    write(project / "all.yaml", "steps:\n  - {id: one, machine: walk}\n  - {id: two, machine: PLANNER}\n")
    assert catalog.get("all").definition.step_names == ("one", "two")


# reading again


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


def test_a_changed_file_is_parsed_again(catalog: Catalog, project: Path, loads: list[str]) -> None:
    path = write(project / "essay.yaml")
    assert catalog.get("essay").definition.step_names == ("draft",)
    write(path, "steps:\n  - {id: other, task: Write.}\n")
    assert catalog.get("essay").definition.step_names == ("other",)
    assert loads == ["essay.yaml"] * 2


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


# handlers


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
    with pytest.raises(InvalidDefinition, match="no name for a handler"):
        registry.register_handler("two words", query)


# trust


def test_what_can_only_prompt_a_model_runs_unasked(catalog: Catalog, project: Path) -> None:
    write(project / "careful.workflow", MACHINE)
    write(project / "essay.yaml")
    steps = "steps:\n  - {id: a, task: A}\n  - {id: b, machine: careful}\n  - {id: c, workflow: essay}\n"
    write(project / "all.yaml", steps)
    assert catalog.get("all").source == "project"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (CODE, "its step 'draft' runs the code of the handler 'ask.query'"),
        (TOOL, "its step 'look' calls the tool 'status' of the MCP server 'git'"),
        (
            "steps:\n  - {id: one, workflow: ask}\n",
            "its step 'one' runs the workflow 'ask', and its step 'query'",
        ),
        (
            "steps:\n  - {id: one, workflow: own}\n",
            "its step 'one' runs the workflow 'own', and its step 'look'",
        ),
    ],
)
def test_what_can_do_more_has_to_be_trusted_as_it_is(
    catalog: Catalog, project: Path, person: Path, text: str, reason: str
) -> None:
    write(person / "own.yaml", TOOL)
    path = write(project / "essay.yaml", text)
    with pytest.raises(InvalidDefinition) as caught:
        catalog.get("essay")
    assert reason in str(caught.value)
    assert f"`tideate trust {path}` or `:Workflow trust {path}`" in str(caught.value)
    trust_file(path)
    assert catalog.get("essay").path == path
    write(path, text + "# changed\n")
    with pytest.raises(InvalidDefinition, match="not trusted as it is now"):
        catalog.get("essay")


def test_the_trust_of_a_nested_file_is_that_of_its_own_text(catalog: Catalog, project: Path) -> None:
    outer = write(project / "outer.yaml", "steps:\n  - {id: one, workflow: inner}\n")
    inner = write(project / "inner.yaml", TOOL)
    trust_file(outer)
    assert catalog.get("outer").path == outer
    with pytest.raises(InvalidDefinition, match="not trusted"):
        catalog.get("inner")
    trust_file(inner)
    assert catalog.get("inner").path == inner


def test_workflows_that_name_each_other_can_be_looked_through(catalog: Catalog, project: Path) -> None:
    write(project / "one.yaml", "steps:\n  - {id: a, workflow: two}\n")
    write(project / "two.yaml", "steps:\n  - {id: a, workflow: one}\n")
    assert catalog.get("one").source == "project"


def test_a_namesake_in_another_place_is_looked_through_too(
    catalog: Catalog, project: Path, tmp_path: Path
) -> None:
    far = write(tmp_path / "scratch" / "essay.yaml", TOOL)
    write(project / "essay.yaml", f"steps:\n  - {{id: one, workflow: {far}}}\n")
    with pytest.raises(
        InvalidDefinition, match=r"its step 'one' runs the workflow .* calls the tool 'status'"
    ):
        catalog.get("essay")


def test_the_persons_own_definition_needs_no_trust(
    registry: WorkflowRegistry, catalog: Catalog, person: Path
) -> None:
    path = write(person / "essay.yaml", CODE)
    assert catalog.get("essay").source == "user"
    assert catalog.get(str(path)).source == "file"


def test_a_path_into_a_project_needs_trust_and_one_elsewhere_does_not(
    registry: WorkflowRegistry, root: Path, tmp_path: Path
) -> None:
    path = write(root / "scripts" / "essay.yaml", CODE)
    for known in (Catalog(registry, root), Catalog(registry, None)):
        with pytest.raises(InvalidDefinition, match="not trusted"):
            known.get(str(path))
    assert Catalog(registry, root).get(str(write(tmp_path / "scratch" / "essay.yaml", CODE))).source == "file"


def test_what_is_not_trusted_is_listed_and_shown(catalog: Catalog, project: Path) -> None:
    write(project / "essay.yaml", CODE)
    assert "essay" in [known.definition.name for known in catalog.list()]
    assert catalog.look_at("essay").definition.step_names == ("draft",)


def test_to_trust_the_project_trusts_its_definitions(catalog: Catalog, root: Path, project: Path) -> None:
    written = [
        write(project / f"essay{number}{suffix}", CODE) for number, suffix in enumerate((".yaml", ".yml"))
    ]
    write(project / "machine.workflow", MACHINE)
    assert trust_all(root) == [f".tideate/workflows/{path.name}" for path in written]
    assert catalog.get("essay0").source == catalog.get("essay1").source == "project"


def test_an_unknown_name_is_told_with_those_of_files(catalog: Catalog, project: Path) -> None:
    write(project / "essay.yaml")
    with pytest.raises(UnknownWorkflow, match=r"did you mean 'essay'\? \(known: PLANNER, ask, essay\)"):
        catalog.get("esay")
