"""Tasks as steps of other workflows, roles with their own adapters, pauses."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.harness.front import LIMIT
from tests.harness.tally import DONE, TASK
from tests.harness.tasks import plan
from tideate_core.engine import EventName, RunRequest, Task, WorkflowHooks, WorkflowOrchestrator

if TYPE_CHECKING:
    from tests.builtin.task.runs.desk import Desk
    from tideate_core.engine import Event, WorkflowResult

pytestmark = pytest.mark.slow

OUTER = """\
name: outer
steps:
  - id: change
    workflow: task
"""


async def outer(desk: Desk) -> WorkflowResult:
    workflows = desk.config / "workflows"
    workflows.mkdir()
    (workflows / "outer.yaml").write_text(OUTER)
    return await asyncio.wait_for(desk.runner().run(RunRequest(name="outer", prompt=TASK)), LIMIT)


async def test_a_task_is_a_step_of_another_workflow(desk: Desk) -> None:
    result = await outer(desk)
    assert (result.ok, result.rollback_performed) == (True, None), result.error
    assert desk.changed() == DONE
    assert sorted(result.files) == sorted(DONE)


async def test_a_task_that_fails_within_is_taken_back_and_fails_the_step(desk: Desk) -> None:
    desk.model.says("planner", plan(rollback_strategy=""))
    result = await outer(desk)
    assert (result.ok, result.cancelled, result.files) == (False, False, [])
    assert "rollback strategy" in str(result.error)
    assert desk.changed() == {}
    assert len(desk.front.data(EventName.ROLLED_BACK)) == 1


async def test_a_role_with_an_unknown_adapter_fails_the_task(desk: Desk) -> None:
    agents = desk.config / "agents"
    agents.mkdir()
    (agents / "auditor.md").write_text("---\nadapter: nobody\n---\n")
    result = await desk.run()
    assert (result.ok, result.rollback_performed) == (False, True)
    assert "nobody" in str(result.error)


async def test_a_paused_task_waits_before_its_next_step(desk: Desk) -> None:
    runner = desk.runner()
    request = RunRequest(name="task", prompt=TASK)
    desk.when("STEP_STARTED", "auditing", lambda: runner.pause(request.execution_id))
    running = asyncio.create_task(runner.run(request))
    await desk.front.until_told("WORKFLOW_PAUSED")
    assert desk.steps()[-1] == "auditing"
    runner.resume(request.execution_id)
    result = await asyncio.wait_for(running, LIMIT)
    assert (result.ok, desk.changed()) == (True, DONE), result.error


async def test_a_checkpoint_can_be_made_of_a_task(desk: Desk) -> None:
    runner = desk.runner()
    made: list[asyncio.Task[object]] = []
    request = RunRequest(name="task", prompt=TASK)

    def make() -> None:
        made.append(asyncio.ensure_future(runner.persist_checkpoint(request.execution_id)))

    desk.when("STEP_STARTED", "executing", make)
    result = await asyncio.wait_for(runner.run(request), LIMIT)
    assert result.ok, result.error
    await asyncio.gather(*made)
    assert any(data["manual"] for data in desk.front.data(EventName.CHECKPOINT_CREATED))


async def test_the_orchestrators_task_may_ask_nobody(desk: Desk) -> None:
    ends: list[str] = []

    def ended(event: Event) -> None:
        ends.append(event.name.value)

    orchestrator = WorkflowOrchestrator(desk.runner())
    orchestrator.set_hooks(WorkflowHooks(on_workflow_end=ended))
    result = await orchestrator.execute_task(Task(TASK, require_confirmation=False))
    assert (result.ok, desk.kinds(), desk.changed()) == (True, [], DONE), result.error
    assert ends == ["SD_EVENT_WORKFLOW_COMPLETED"]
