"""The step loop of a run: concurrency, failures, skips, pause and cancellation."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.front import LIMIT
from tideate_core.config import LimitsConfig
from tideate_core.engine import EventName
from tideate_core.engine.loop import concurrency_of
from tideate_core.errors import StepFailed
from tideate_core.machines import ExecutionState
from tideate_core.workflows import Decision, StepContext, WorkflowDefinition

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.engine import Event, Run
    from tideate_core.workflows import StepHandler

pytestmark = pytest.mark.concurrency

TURNS = 10
"""Of the event loop, in which a cancel has reached a step; fewer than there are steps."""


class Room:
    """Room that counts the steps inside and lets them out."""

    def __init__(self) -> None:
        self.inside: list[str] = []
        self.most = 0
        self.order: list[str] = []
        self._open: dict[str, asyncio.Event] = {}
        self._changed = asyncio.Event()

    async def enter(self, step: StepContext) -> str:
        self.order.append(step.step)
        self.inside.append(step.step)
        self.most = max(self.most, len(self.inside))
        self._changed.set()
        try:
            await self._door(step.step).wait()
        finally:
            self.inside.remove(step.step)
            self._changed.set()
        return step.step.upper()

    def let_out(self, *steps: str) -> None:
        for step in steps:
            self._door(step).set()

    async def holds(self, *steps: str) -> None:
        """Wait until exactly these are inside."""
        async with asyncio.timeout(LIMIT):
            while sorted(self.inside) != sorted(steps):
                self._changed.clear()
                await self._changed.wait()

    def _door(self, step: str) -> asyncio.Event:
        return self._open.setdefault(step, asyncio.Event())


async def passing(step: StepContext) -> str:
    return step.step.upper()


async def failing(_step: StepContext) -> str:
    raise StepFailed("broken")


def graph(bench: Bench, handlers: dict[str, StepHandler], *steps: dict[str, Any], **rest: Any) -> None:
    """Register a workflow `g` of these steps; one without a handler of its own passes."""
    definition = WorkflowDefinition.model_validate({"name": "g", "steps": list(steps), **rest})
    bench.registry.register(definition, {**dict.fromkeys(definition.step_names, passing), **handlers})


def paused(run: Run) -> bool:
    return run.machine.state is ExecutionState.PAUSED


def step(name: str, *dependencies: str, **rest: Any) -> dict[str, Any]:
    return {"id": name, "dependencies": list(dependencies), **rest}


async def test_a_step_starts_as_soon_as_its_own_dependencies_have_ended(bench: Bench) -> None:
    room = Room()
    steps = [step("slow"), step("quick"), step("after", "quick"), step("end", "slow", "after")]
    graph(bench, dict.fromkeys(("slow", "after"), room.enter), *steps)
    task = bench.begin("g")
    await room.holds("slow", "after")  # `after` is of the second batch, `slow` of the first
    room.let_out("slow", "after")
    result = await task
    assert result.ok, result.error
    assert result.results == {"slow": "SLOW", "quick": "QUICK", "after": "AFTER", "end": "END"}
    assert result.response == "END"


async def test_no_more_steps_run_at_once_than_the_workflow_allows(bench: Bench) -> None:
    room = Room()
    names = [f"s{i}" for i in range(6)]
    graph(bench, dict.fromkeys(names, room.enter), *map(step, names), concurrency=2)
    task = bench.begin("g")
    await room.holds("s0", "s1")
    room.let_out(*names)
    assert (await task).ok
    assert room.most == 2


async def test_fifty_steps_of_handlers_run_side_by_side_by_default(bench: Bench) -> None:
    room = Room()
    names = [f"s{i}" for i in range(50)]
    graph(bench, dict.fromkeys(names, room.enter), *map(step, names))
    task = bench.begin("g")
    await room.holds(*names)
    room.let_out(*names)
    assert (await task).ok
    assert room.most == 50


@pytest.mark.parametrize(
    ("steps", "rest", "config", "limit"),
    [
        ([{"id": "a"}], {}, {}, 64),
        ([{"id": "a"}], {}, {"concurrency": 16}, 16),
        ([{"id": "a"}, {"id": "b", "task": "Think"}], {}, {}, 16),
        ([{"id": "a", "task": "Think"}], {"concurrency": 50}, {}, 50),
        ([{"id": "a"}], {"concurrency": 2}, {"concurrency": 9}, 2),
    ],
)
def test_the_limit_is_the_workflows_else_the_configured_one_else_sixteen(
    steps: list[dict[str, Any]], rest: dict[str, Any], config: dict[str, Any], limit: int
) -> None:
    definition = WorkflowDefinition.model_validate({"name": "g", "steps": steps, **rest})
    assert concurrency_of(definition, LimitsConfig.model_validate(config)) == limit


async def test_the_longest_way_goes_first(bench: Bench) -> None:
    room = Room()
    steps = [step("short"), step("middle", duration=9), step("long"), step("after", "long", duration=500)]
    names = ("short", "middle", "long", "after")
    graph(bench, dict.fromkeys(names, room.enter), *steps, concurrency=1)
    room.let_out(*names)
    await bench.succeed("g")
    assert [name for name in room.order if name != "after"] == ["long", "middle", "short"]


async def test_a_step_that_runs_alone_has_nothing_beside_it(bench: Bench) -> None:
    room = Room()
    steps = [step("a", duration=9), step("alone", parallel=False, duration=5), step("b")]
    graph(bench, dict.fromkeys(("a", "alone", "b"), room.enter), *steps)
    task = bench.begin("g")
    await room.holds("a")
    room.let_out("a")
    await room.holds("alone")
    room.let_out("alone")
    await room.holds("b")
    room.let_out("b")
    assert (await task).ok


async def test_a_failed_step_ends_the_run_stops_what_runs_and_skips_the_rest(bench: Bench) -> None:
    room = Room()
    go = asyncio.Event()

    async def fails(_step: StepContext) -> None:
        await go.wait()
        raise StepFailed("broken")

    graph(
        bench,
        {"bad": fails, "beside": room.enter},
        *(step("bad"), step("beside"), step("after", "bad"), step("last", "after", "beside")),
    )
    task = bench.begin("g")
    await room.holds("beside")
    go.set()
    result = await task
    assert (result.ok, result.error, result.error_code, result.results) == (False, "broken", "StepFailed", {})
    assert room.inside == []
    assert [data["step"] for data in bench.front.data(EventName.STEP_SKIPPED)] == ["after", "last"]
    assert bench.front.data(EventName.WORKFLOW_FAILED)[0]["step"] == "bad"
    assert bench.front.names()[-1] == "WORKFLOW_FAILED"


async def test_a_run_goes_on_without_a_step_that_may_fail_and_its_dependents_get_the_error(
    bench: Bench,
) -> None:
    async def after(step: StepContext) -> Any:
        return {"response": [step.results["bad"], step.values()["steps"]["bad"]["status"]]}

    steps = [step("bad", continue_on_error=True), step("after", "bad")]
    graph(bench, {"bad": failing, "after": after}, *steps)
    result = await bench.run("g")
    error = {"error": "broken", "error_code": "StepFailed"}
    assert result.ok
    assert result.response == [error, "failed"]
    assert result.results["bad"] == error
    assert "STEP_FAILED" in bench.front.names()
    assert bench.front.names()[-1] == "WORKFLOW_COMPLETED"
    row = await asyncio.to_thread((await bench.reader()).run, result.execution_id)
    assert (row.status, row.failed_steps, row.completed_steps) == ("completed", 1, 1)


async def test_what_follows_only_a_skipped_step_is_skipped_and_branches_meet_again(bench: Bench) -> None:
    steps = [
        step("off", when="inputs.on"),
        step("after_off", "off"),
        step("on", when="not inputs.on"),
        step("meet", "after_off", "on"),
    ]
    graph(bench, {}, *steps, inputs={"on": {"type": "boolean"}})
    result = await bench.succeed("g", inputs={"on": False})
    assert result.results == {"on": "ON", "meet": "MEET"}
    skipped = {data["step"]: data["reason"] for data in bench.front.data(EventName.STEP_SKIPPED)}
    assert skipped == {
        "off": "its condition does not hold: inputs.on",
        "after_off": "all steps that it depends on were skipped",
    }
    rows = await asyncio.to_thread((await bench.reader()).steps, result.execution_id)
    assert {row.step: row.status for row in rows} == {
        "off": "skipped",
        "after_off": "skipped",
        "on": "completed",
        "meet": "completed",
    }


async def test_a_condition_that_cannot_be_told_fails_its_step(bench: Bench) -> None:
    steps = [step("a"), step("b", "a", when="steps.a.result.missing.more")]
    graph(bench, {}, *steps)
    result = await bench.run("g")
    assert not result.ok
    assert bench.front.data(EventName.STEP_FAILED)[0]["step"] == "b"
    assert result.results == {"a": "A"}


async def test_a_no_to_one_of_several_steps_stops_the_others(bench: Bench) -> None:
    room = Room()
    asked = asyncio.Event()

    async def until_beside_runs(_request: Any) -> Decision:
        asked.set()
        await room.holds("beside")
        return Decision(False, reason="not now")

    bench.front.confirm = until_beside_runs  # type: ignore[method-assign, assignment]
    graph(bench, {"beside": room.enter}, step("gated", confirm="Go on?"), step("beside"))
    result = await bench.run("g")
    assert (result.cancelled, result.reason, room.inside) == (True, "declined", [])
    assert bench.front.data(EventName.WORKFLOW_CANCELLED)[0]["step"] == "gated"


async def test_a_pause_lets_what_runs_finish_and_starts_nothing(bench: Bench) -> None:
    room = Room()
    names = ("a", "b", "c")
    graph(bench, dict.fromkeys(names, room.enter), step("a"), step("b"), step("c", "a"))
    task = bench.begin("g")
    await room.holds("a", "b")
    (run,) = bench.runner.running
    bench.runner.pause(run.id)
    room.let_out("a")
    await room.holds("b")
    assert not paused(run)
    room.let_out("b", "c")
    await bench.front.until_told("WORKFLOW_PAUSED")
    assert paused(run)
    assert room.order == ["a", "b"]
    (told,) = bench.front.data(EventName.WORKFLOW_PAUSED)
    assert told.items() >= {"step": "c"}.items()
    bench.runner.resume(run.id)
    assert (await task).ok
    assert room.order == ["a", "b", "c"]


async def test_a_pause_that_is_taken_back_before_it_came_holds_nothing_back(bench: Bench) -> None:
    room = Room()

    async def pauses(step: StepContext) -> None:
        bench.runner.pause(step.execution_id)

    handlers: dict[str, StepHandler] = {"slow": room.enter, "a": pauses, "b": room.enter}
    graph(bench, handlers, step("slow"), step("a"), step("b", "a"))
    task = bench.begin("g")
    await room.holds("slow")
    (run,) = bench.runner.running
    ended = [EventName.CHECKPOINT_CREATED]
    await bench.front.until(lambda: [event.name for event in bench.front.events[-1:]] == ended)
    for _ in range(10):  # what is ready by then waits for the pause
        await asyncio.sleep(0)
    assert (list(run.results), room.inside) == (["a"], ["slow"])
    bench.runner.resume(run.id)
    await room.holds("slow", "b")
    room.let_out("slow", "b")
    assert (await task).ok
    assert "WORKFLOW_PAUSED" not in bench.front.names()


async def test_a_pause_holds_back_the_steps_of_the_runs_within_too(bench: Bench) -> None:
    room = Room()
    bench.register("inner", {"a": room.enter, "b": room.enter})
    graph(bench, {}, {"id": "nested", "workflow": "inner"})
    task = bench.begin("g")
    await room.holds("a")
    child, parent = bench.runner.running
    bench.runner.pause(parent.id)
    room.let_out("a", "b")
    await bench.front.until(lambda: paused(child))
    assert room.order == ["a"]
    bench.runner.resume(parent.id)
    assert (await asyncio.wait_for(task, LIMIT)).ok
    assert room.order == ["a", "b"]


async def test_a_run_within_that_begins_when_a_pause_is_wanted_waits_too(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = Room()
    bench.register("inner", {"a": room.enter})
    graph(bench, {}, {"id": "nested", "workflow": "inner"})
    emit = bench.front.emit

    def pauses(event: Event) -> None:
        emit(event)
        if event.name is EventName.STEP_STARTED and event.data["step"] == "nested":
            bench.runner.pause(event.execution_id)

    monkeypatch.setattr(bench.front, "emit", pauses)
    task = bench.begin("g")
    await bench.front.until_told("WORKFLOW_PAUSED")
    child, parent = bench.runner.running
    assert (paused(child), room.order) == (True, [])
    bench.runner.resume(parent.id)
    await room.holds("a")
    room.let_out("a")
    assert (await asyncio.wait_for(task, LIMIT)).ok


async def test_a_cancel_reaches_all_running_steps_at_once(bench: Bench) -> None:
    room = Room()
    names = [f"s{i}" for i in range(20)]
    graph(bench, dict.fromkeys(names, room.enter), *map(step, names), concurrency=20)
    task = bench.begin("g")
    await room.holds(*names)
    bench.runner.cancel()
    for _ in range(TURNS):
        await asyncio.sleep(0)
    assert room.inside == []
    result = await task
    assert (result.cancelled, result.reason) == (True, "cancelled")


async def test_a_resume_that_comes_after_a_cancel_starts_nothing(bench: Bench) -> None:
    room = Room()

    async def pauses(context: StepContext) -> None:
        bench.runner.pause(context.execution_id)

    handlers: dict[str, StepHandler] = {"slow": room.enter, "a": pauses, "b": room.enter}
    graph(bench, handlers, step("slow"), step("a"), step("b", "a"))
    task = bench.begin("g")
    await bench.front.until_told("CHECKPOINT_CREATED")
    for _ in range(TURNS):  # what is ready by then waits for the pause
        await asyncio.sleep(0)
    (run,) = bench.runner.running
    bench.runner.cancel()
    bench.runner.resume(run.id)
    result = await asyncio.wait_for(task, LIMIT)
    assert (result.reason, room.order) == ("cancelled", ["slow"])
    assert "b" not in [data["step"] for data in bench.front.data(EventName.STEP_STARTED)]


async def test_what_a_step_makes_of_a_cancel_does_not_change_that_it_was_one(bench: Bench) -> None:
    started = asyncio.Event()

    async def stubborn(_step: StepContext) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise StepFailed("I had not finished") from None

    graph(bench, {"a": stubborn}, step("a"))
    task = bench.begin("g")
    await asyncio.wait_for(started.wait(), LIMIT)
    bench.runner.cancel()
    assert (await task).reason == "cancelled"


async def test_a_steps_usage_and_files_are_kept_with_it(bench: Bench) -> None:
    bench.server.answers("Why", "Because.")

    async def asks(step: StepContext) -> str:
        from tideate_core.adapters import Prompt

        step.changed(["a.py"])
        return (await step.ask(Prompt("Why?"))).text

    graph(bench, {"a": asks}, step("a"), step("b", "a"))
    result = await bench.run("g")
    a, b = await asyncio.to_thread((await bench.reader()).steps, result.execution_id)
    assert (a.tokens.output, a.files) == (result.usage.output_tokens, ("a.py",))
    assert a.tokens.output > 0
    assert (b.tokens.output, b.files) == (0, ())


@pytest.mark.parametrize("given", ["5", 5])
async def test_inputs_are_of_the_types_that_the_workflow_declares(bench: Bench, given: Any) -> None:
    async def a(step: StepContext) -> Any:
        return dict(step.inputs)

    inputs = {"n": {"type": "integer"}, "word": {"default": "x"}}
    graph(bench, {"a": a}, step("a"), inputs=inputs)
    assert (await bench.run("g", inputs={"n": given})).response == {"n": 5, "word": "x"}


@pytest.mark.parametrize("nothing", [None, "null"])
async def test_an_input_that_need_not_be_given_may_be_given_as_nothing(bench: Bench, nothing: Any) -> None:
    async def a(step: StepContext) -> Any:
        return dict(step.inputs)

    graph(bench, {"a": a}, step("a"), inputs={"n": {"type": "integer", "required": False}})
    assert (await bench.run("g", inputs={"n": nothing})).response == {"n": None}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "needs the input 'n'"),
        ({"n": "five"}, "'n' must be a whole number"),
        ({"n": 1, "wrod": "y"}, "no input 'wrod'; did you mean 'word'?"),
    ],
)
async def test_inputs_that_do_not_fit_are_refused_before_anything(
    bench: Bench, given: dict[str, Any], said: str
) -> None:
    graph(bench, {}, step("a"), inputs={"n": {"type": "integer"}, "word": {"default": "x"}})
    result = await bench.run("g", inputs=given)
    assert result.error_code == "InvalidInput"
    assert said in str(result.error)
    assert bench.front.names() == ["WORKFLOW_FAILED"]
