"""A model that works with tools, and its person: a pause within its loop, and messages to it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.test_loop import Room, graph, paused, step
from tests.engine.test_resumed_runs import row_of, taken_up
from tests.harness.front import LIMIT
from tideate_core.adapters import OfferedTool, Prompt
from tideate_core.agents.loop import WorkLoop
from tideate_core.engine import EventName
from tideate_core.errors import InvalidInput, RunNotFound, StoreError
from tideate_core.store import Message

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.store import NewRun, RunLog
    from tideate_core.workflows import StepContext, StepHandler

pytestmark = pytest.mark.concurrency


@pytest.fixture
def tools() -> bool:
    return True


class Looking:
    """A step with a model that calls the tool `look` until it answers.

    :param when: pauses the run in the call of this number.
    """

    def __init__(self, bench: Bench, when: int | None = None) -> None:
        self.bench = bench
        self.when = when
        self.calls: list[Any] = []

    async def __call__(self, step: StepContext) -> str:
        async def look(arguments: dict[str, Any], _key: str) -> str:
            self.calls.append(arguments)
            if len(self.calls) == self.when:
                self.bench.runner.pause(step.execution_id)
            return f"seen in {step.step}"

        tool = OfferedTool("look", "Look.", {"type": "object"}, look)
        return (await WorkLoop(step, "look", [tool]).run(Prompt(f"work in {step.step}"))).text


def called(bench: Bench, *steps: str) -> None:
    """Have each step's model call the tool once, then answer."""
    for name in steps:
        bench.server.calls(f"work in {name}", "look", {"from": name}, times=1)
        bench.server.answers(f"seen in {name}", f"done in {name}")


async def until_paused(bench: Bench) -> None:
    await bench.front.until_told("WORKFLOW_PAUSED")


async def test_no_turn_is_asked_for_while_a_run_is_paused(bench: Bench) -> None:
    called(bench, "a")
    graph(bench, {"a": Looking(bench, 1)}, step("a"))
    task = bench.begin("g")
    await until_paused(bench)
    (run,) = bench.runner.running
    await (await bench.runner.store()).checkpoint(run.id, at=1)
    assert (await row_of(bench.runner, run.id)).status == "paused"
    assert (paused(run), len(bench.server.requests)) == (True, 1)
    (told,) = bench.front.data(EventName.WORKFLOW_PAUSED)
    assert told.items() >= {"step": "a", "within": True}.items()
    assert bench.front.data(EventName.NOTICE)[0]["message"] == "pauses before the model's next turn"
    bench.runner.resume(run.id)
    result = await asyncio.wait_for(task, LIMIT)
    assert (result.results, len(bench.server.requests)) == ({"a": "done in a"}, 2)
    assert [data["step"] for data in bench.front.data(EventName.WORKFLOW_RESUMED)] == ["a"]


async def test_a_turn_under_way_is_finished_before_a_pause(bench: Bench) -> None:
    gate = bench.server.holds("work in a", text="half")
    bench.server.answers("seen", "never asked")
    graph(bench, {"a": Looking(bench)}, step("a"), step("b", "a"))
    task = bench.begin("g")
    await bench.front.until_told("TOKEN")
    (run,) = bench.runner.running
    bench.runner.pause(run.id)
    assert not paused(run)
    gate.release()
    await until_paused(bench)
    (told,) = bench.front.data(EventName.WORKFLOW_PAUSED)
    assert told.items() >= {"step": "b"}.items()
    bench.runner.resume(run.id)
    assert (await asyncio.wait_for(task, LIMIT)).results["a"] == "half"


async def test_a_run_is_paused_once_the_steps_beside_the_loop_have_ended(bench: Bench) -> None:
    room = Room()
    called(bench, "a")
    graph(bench, {"a": Looking(bench, 1), "slow": room.enter}, step("a"), step("slow"))
    task = bench.begin("g")
    await room.holds("slow")
    await bench.front.until_told("NOTICE")
    (run,) = bench.runner.running
    assert not paused(run)
    room.let_out("slow")
    await until_paused(bench)
    assert list(run.settled) == ["slow"]
    bench.runner.resume(run.id)
    assert (await asyncio.wait_for(task, LIMIT)).results == {"a": "done in a", "slow": "SLOW"}


@pytest.mark.parametrize("items", [["x", "y"], ["x", "y", "z"]])
async def test_items_that_loop_side_by_side_are_one_step_that_stands_still(
    bench: Bench, items: list[str]
) -> None:
    names = [f"each[{number}]" for number in range(len(items))]
    called(bench, *names, "b")
    each = {"id": "each", "for_each": {"items": "context.names", "max_parallel": 2}}
    handlers: dict[str, StepHandler] = {"each": Looking(bench, 1), "b": Looking(bench)}
    graph(bench, handlers, each, step("b"), context={"names": items})
    task = bench.begin("g")
    await until_paused(bench)
    (run,) = bench.runner.running
    asked = len(bench.server.requests)
    await (await bench.runner.store()).checkpoint(run.id, at=1)
    assert (paused(run), bench.server.in_flight, len(bench.server.requests)) == (True, 0, asked)
    bench.runner.resume(run.id)
    result = await asyncio.wait_for(task, LIMIT)
    assert result.results == {"each": [f"done in {name}" for name in names], "b": "done in b"}
    assert len(bench.front.data(EventName.WORKFLOW_PAUSED)) == 1
    assert len(bench.front.data(EventName.WORKFLOW_RESUMED)) == 1


