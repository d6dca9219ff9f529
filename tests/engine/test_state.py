from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tideate_core import workflows
from tideate_core.engine import EventName, RunRequest
from tideate_core.engine.context.context import StateManager, about, render_value
from tideate_core.engine.driver import Settled
from tideate_core.errors import InvalidDefinition, InvalidInput
from tideate_core.workflows import BufferContext, RunContext, Selection, WorkflowDefinition

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.workflows import StepContext


def state(settled: dict[str, Settled] | None = None) -> StateManager:
    return StateManager({"n": 1}, {"tone": "dry"}, settled if settled is not None else {}, "do it")


def test_a_value_is_found_by_the_path_that_a_template_writes() -> None:
    known = state({"a": Settled("a", "completed", {"files": ["x"]})})
    assert known.get("inputs.n") == 1
    assert known.get("context.tone") == "dry"
    assert known.get("steps.a.result.files") == ["x"]
    assert known.get("steps.a.error", "no") is None
    assert known.get("prompt") == "do it"


def test_what_is_not_there_is_the_default() -> None:
    known = state()
    assert known.get("steps.a.result") is None
    assert known.get("context.tone.deeper", 5) == 5
    assert known.get("nothing", "x") == "x"


def test_a_step_that_ends_later_is_seen() -> None:
    settled: dict[str, Settled] = {}
    steps = state(settled).values()["steps"]
    assert len(steps) == 0
    settled["a"] = Settled("a", "skipped")
    assert list(steps) == ["a"]
    assert steps["a"]["status"] == "skipped"


def test_a_name_of_the_context_can_be_set_without_touching_the_definition() -> None:
    context = {"tone": "dry"}
    known = StateManager({}, context, {})
    known.set("tone", "warm")
    assert known.get("context.tone") == "warm"
    assert context == {"tone": "dry"}


def test_a_snapshot_is_json_and_a_copy() -> None:
    result = {"files": ["x"]}
    known = state({"a": Settled("a", "completed", result)})
    taken = known.snapshot()
    result["files"].append("y")
    assert json.loads(json.dumps(taken)) == taken
    assert taken["steps"]["a"]["result"] == {"files": ["x"]}


def test_the_text_that_a_run_is_about_is_known_with_what_of_it_is_selected() -> None:
    buffer = BufferContext(path="/a.py", text="1\n2\n3", filetype="python")
    whole = {"path": "/a.py", "filetype": "python", "text": "1\n2\n3"}
    assert about(RunContext(buffer=buffer)) == {**whole, "selection": ""}
    selected = RunContext(buffer=buffer, selection=Selection(start=2, end=3))
    assert about(selected) == {**whole, "selection": "2\n3"}
    assert about(RunContext()) == {}


def test_the_context_is_restored_over_the_definitions_own() -> None:
    known = StateManager({}, {"tone": "dry", "length": 3}, {})
    known.restore_context({"tone": "warm"})
    assert known.get_context() == {"tone": "warm", "length": 3}


def test_a_name_that_the_context_does_not_have_is_refused() -> None:
    with pytest.raises(InvalidInput, match="has no 'tome'; did you mean 'tone'"):
        state().set("tome", "warm")


FLOW = {
    "name": "flow",
    "context": {"tone": "dry"},
    "steps": [
        {"id": "a"},
        {"id": "b", "dependencies": ["a"]},
        {"id": "c", "task": "Write in a {{ context.tone }} tone", "dependencies": ["b"]},
    ],
}


async def test_what_a_step_puts_into_the_context_later_steps_see_after_a_resume_too(bench: Bench) -> None:
    hold = asyncio.Event()

    async def warm(step: StepContext) -> str:
        await step.set_context("tone", "warm")
        return "done"

    async def wait(_step: StepContext) -> str:
        await hold.wait()
        return "done"

    definition = WorkflowDefinition.model_validate(FLOW)
    bench.registry.register(definition, {"a": warm, "b": wait})
    bench.server.answers("in a warm tone", "hello")
    request = RunRequest(name="flow")
    run = asyncio.create_task(bench.runner.run(request))
    await bench.front.until_told("STEP_STARTED", 2)
    checkpoint = bench.front.data(EventName.CHECKPOINT_CREATED)[0]["checkpoint_id"]
    bench.runner.leave()
    await run
    hold.set()
    resumed = await bench.resume(request.execution_id)
    assert (resumed.ok, resumed.response) == (True, "hello"), resumed.error
    forked = await bench.runner.restore_checkpoint(checkpoint)
    again = await bench.resume(forked.workflow_id)
    assert (again.ok, again.response) == (True, "hello"), again.error
    assert definition.context == {"tone": "dry"}


def test_templates_that_take_too_long_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"all": ["{{ 1 + 1 }}", "is {{ 2 }}"]}
    assert render_value(value, {}) == {"all": [2, "is 2"]}
    monkeypatch.setattr(workflows, "LIMITS", replace(workflows.LIMITS, filling_all_seconds=0.0))
    with pytest.raises(InvalidDefinition, match="filling in all templates takes more than 0 s; use fewer"):
        render_value(value, {})
