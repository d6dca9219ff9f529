"""Trust that definitions need before they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.state import trust_file
from tests.workflows.definition_texts import MACHINE, write
from tideate_core.errors import InvalidDefinition
from tideate_core.workflows import Catalog, WorkflowRegistry

if TYPE_CHECKING:
    from pathlib import Path


CODE = "steps:\n  - {id: draft, handler: ask.query}\n"


TOOL = "steps:\n  - {id: look, tool: {server: git, name: status}}\n"


def test_what_can_only_prompt_a_model_runs_unasked(catalog: Catalog, project: Path) -> None:
    write(project / "careful.workflow", MACHINE)
    write(project / "essay.yaml")
    steps = "steps:\n  - {id: a, task: A}\n  - {id: b, machine: careful}\n  - {id: c, workflow: essay}\n"
    write(project / "all.yaml", steps)
    assert catalog.get("all").source == "project"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (CODE, "its step 'draft' would run the code of the handler 'ask.query'"),
        (TOOL, "its step 'look' would call the tool 'status' of the MCP server 'git'"),
        (
            "steps:\n  - {id: one, workflow: ask}\n",
            "its step 'one' would run the workflow 'ask', and its step 'query'",
        ),
        (
            "steps:\n  - {id: one, task: look, tools: [read_file]}\n",
            "its step 'one' would let its model use the tools read_file",
        ),
        (
            "steps:\n  - {id: one, workflow: own}\n",
            "its step 'one' would run the workflow 'own', and its step 'look'",
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
        InvalidDefinition, match=r"its step 'one' would run the workflow .* call the tool 'status'"
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
