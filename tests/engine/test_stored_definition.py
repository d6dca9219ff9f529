"""A run's own definition where its file was changed: it has its handlers, and runs only if it was trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.logbook import RUN
from tests.harness.front import Front, in_order
from tests.harness.project import use_home
from tests.harness.state import trust_file
from tideate_core.engine.past import definition_for, stored_definition
from tideate_core.errors import DefinitionChanged
from tideate_core.project import Trust
from tideate_core.workflows import (
    Catalog,
    Registration,
    WorkflowDefinition,
    WorkflowRegistry,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.store.records import Definition

CODE = "steps:\n  - {id: a, handler: lint.check}\n"
TOOL = "steps:\n  - {id: a, tool: {server: git, name: status}}\n"
NESTED = "steps:\n  - {id: a, workflow: lint}\n"
PROMPT = "steps:\n  - {id: a, task: Write.}\n"
OTHER = "steps:\n  - {id: b, task: Write.}\n"


async def check(_step: Any) -> str:
    return "checked"


@pytest.fixture(autouse=True)
def _person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(tmp_path, monkeypatch)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A project's definition."""
    directory = tmp_path / "project" / ".tideate" / "workflows"
    directory.mkdir(parents=True)
    return directory / "essay.yaml"


@pytest.fixture
def registry() -> WorkflowRegistry:
    registry = WorkflowRegistry()
    registry.register(WorkflowDefinition.chain("lint", ["check"]), {"check": check}, source="builtin")
    return registry


@pytest.fixture
def catalog(registry: WorkflowRegistry, path: Path) -> Catalog:
    return Catalog(registry, path.parent.parent.parent)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def begun(catalog: Catalog, path: Path, text: str) -> Definition:
    """Return the stored definition of a run of this trusted text."""
    path.write_text(text)
    trust_file(path)
    return stored_definition(catalog.get("essay"))


def shipped(path: Path, text: str) -> Definition:
    """Return the stored definition of a run of this untrusted text."""
    from tideate_core.workflows.parsing import WorkflowParser

    definition = WorkflowParser().parse(text, format="yaml", name="essay").require()
    return stored_definition(Registration(definition, {}, "project", path))


async def resumed(
    stored: Definition, catalog: Catalog, *answers: bool, **how: Any
) -> tuple[Registration, Front]:
    front = Front(in_order(*answers))
    return await definition_for(RUN, stored, catalog, front=front, **how), front


async def test_a_changed_file_does_not_cost_the_run_its_handlers(catalog: Catalog, path: Path) -> None:
    stored = begun(catalog, path, CODE)
    write(path, OTHER)
    found, front = await resumed(stored, catalog, True)
    assert found.handlers == {"lint.check": check}
    assert len(front.requests) == 1


async def test_a_file_that_is_gone_does_not_cost_them_either(catalog: Catalog, path: Path) -> None:
    stored = begun(catalog, path, CODE)
    path.unlink()  # noqa: ASYNC240 a small file of a test
    found, _ = await resumed(stored, catalog, True)
    assert found.handlers == {"lint.check": check}


async def test_a_handler_that_nobody_registers_now_is_named_before_anything_is_asked(
    catalog: Catalog, path: Path
) -> None:
    stored = begun(catalog, path, CODE)
    write(path, OTHER)
    bare = Catalog(WorkflowRegistry(), path.parent.parent.parent)
    with pytest.raises(DefinitionChanged, match=r"no handler for: lint\.check"):
        await resumed(stored, bare)


@pytest.mark.parametrize("text", [CODE, TOOL, NESTED])
@pytest.mark.parametrize("changed", ["ask", "stored"])
async def test_what_was_never_trusted_does_not_run_whatever_is_answered(
    catalog: Catalog, path: Path, text: str, changed: str
) -> None:
    write(path, text.replace("id: a", "id: b"))
    with pytest.raises(DefinitionChanged, match="not trusted any more, and its step 'a' "):
        await resumed(shipped(path, text), catalog, changed=changed)


@pytest.mark.parametrize("text", [CODE, TOOL, NESTED])
async def test_what_was_trusted_when_the_run_began_may_go_on(catalog: Catalog, path: Path, text: str) -> None:
    stored = begun(catalog, path, text)
    write(path, text + "  - {id: b, tool: {server: sh, name: evil}}\n")
    found, front = await resumed(stored, catalog, True)
    assert found.definition.step_names == ("a",)
    assert "not trusted as it is now" in front.requests[0].message


async def test_it_may_go_on_where_the_changed_file_is_trusted_too(catalog: Catalog, path: Path) -> None:
    stored = begun(catalog, path, TOOL)
    begun(catalog, path, TOOL.replace("status", "log"))
    found, _ = await resumed(stored, catalog, True)
    assert found.definition.step_names == ("a",)


async def test_trust_that_was_taken_back_is_gone_for_the_runs_too(catalog: Catalog, path: Path) -> None:
    stored = begun(catalog, path, TOOL)
    assert Trust(path.parents[2]).revoke(".tideate/workflows/essay.yaml")
    with pytest.raises(DefinitionChanged, match="not trusted"):
        await resumed(stored, catalog, changed="stored")


async def test_the_trust_of_one_file_is_not_that_of_another(catalog: Catalog, path: Path) -> None:
    begun(catalog, path, TOOL)
    write(path, OTHER)
    with pytest.raises(DefinitionChanged, match="not trusted"):
        await resumed(shipped(path.with_name("other.yaml"), TOOL), catalog, changed="stored")


async def test_what_can_only_prompt_a_model_needs_no_trust(catalog: Catalog, path: Path) -> None:
    write(path, OTHER)
    found, _ = await resumed(shipped(path, PROMPT), catalog, True)
    assert found.definition.step_names == ("a",)


async def test_of_a_registered_workflow_only_its_own_handlers_run(
    catalog: Catalog, registry: WorkflowRegistry
) -> None:
    now = registry.get("lint")
    more = WorkflowDefinition.chain("lint", ["check"], description="as it was before")
    found, _ = await resumed(stored_definition(Registration(more, {}, "builtin")), catalog, True)
    assert found.handlers == now.handlers


async def test_the_persons_own_file_may_have_been_changed(
    catalog: Catalog, path: Path, tmp_path: Path
) -> None:
    own = tmp_path / "config" / "tideate" / "workflows" / "mine.yaml"
    write(own, TOOL)
    stored = stored_definition(catalog.get("mine"))
    write(own, OTHER)
    found, _ = await resumed(stored, catalog, True)
    assert found.definition.step_names == ("a",)


async def test_a_definition_that_this_version_cannot_read_is_told(catalog: Catalog, path: Path) -> None:
    from dataclasses import replace

    stored = replace(begun(catalog, path, PROMPT), text='{"name":"essay","steps":[{"id":"a","wings":2}]}')
    with pytest.raises(DefinitionChanged, match="this version cannot read"):
        await resumed(stored, catalog)
