"""The task is listed, shown, stored and resumed like any other machine."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.harness.bare_run import bare_run
from tests.harness.front import Front, no
from tests.harness.tally import DONE
from tideate_core.app.wiring import build_catalog
from tideate_core.builtin.task.definition import task_definition
from tideate_core.builtin.task.driver import HANDLERS, TaskDriver
from tideate_core.engine import RunRequest
from tideate_core.engine.begin import restore_workflow
from tideate_core.engine.driver import driver_hooks
from tideate_core.engine.drivers import driver_for
from tideate_core.engine.drivers.machine import MachineDriver
from tideate_core.engine.past import definition_for, stored_definition
from tideate_core.errors import DefinitionChanged, InvalidInput
from tideate_core.machines import TASK_TABLE, WorkflowEvent, WorkflowState
from tideate_core.machines.language import parse, write_definition

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from tests.builtin.task.runs.desk import Desk
    from tideate_core.engine.driver import Driver
    from tideate_core.workflows import Registration

OWN = "# my own\n* to look: Look around.\nlook to *\n"


def driver_of(registration: Registration, **inputs: Any) -> Driver:
    run = bare_run(RunRequest(name="task", prompt="x", inputs=inputs), registry=build_catalog(None))
    restore_workflow(run, registration)
    return driver_for(run)


def test_the_machine_has_the_states_and_ways_of_the_table() -> None:
    machine = task_definition().machine
    assert list(machine.states) == [state.value for state in WorkflowState]
    ways = {(way.source, way.when, way.target) for way in machine.transitions if way.when}
    table = {
        (source.value, event.value, str(target))
        for source, row in TASK_TABLE.items()
        for event, target in row.items()
        if event is not WorkflowEvent.RESET
    }
    assert ways == table


def test_the_stored_text_gives_the_machine_back() -> None:
    text = write_definition(task_definition().machine)
    assert write_definition(parse(text, "task").require("task")) == text


def test_every_state_but_the_ends_has_a_handler() -> None:
    assert set(WorkflowState) - set(HANDLERS) == {WorkflowState.COMPLETE, WorkflowState.FAILED}


@pytest.mark.slow
def test_listing_workflows_makes_no_machine() -> None:
    code = (
        "import sys\n"
        "from tideate_core.builtin import register_builtin\n"
        "from tideate_core.workflows import WorkflowRegistry\n"
        "registry = WorkflowRegistry(); register_builtin(registry)\n"
        "assert registry.get('task').definition.description\n"
        "print([name for name in sys.modules if name.startswith(('tideate_core.machines.language',\n"
        "    'tideate_core.builtin.task.driver', 'tideate_core.agents', 'tideate_core.gates'))])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_built_in_task_has_its_own_driver() -> None:
    found = build_catalog(None).get("task")
    assert driver_hooks(found.definition.name, found.kind, found.source).is_reversible
    assert isinstance(driver_of(found), TaskDriver)


@pytest.fixture
def own(tmp_path: Path) -> Registration:
    workflows = tmp_path / ".tideate" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "task.workflow").write_text(OWN)
    return build_catalog(tmp_path).get("task")


def test_a_projects_own_task_is_a_machine_like_any_other(own: Registration) -> None:
    assert own.source == "project"
    assert isinstance(driver_of(own), MachineDriver)


def test_the_states_of_a_task_cannot_be_hidden() -> None:
    hidden = build_catalog(None).get("task", obfuscate=True)
    with pytest.raises(InvalidInput, match="--obfuscate"):
        driver_of(hidden)


def test_a_state_to_confirm_has_to_be_one() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'planning'"):
        driver_of(build_catalog(None).get("task"), confirm="planing")


async def test_a_begun_task_stays_one_where_a_projects_file_takes_its_name(
    own: Registration, tmp_path: Path
) -> None:
    stored = stored_definition(build_catalog(None).get("task"))
    front = Front()
    found = await definition_for("0" * 32, stored, build_catalog(tmp_path), front=front)
    assert own.definition.name == "task"
    assert isinstance(driver_of(found), TaskDriver)
    assert len(front.requests) == 1


async def test_a_begun_machine_never_becomes_the_task_when_its_file_is_gone(own: Registration) -> None:
    stored = stored_definition(own)
    front = Front()
    found = await definition_for("0" * 32, stored, build_catalog(None), front=front)
    assert isinstance(driver_of(found), MachineDriver)
    with pytest.raises(DefinitionChanged):
        await definition_for("0" * 32, stored, build_catalog(None), front=Front(no))


async def test_a_file_with_the_very_text_of_the_task_is_not_the_task(tmp_path: Path) -> None:
    workflows = tmp_path / ".tideate" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "task.workflow").write_text(write_definition(task_definition().machine))
    stored = stored_definition(build_catalog(None).get("task"))
    front = Front()
    found = await definition_for("0" * 32, stored, build_catalog(tmp_path), front=front)
    assert isinstance(driver_of(found), TaskDriver)


@pytest.mark.slow
async def test_a_person_may_be_asked_before_a_state(desk: Desk) -> None:
    result = await desk.run(inputs={"confirm": "auditing"})
    assert (result.ok, desk.changed()) == (True, DONE), result.error
    assert desk.kinds() == ["gate", "document", "review", "review"]
