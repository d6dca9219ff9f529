"""The order of a graph's steps, and the run of one step alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.engine import EventName, RunRequest
from tideate_core.workflows import WorkflowDefinition

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.workflows import StepContext


async def test_only_a_wanted_step_and_those_it_depends_on_run(bench: Bench) -> None:
    ran: list[str] = []

    async def run(step: StepContext) -> str:
        ran.append(step.step)
        return step.step

    steps = [
        {"id": "a"},
        {"id": "b", "dependencies": ["a"]},
        {"id": "c", "dependencies": ["b"]},
        {"id": "d"},
    ]
    definition = WorkflowDefinition.model_validate({"name": "flow", "steps": steps})
    bench.registry.register(definition, dict.fromkeys("abcd", run))
    result = await bench.runner.run_step(RunRequest(name="flow"), "b")
    assert (result.ok, result.response, result.results) == (True, "b", {"a": "a", "b": "b"})
    assert ran == ["a", "b"]
    skipped = {one["step"]: one["reason"] for one in bench.front.data(EventName.STEP_SKIPPED)}
    assert skipped == dict.fromkeys("cd", "it is not needed for the step 'b'")


async def test_a_wanted_step_has_to_exist_and_a_machine_has_none(bench: Bench) -> None:
    unknown = await bench.runner.run_step(RunRequest(name="ask", prompt="why"), "qery")
    assert "ask has no step 'qery'; did you mean 'query'" in str(unknown.error)
    bench.machine("* to a\na to *\n")
    states = await bench.runner.run_step(RunRequest(name="walk", prompt="go"), "a")
    assert "walk has states, and no step can be run alone" in str(states.error)
