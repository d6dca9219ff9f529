"""Cancelling a task at any point restores the project."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.builtin.task.runs.test_correcting import wrong
from tests.harness.front import LIMIT
from tests.harness.tally import TASK
from tideate_core.engine import EventName, RunRequest

if TYPE_CHECKING:
    from tests.builtin.task.runs.desk import Desk
    from tideate_core.engine import WorkflowResult, WorkflowRunner

pytestmark = pytest.mark.concurrency

STAGES = {
    "planning": "planner",
    "auditing": "auditor",
    "executing": "executor",
    "documenting": "documenter",
    "self_correcting": "corrector",
}


def begin(desk: Desk, runner: WorkflowRunner) -> asyncio.Task[WorkflowResult]:
    return asyncio.create_task(runner.run(RunRequest(name="task", prompt=TASK)))


async def ended(desk: Desk, running: asyncio.Task[WorkflowResult]) -> None:
    """Check that the task ended as cancelled and left nothing."""
    result = await asyncio.wait_for(running, LIMIT)
    assert (result.ok, result.cancelled, result.reason) == (False, True, "cancelled")
    assert result.rollback_performed is True
    assert (desk.changed(), await desk.since_snapshot()) == ({}, [])
    assert desk.front.names()[-1] == "WORKFLOW_CANCELLED"
    assert len(desk.front.data(EventName.ROLLED_BACK)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
async def test_while_a_model_answers(desk: Desk, stage: str) -> None:
    wrong(desk)
    gate, runner = desk.model.holds(STAGES[stage]), desk.runner()
    running = begin(desk, runner)
    await asyncio.to_thread(gate.wait_started)
    assert desk.steps()[-1] == stage
    runner.cancel()
    await ended(desk, running)
    await asyncio.to_thread(gate.wait_disconnected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "asked"),
    [("awaiting_audit_gate", 1), ("awaiting_execution_gate", 2), ("awaiting_documentation_gate", 3)],
)
async def test_while_a_person_is_asked(desk: Desk, step: str, asked: int) -> None:
    desk.when("STEP_STARTED", step, lambda: setattr(desk.front, "hold", True))
    runner = desk.runner()
    running = begin(desk, runner)
    await desk.front.until(lambda: len(desk.front.requests) == asked)
    assert desk.steps()[-1] == step
    runner.cancel()
    await ended(desk, running)
    assert desk.front.withdrawn == 1


@pytest.mark.slow
async def test_while_a_check_runs(desk: Desk) -> None:
    runner = desk.runner()
    desk.when("CHECK_STARTED", "verifying", runner.cancel)
    await ended(desk, begin(desk, runner))
    assert desk.front.data(EventName.CHECK_ENDED) == []


@pytest.mark.slow
@pytest.mark.parametrize("step", ["idle", "awaiting_plan_gate", "verifying"])
async def test_when_a_step_begins(desk: Desk, step: str) -> None:
    runner = desk.runner()
    desk.when("STEP_STARTED", step, runner.cancel)
    result = await asyncio.wait_for(begin(desk, runner), LIMIT)
    assert (result.cancelled, desk.changed()) == (True, {})


@pytest.mark.slow
async def test_while_it_is_taken_back_it_is_taken_back(desk: Desk) -> None:
    wrong(desk)
    desk.model.says("corrector", "I cannot.")
    runner = desk.runner()
    desk.when("STEP_COMPLETED", "self_correcting", runner.cancel)
    result = await asyncio.wait_for(begin(desk, runner), LIMIT)
    assert (result.ok, result.rollback_performed) == (False, True)
    assert (desk.changed(), await desk.since_snapshot()) == ({}, [])
