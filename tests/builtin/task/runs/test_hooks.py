"""What a program that embeds the orchestrator is told, in which order."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from tests.support.tally import TASK
from tests.support.tasks import plan
from tideate_core.adapters import AdapterPool
from tideate_core.app import build_catalog, open_project
from tideate_core.engine import OrchestratorDependencies, WorkflowHooks, WorkflowOrchestrator
from tideate_core.store import Store
from tideate_core.workflows import PromptLibrary

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.builtin.task.runs.desk import Desk
    from tideate_core.engine import Event

STAGES = ("planning", "auditing", "executing", "documenting", "verifying")


def check_events(lines: list[tuple[str, str]]) -> WorkflowHooks:
    def hook(name: str, key: str) -> Callable[[Event], None]:
        def tell(event: Event) -> None:
            lines.append((name, str(event.data.get(key, ""))))

        return tell

    return WorkflowHooks(
        on_stage_start=hook("start", "step"),
        on_stage_complete=hook("complete", "step"),
        on_gate_pass=hook("pass", "gate"),
        on_gate_fail=hook("fail", "gate"),
        on_error=hook("error", ""),
    )


@pytest.mark.slow
async def test_stages_and_gates_are_told_in_their_order(desk: Desk) -> None:
    lines: list[tuple[str, str]] = []
    orchestrator = WorkflowOrchestrator(desk.runner())
    orchestrator.set_hooks(check_events(lines))
    result = await orchestrator.execute_task(TASK)
    assert (result.ok, result.rollback_performed, result.attempts) == (True, False, 0), result.error
    assert (result.task, result.as_json()["task"]) == (TASK, TASK)
    gates = [line for line in lines if line[0] in ("pass", "fail")]
    assert gates == [
        ("pass", gate) for gate in ("plan", "audit", "execution", "documentation", "verification")
    ]
    stages = [line for line in lines if line[1] in STAGES and line[0] in ("start", "complete")]
    assert stages == [(what, stage) for stage in STAGES for what in ("start", "complete")]
    assert lines.index(("complete", "planning")) < lines.index(("pass", "plan"))
    assert lines.index(("pass", "plan")) < lines.index(("start", "auditing"))


@pytest.mark.slow
async def test_a_gate_that_fails_and_the_error_are_told(desk: Desk) -> None:
    lines: list[tuple[str, str]] = []
    desk.model.says("planner", plan(rollback_strategy=""))
    orchestrator = WorkflowOrchestrator(desk.runner())
    orchestrator.set_hooks(check_events(lines))
    result = await orchestrator.execute_task(TASK)
    assert (result.ok, result.rollback_performed) == (False, True)
    assert lines[-2:] == [("fail", "plan"), ("error", "")]
    assert ("start", "auditing") not in lines


@pytest.mark.slow
async def test_a_hook_that_raises_is_logged_and_breaks_nothing(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: Event) -> None:
        raise RuntimeError("not mine")

    orchestrator = WorkflowOrchestrator(desk.runner())
    orchestrator.set_hooks(WorkflowHooks(on_stage_start=broken, on_gate_pass=broken))
    with caplog.at_level(logging.ERROR):
        result = await orchestrator.execute_task(TASK)
    assert result.ok, result.error
    assert "on_gate_pass" in caplog.text


@pytest.mark.slow
async def test_an_orchestrator_makes_its_runner_of_its_dependencies(desk: Desk) -> None:
    project = open_project(str(desk.root))
    dependencies = OrchestratorDependencies(
        build_catalog(desk.root),
        AdapterPool(project.loaded.config),
        project.loaded.config,
        desk.front,
        lambda _request: project.workspace,
        PromptLibrary(),
        lambda: Store.open(desk.site.private),
    )
    orchestrator = WorkflowOrchestrator(dependencies)
    try:
        result = await orchestrator.execute_task(TASK)
    finally:
        await orchestrator.runner.aclose()
        await dependencies.adapters.aclose()
    assert (result.ok, result.task) == (True, TASK), result.error