async def test_a_run_that_was_left_while_it_was_paused_within_a_loop_goes_on_there(bench: Bench) -> None:
    called(bench, "a")
    looking = Looking(bench, 1)
    graph(bench, {"a": looking}, step("a"))
    task = bench.begin("g")
    await until_paused(bench)
    bench.runner.leave()
    left = await task
    assert (await row_of(bench.runner, left.execution_id)).status == "paused"
    result = await taken_up(bench, left)
    assert (result.ok, result.results) == (True, {"a": "done in a"})
    assert looking.calls == [{"from": "a"}], "its call was recorded"
    assert len(bench.server.requests) == 2


async def test_a_message_is_read_before_the_next_turn_and_told(bench: Bench) -> None:
    called(bench, "a")
    bench.server.answers("keep the name", "kept", times=1)
    looking = Looking(bench, 1)
    graph(bench, {"a": looking}, step("a"))
    task = bench.begin("g")
    await until_paused(bench)
    (run,) = bench.runner.running
    assert await bench.runner.say(None, "keep the name, please") == run.id
    bench.runner.resume(run.id)
    await asyncio.wait_for(task, LIMIT)
    last = bench.server.requests[-1]["messages"][-1]
    assert (last["role"], last["content"]) == ("user", "keep the name, please")
    told = bench.front.notices()
    assert told[1:] == ["you: keep the name, please", "the model reads your message: keep the name, please"]


async def test_a_message_of_another_process_reaches_the_model(bench: Bench) -> None:
    called(bench, "a")
    graph(bench, {"a": Looking(bench, 1)}, step("a"))
    task = bench.begin("g")
    await until_paused(bench)
    (run,) = bench.runner.running
    other = await bench.make_runner(bench.config).store()
    await other.send_control_request(run.id, Message("keep the name"))
    await bench.front.until(lambda: "you: keep the name" in str(bench.front.data(EventName.NOTICE)))
    bench.runner.resume(run.id)
    await asyncio.wait_for(task, LIMIT)
    assert bench.server.requests[-1]["messages"][-1]["content"] == "keep the name"


async def test_a_message_that_came_too_late_is_told_at_the_end(bench: Bench) -> None:
    gate = bench.server.holds("work in a", text="half")
    graph(bench, {"a": Looking(bench)}, step("a"))
    task = bench.begin("g")
    await bench.front.until_told("TOKEN")
    await bench.runner.say(None, "too late")
    gate.release()
    assert (await asyncio.wait_for(task, LIMIT)).ok
    last = bench.front.data(EventName.NOTICE)[-1]
    assert (last["message"], last["level"]) == ("no model read your message: too late", "warn")


async def test_what_is_said_to_nobody_is_refused(bench: Bench) -> None:
    with pytest.raises(RunNotFound):
        await bench.runner.say(None, "hello")
    called(bench, "a")
    graph(bench, {"a": Looking(bench, 1)}, step("a"))
    task = bench.begin("g")
    await until_paused(bench)
    with pytest.raises(InvalidInput, match="nothing to say"):
        await bench.runner.say(None, " ")
    bench.runner.cancel()
    await task


@pytest.mark.parametrize("tools", [False])
async def test_a_run_whose_model_takes_no_turns_refuses_a_message(bench: Bench) -> None:
    gate = bench.server.holds("why")
    task = bench.begin("ask", "why")
    await bench.front.until_told("TOKEN")
    (run,) = bench.runner.running
    with pytest.raises(InvalidInput, match="does not work with tools"):
        await bench.runner.say(run.id, "hello")
    other = await bench.make_runner(bench.config).store()
    await other.send_control_request(run.id, Message("hello"))
    await bench.front.until(lambda: "was not passed on" in str(bench.front.data(EventName.NOTICE)))
    gate.release()
    assert (await asyncio.wait_for(task, LIMIT)).ok


async def test_a_message_waits_until_its_run_is_in_the_store(bench: Bench, monkeypatch: Any) -> None:
    store, opening, may_open = await bench.runner.store(), asyncio.Event(), asyncio.Event()
    begin = store.begin

    async def begin_later(run: NewRun) -> RunLog:
        opening.set()
        await may_open.wait()
        return await begin(run)

    monkeypatch.setattr(store, "begin", begin_later)
    called(bench, "a")
    graph(bench, {"a": Looking(bench)}, step("a"))
    task = bench.begin("g")
    await asyncio.wait_for(opening.wait(), LIMIT)
    saying = asyncio.create_task(bench.runner.say(None, "keep the name"))
    may_open.set()
    (said_to, result) = await asyncio.wait_for(asyncio.gather(saying, task), LIMIT)
    assert (said_to, result.ok) == (result.execution_id, True)
    assert "keep the name" in str(bench.server.requests[-1]["messages"])


async def test_a_message_to_a_run_that_cannot_begin_is_refused(bench: Bench, monkeypatch: Any) -> None:
    store, opening, may_fail = await bench.runner.store(), asyncio.Event(), asyncio.Event()

    async def fail(_run: NewRun) -> RunLog:
        opening.set()
        await may_fail.wait()
        raise StoreError("the disk is full")

    monkeypatch.setattr(store, "begin", fail)
    graph(bench, {"a": Looking(bench)}, step("a"))
    task = bench.begin("g")
    await asyncio.wait_for(opening.wait(), LIMIT)
    saying = asyncio.create_task(bench.runner.say(None, "keep the name"))
    may_fail.set()
    assert (await asyncio.wait_for(task, LIMIT)).error == "the disk is full"
    with pytest.raises(InvalidInput, match="is ending"):
        await asyncio.wait_for(saying, LIMIT)
