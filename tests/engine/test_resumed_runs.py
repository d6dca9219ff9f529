"""Runs left by one process and resumed by another: nothing is done, asked or told twice."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.test_loop import graph, passing, step
from tests.harness.front import LIMIT, no
from tideate_core.adapters import AdapterPool, Conversation, Prompt, UserMessage
from tideate_core.config import Config
from tideate_core.engine import EventName, said_in_step
from tideate_core.engine.loop import TaskExecutor
from tideate_core.errors import RunEnded, RunIsOwned, RunNotFound, StepFailed, StoreError, UnknownAdapter
from tideate_core.store import writer
from tideate_core.workflows import Confirm, Decision, StepContext, WorkflowRegistry
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.engine import ConfirmationRequest, WorkflowResult, WorkflowRunner
    from tideate_core.store import EventRow, RunRow

pytestmark = pytest.mark.concurrency


class Stop:
    """A step that stops its run the first time, as a process does that ends."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.count = 0

    async def __call__(self, _step: StepContext) -> str:
        self.count += 1
        if self.count == 1:
            assert self.bench.runner.leave()
            await asyncio.Event().wait()
        return f"time {self.count}"


async def taken_up(bench: Bench, left: WorkflowResult, **how: Any) -> WorkflowResult:
    """Resume a run with another runner, as another process would."""
    assert (left.cancelled, left.reason) == (True, "interrupted")
    bench.front.events.clear()
    bench.runner = bench.make_runner(bench.config)
    return await bench.resume(left.execution_id, **how)


async def row_of(runner: WorkflowRunner, run: str) -> RunRow:
    return await asyncio.to_thread((await runner.store()).reader().run, run)


async def events_of(runner: WorkflowRunner, run: str) -> list[EventRow]:
    return await asyncio.to_thread((await runner.store()).reader().events, run)


async def test_completed_steps_are_not_run_again_and_the_rest_gets_their_results(bench: Bench) -> None:
    ran: list[str] = []

    async def counts(step: StepContext) -> str:
        ran.append(step.step)
        return step.step.upper()

    async def last(step: StepContext) -> Any:
        return {"response": dict(step.results)}

    stop = Stop(bench)
    steps = [step("a"), step("b"), step("stop", "a", "b"), step("end", "stop")]
    graph(bench, {"a": counts, "b": counts, "stop": stop, "end": last}, *steps)
    result = await taken_up(bench, await bench.run("g", "do it"))
    assert result.ok, result.error
    assert sorted(ran) == ["a", "b"]
    assert result.response == {"a": "A", "b": "B", "stop": "time 2"}
    assert result.results["a"] == "A"
    assert bench.front.names() == [
        "WORKFLOW_RESTORED",
        *("STEP_STARTED", "STEP_COMPLETED", "STEP_EXECUTED") * 2,
        "WORKFLOW_COMPLETED",
    ]
    restored = bench.front.data(EventName.WORKFLOW_RESTORED)[0]
    assert sorted(restored["completed"]) == ["a", "b"]
    assert restored["prompt"] == "do it"
    assert [data["index"] for data in bench.front.data(EventName.STEP_STARTED)] == [3, 4]
    events = await events_of(bench.runner, result.execution_id)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert (await row_of(bench.runner, result.execution_id)).status == "completed"


async def test_a_run_that_was_left_can_be_resumed_and_one_that_ended_cannot(bench: Bench) -> None:
    graph(bench, {"a": Stop(bench)}, step("a"))
    left = await bench.run("g")
    assert bench.front.names()[-1] == "WORKFLOW_PAUSED"
    assert (await row_of(bench.runner, left.execution_id)).resumable
    result = await taken_up(bench, left)
    with pytest.raises(RunEnded):
        await bench.resume(result.execution_id)
    with pytest.raises(RunNotFound):
        await bench.resume("f" * 32)


async def test_a_resumed_run_tells_what_was_rolled_back_before_its_step_starts_again(bench: Bench) -> None:
    stop = Stop(bench)

    async def writes(step: StepContext) -> str:
        change = FileChange("new.txt", "create", None, "new")
        await step.workspace.apply([change], execution_id=step.execution_id)
        return await stop(step)

    graph(bench, {"a": writes}, step("a"))
    result = await taken_up(bench, await bench.run("g"))
    assert result.ok, result.error
    (notice,) = bench.front.data(EventName.NOTICE)
    assert notice["message"] == "1 restored: new.txt; the unfinished step starts again"


async def test_a_run_that_somebody_has_is_not_taken(bench: Bench) -> None:
    bench.front.hold = True
    graph(bench, {}, step("a", confirm="Sure?"))
    task = bench.begin("g")
    await bench.front.until_asked()
    (run,) = bench.runner.running
    with pytest.raises(RunIsOwned):
        await bench.make_runner(bench.config).resume_run(run.id)
    bench.runner.cancel()
    assert (await task).cancelled


async def test_an_answer_that_was_given_is_not_asked_for_again(bench: Bench) -> None:
    stop = Stop(bench)

    async def asks(step: StepContext) -> Any:
        return Confirm("value", "Good?")

    steps = [step("a"), step("stop", "a", confirm="Go on?")]
    graph(bench, {"a": asks, "stop": stop}, *steps)
    result = await taken_up(bench, await bench.run("g"))
    assert result.ok, result.error
    assert [request.message for request in bench.front.requests] == ["Good?", "Go on?"]
    assert stop.count == 2


@pytest.mark.parametrize("tools", [True])
async def test_what_a_model_said_before_is_shown_where_the_run_goes_on(bench: Bench, tools: bool) -> None:
    bench.server.answers("hello", "good day")
    stop = Stop(bench)

    async def talks(step: StepContext) -> str:
        await step.take_turn(Conversation("s", (UserMessage("hello"),)), [], key="1")
        return await stop(step)

    graph(bench, {"a": talks}, step("a"))
    result = await taken_up(bench, await bench.run("g"))
    assert result.ok, result.error
    assert len(bench.server.requests) == 1
    assert [data["text"] for data in bench.front.data(EventName.TOKEN)] == ["good day\n\n"]


async def test_replies_are_read_in_the_order_they_came_in_over_processes(bench: Bench) -> None:
    stop, words = Stop(bench), [f"number {number}" for number in range(10, 22)]
    for word in words:
        bench.server.answers(word, f"to {word}")

    async def asks(step: StepContext) -> None:
        for place, word in enumerate(words):
            if place == 6:
                await stop(step)
            await step.ask(Prompt(word))

    graph(bench, {"a": asks}, step("a"))
    result = await taken_up(bench, await bench.run("g"))
    assert result.ok, result.error
    reader = await bench.reader()
    _, replies = await asyncio.to_thread(said_in_step, reader, result.execution_id, "a")
    assert [reply["text"] for reply in replies] == [f"to {word}" for word in words]
    assert len(bench.server.requests) == len(words)


@pytest.mark.parametrize("again", [True, False])
async def test_a_step_that_must_not_run_twice_is_asked_about(bench: Bench, again: bool) -> None:
    stop = Stop(bench)
    graph(bench, {"stop": stop}, step("stop", idempotent=False))
    left = await bench.run("g")
    if not again:
        bench.front.answer = no
    result = await taken_up(bench, left)
    (request,) = bench.front.requests
    assert "must not be done twice" in request.message
    assert (result.ok, stop.count) == ((True, 2) if again else (False, 1))
    assert result.reason == (None if again else "declined")


@pytest.mark.parametrize("again", [True, False])
async def test_what_such_a_step_wrote_stays_until_the_person_says_yes(bench: Bench, again: bool) -> None:
    written = bench.root / "out.txt"
    stop = Stop(bench)

    async def writes(step: StepContext) -> str:
        assert not written.exists()
        change = FileChange("out.txt", "create", None, "done")
        await step.workspace.apply([change], execution_id=step.execution_id)
        return await stop(step)

    def answer(_request: ConfirmationRequest) -> Decision:
        assert written.exists()
        return Decision(again)

    graph(bench, {"write": writes}, step("write", idempotent=False))
    left = await bench.run("g")
    bench.front.answer = answer
    result = await taken_up(bench, left)
    assert (result.ok, stop.count, result.error) == (again, 2 if again else 1, None)
    assert written.exists()


async def test_what_finished_items_wrote_stays_when_the_rest_is_done(bench: Bench) -> None:
    stop = Stop(bench)

    async def writes(step: StepContext) -> None:
        index = step.values()["index"]
        change = FileChange(f"{index}.txt", "create", None, f"{index}")
        await step.workspace.apply([change], execution_id=step.execution_id)
        if index == 1:
            await stop(step)

    each = step("each", for_each={"items": "['a', 'b', 'c']", "max_parallel": 1}, handler="each")
    graph(bench, {"each": writes}, each)
    result = await taken_up(bench, await bench.run("g"))
    assert result.ok, result.error
    assert [(bench.root / f"{index}.txt").read_text() for index in range(3)] == ["0\n", "1\n", "2\n"]


@pytest.mark.parametrize("idempotent", [True, False])
async def test_a_file_that_a_finished_step_wrote_too_does_not_hold_the_run_up(
    bench: Bench, idempotent: bool
) -> None:
    file = bench.write("shared.txt", "start")
    first = asyncio.Event()
    stop = Stop(bench)

    async def adds(step: StepContext) -> None:
        before = file.read_text()
        change = FileChange("shared.txt", "modify", before, f"{before} {step.step}")
        await step.workspace.apply([change], execution_id=step.execution_id)

    async def a(step: StepContext) -> None:
        await adds(step)
        first.set()
        if stop.count == 0:
            await asyncio.Event().wait()

    async def b(step: StepContext) -> None:
        await first.wait()
        await adds(step)

    steps = [step("a", idempotent=idempotent), step("b"), step("stop", "b")]
    graph(bench, {"a": a, "b": b, "stop": stop}, *steps)
    result = await taken_up(bench, await bench.run("g"))
    assert result.ok, result.error
    assert ["must not be done twice" in one.message for one in bench.front.requests] == [True] * (
        not idempotent
    )
    assert file.read_text() == "start a b a"
    (notice,) = bench.front.data(EventName.NOTICE)
    assert notice["step"] == ("" if idempotent else "a")
    assert "shared.txt was written by a step that did not finish" in notice["message"]
    await bench.workspace().rollback(result.execution_id)
    assert file.read_text() == "start"


async def test_failed_attempts_before_count_and_the_cut_off_one_goes_on_under_its_number(
    bench: Bench,
) -> None:
    attempts: list[int] = []

    async def flaky(step: StepContext) -> str:
        attempts.append(step.attempt)
        if len(attempts) == 2:
            bench.runner.leave()
            await asyncio.Event().wait()
        raise StepFailed("no")

    graph(bench, {"a": flaky}, step("a", retries=2, retryDelay=0))
    result = await taken_up(bench, await bench.run("g"))
    assert result.error == "no"
    assert attempts == [1, 2, 2, 3]


async def test_a_run_goes_on_without_what_failed_before(bench: Bench) -> None:
    async def fails(_step: StepContext) -> str:
        raise StepFailed("broken")

    async def end(step: StepContext) -> Any:
        return step.results["bad"]["error"]

    steps = [
        step("bad", continue_on_error=True),
        step("off", when="false"),
        step("stop", "bad"),
        step("end", "stop"),
    ]
    graph(bench, {"bad": fails, "stop": Stop(bench), "end": end}, *steps)
    result = await taken_up(bench, await bench.run("g"))
    assert result.response == "broken"
    assert bench.front.data(EventName.STEP_FAILED) == []
    assert bench.front.data(EventName.STEP_SKIPPED) == []
    row = await row_of(bench.runner, result.execution_id)
    assert (row.completed_steps, row.failed_steps) == (2, 1)


async def test_a_machine_finds_its_way_again_and_its_choices_are_not_asked_for_twice(bench: Bench) -> None:
    bench.machine("* to a:\n  Say a.\n\n: one\na to b:\n  Say b.\n\n: two\na to c\nb to *\n")
    bench.server.answers("The present state is a.", "In a.")
    bench.server.answers("is in the state a. From there", {"reason": "so", "next": "b"})
    gate = bench.server.holds("The present state is b.", text="In b.")
    task = bench.begin("walk", "go")
    await asyncio.to_thread(gate.wait_started)
    bench.runner.leave()
    left = await task
    await asyncio.to_thread(gate.wait_disconnected)
    asked = len(bench.server.requests)
    gate.release()
    result = await taken_up(bench, left)
    assert result.ok, result.error
    assert (result.response, result.results) == ("In b.", {"a": "In a.", "b": "In b."})
    assert [move["to"] for move in result.path or []] == ["a", "b", "*"]
    assert len(bench.server.requests) == asked + 1
    moves = [
        event.data["to"]
        for event in await events_of(bench.runner, result.execution_id)
        if event.name == EventName.TRANSITION
    ]
    assert moves == ["a", "b", "*"]


async def test_a_paused_run_is_paused_in_the_store_and_goes_on_elsewhere(bench: Bench) -> None:
    async def pauses(step: StepContext) -> None:
        bench.runner.pause(step.execution_id)

    graph(bench, {"a": pauses}, step("a"), step("b", "a"))
    task = bench.begin("g")
    await bench.front.until_told("WORKFLOW_PAUSED")
    (run,) = bench.runner.running
    store = await bench.runner.store()
    await store.checkpoint(run.id, at=1)  # what was asked for before it is durable now
    assert (await row_of(bench.runner, run.id)).status == "paused"
    bench.runner.leave()
    left = await task
    assert (await row_of(bench.runner, run.id)).status == "paused"
    result = await taken_up(bench, left)
    assert (result.ok, result.results) == (True, {"a": None, "b": "B"})


@pytest.mark.parametrize("wish", ["cancel", "pause"])
async def test_another_process_can_ask_for_a_pause_or_an_end(bench: Bench, wish: Any) -> None:
    started, go = asyncio.Event(), asyncio.Event()

    async def waits(_step: StepContext) -> None:
        started.set()
        await go.wait()

    graph(bench, {"a": waits}, step("a"), step("b", "a"))
    task = bench.begin("g")
    await asyncio.wait_for(started.wait(), LIMIT)
    (run,) = bench.runner.running
    other = await bench.make_runner(bench.config).store()
    await other.send_control_request(run.id, wish)
    if wish == "pause":
        await bench.front.until_told("NOTICE")
        go.set()
        await bench.front.until_told("WORKFLOW_PAUSED")
        await other.send_control_request(run.id, "resume")
        assert (await asyncio.wait_for(task, LIMIT)).ok
    else:
        assert (await asyncio.wait_for(task, LIMIT)).reason == "cancelled"


async def test_a_run_that_was_taken_over_stops_at_once_and_writes_nothing_more(bench: Bench) -> None:
    started = asyncio.Event()

    async def waits(_step: StepContext) -> None:
        if not started.is_set():
            started.set()
            await asyncio.Event().wait()

    graph(bench, {"a": waits}, step("a"))
    task = bench.begin("g")
    await asyncio.wait_for(started.wait(), LIMIT)
    (run,) = bench.runner.running
    robber = bench.make_runner(bench.config)
    result = await asyncio.wait_for(robber.resume_run(run.id, takeover_after=-1.0), LIMIT)
    assert result.ok
    lost = await asyncio.wait_for(task, LIMIT)
    assert (lost.ok, lost.error_code) == (False, "RunLost")
    assert (await row_of(robber, run.id)).status == "completed"


async def test_a_nested_run_is_taken_up_with_its_parent(bench: Bench) -> None:
    stop = Stop(bench)
    ran: list[str] = []

    async def counts(step: StepContext) -> str:
        ran.append(step.step)
        return "first"

    bench.register("inner", {"first": counts, "stop": stop})
    graph(bench, {}, {"id": "nested", "workflow": "inner"}, step("end", "nested"))
    result = await taken_up(bench, await bench.run("g", "p"))
    assert result.ok, result.error
    assert (result.results["nested"], ran) == ("time 2", ["first"])
    reader = await bench.reader()
    runs = await asyncio.to_thread(reader.runs, parents_only=False)
    assert {(run.name, run.status, run.parent) for run in runs} == {
        ("g", "completed", None),
        ("inner", "completed", result.execution_id),
    }


async def test_a_nested_run_that_ended_before_is_not_run_again(bench: Bench) -> None:
    """The process ends between the child's end and the record of its parent's step."""
    ran: list[str] = []

    async def counts(step: StepContext) -> Any:
        ran.append(step.step)
        return {"response": "of the child"}

    bench.register("inner", {"first": counts})
    graph(bench, {}, {"id": "nested", "workflow": "inner"})
    emit = bench.front.emit

    def leave_after_the_child(event: Any) -> None:
        emit(event)
        if event.name is EventName.WORKFLOW_COMPLETED:
            bench.runner.leave()

    bench.front.emit = leave_after_the_child  # type: ignore[method-assign]
    left = await bench.run("g", "p")
    bench.front.emit = emit  # type: ignore[method-assign]
    result = await taken_up(bench, left)
    assert result.ok, result.error
    assert (result.response, ran) == ("of the child", ["first"])


async def test_what_runs_within_a_run_that_was_taken_over_is_left_and_not_cancelled(bench: Bench) -> None:
    started = asyncio.Event()

    async def waits(_step: StepContext) -> str:
        if not started.is_set():
            started.set()
            await asyncio.Event().wait()
        return "done"

    bench.register("inner", {"a": waits})
    graph(bench, {}, {"id": "nested", "workflow": "inner"})
    task = bench.begin("g")
    await asyncio.wait_for(started.wait(), LIMIT)
    child, parent = bench.runner.running
    store = await bench.make_runner(bench.config).store()
    log = await store.adopt(parent.id, takeover_after=-1.0)
    assert (await asyncio.wait_for(task, LIMIT)).error_code == "RunLost"
    assert (await row_of(bench.runner, child.id)).resumable
    await log.release()
    result = await bench.resume(parent.id)
    assert (result.ok, result.response) == (True, "done")


async def test_a_run_whose_adapter_is_gone_waits_for_another(bench: Bench) -> None:
    graph(bench, {"a": Stop(bench)}, step("a"))
    left = await bench.run("g")
    config = Config.model_validate({"adapter": "other", "adapters": {"other": bench.config.adapters["fake"]}})
    without = bench.make_runner(config)
    without.adapters = AdapterPool(config)
    with pytest.raises(UnknownAdapter, match="works with the model fake, which this machine does not have"):
        await without.resume_run(left.execution_id)
    assert (await without.resume_run(left.execution_id, adapter="other")).ok
    reader = (await without.store()).reader()
    began = await asyncio.to_thread(reader.last_event, left.execution_id, EventName.WORKFLOW_RESTORED.value)
    assert began is not None
    assert began.data["adapter"] == "other"


@pytest.mark.parametrize("stops", ["before", "within"])
@pytest.mark.parametrize("chosen", [None, "other"])
async def test_runs_within_a_resumed_run_have_its_model(bench: Bench, chosen: str | None, stops: str) -> None:
    """The machine that continues has another default model."""

    async def done(_step: StepContext) -> str:
        return "done"

    stop = Stop(bench)
    bench.register("inner", {"a": stop if stops == "within" else done})
    graph(
        bench,
        {"a": stop if stops == "before" else done},
        step("a"),
        {"id": "nested", "workflow": "inner", "dependencies": ["a"]},
    )
    left = await bench.run("g")
    own = bench.config.adapters["fake"]
    elsewhere = Config.model_validate({"adapter": "other", "adapters": {"fake": own, "other": own}})
    runner = bench.make_runner(elsewhere)
    runner.adapters = AdapterPool(elsewhere)
    bench.front.events.clear()
    assert (await runner.resume_run(left.execution_id, adapter=chosen)).ok
    begins = (EventName.WORKFLOW_STARTED, EventName.WORKFLOW_RESTORED)
    used = [data["adapter"] for name in begins for data in bench.front.data(name)]
    assert used == [chosen or "fake"] * 2


async def test_a_run_is_left_while_the_run_within_it_cannot_be_taken_up(bench: Bench) -> None:
    bench.register("inner", {"a": Stop(bench)})
    graph(bench, {}, {"id": "nested", "workflow": "inner"})
    left = await bench.run("g")
    other = await bench.make_runner(bench.config).store()
    runs = await asyncio.to_thread(other.reader().runs, parents_only=False)
    (child,) = (run.id for run in runs if run.parent)
    await other.adopt(child)
    result = await taken_up(bench, left)
    assert (result.ok, result.error_code) == (False, "RunIsOwned")
    assert (await row_of(bench.runner, left.execution_id)).resumable
    # how long an owner may be silent counts for the runs within it, too
    result = await bench.resume(left.execution_id, takeover_after=-1.0)
    assert (result.ok, result.response) == (True, "time 2")


async def test_a_machines_move_is_logged_once_though_the_process_ends_behind_its_state(bench: Bench) -> None:
    bench.machine("* to a\na to b\nb to *\n")
    emit, seen = bench.front.emit, list[Any]()

    def leave_after_the_first(event: Any) -> None:
        emit(event)
        if event.name is EventName.CHECKPOINT_CREATED and not seen:
            seen.append(event)
            bench.runner.leave()

    bench.front.emit = leave_after_the_first  # type: ignore[method-assign]
    result = await taken_up(bench, await bench.run("walk", "go"))
    assert result.ok, result.error
    events = await events_of(bench.runner, result.execution_id)
    assert [event.data["to"] for event in events if event.name == EventName.TRANSITION] == ["a", "b", "*"]


async def test_a_step_that_is_written_down_while_its_run_is_cancelled_counts(bench: Bench) -> None:
    graph(bench, {}, step("a"), step("b", "a"))
    emit = bench.front.emit

    def cancel_at_the_commit(event: Any) -> None:
        emit(event)
        if event.name is EventName.STEP_COMPLETED:
            bench.runner.cancel()

    bench.front.emit = cancel_at_the_commit  # type: ignore[method-assign]
    result = await bench.run("g")
    assert (result.reason, result.results) == ("cancelled", {"a": "A"})
    steps = await asyncio.to_thread((await bench.reader()).steps, result.execution_id)
    assert [row.status for row in steps] == ["completed", "pending"]
    assert (await row_of(bench.runner, result.execution_id)).completed_steps == 1


@pytest.mark.parametrize("recorded", [False, True])
async def test_what_a_failed_step_leaves_undone_is_skipped_by_the_next_process_too(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, recorded: bool
) -> None:
    skip_the_rest = TaskExecutor._skip_the_rest

    async def fails(_step: StepContext) -> str:
        raise StepFailed("broken")

    async def left_then(*arguments: Any) -> None:
        if recorded:
            await skip_the_rest(*arguments)
        bench.runner.leave()
        await asyncio.Event().wait()

    monkeypatch.setattr(TaskExecutor, "_skip_the_rest", left_then)
    graph(bench, {"bad": fails}, step("a"), step("bad", "a"), step("after", "bad"), step("last", "after"))
    left = await bench.run("g")
    monkeypatch.undo()
    result = await taken_up(bench, left)
    assert (result.ok, result.error, result.error_code) == (False, "broken", "StepFailed")
    steps = await asyncio.to_thread((await bench.reader()).steps, result.execution_id)
    assert [row.status for row in steps] == ["completed", "failed", "skipped", "skipped"]
    assert len(bench.front.data(EventName.STEP_SKIPPED)) == (0 if recorded else 2)
    (failed,) = bench.front.data(EventName.WORKFLOW_FAILED)
    assert failed["step"] == "bad"
    assert [failed["metrics"][f"{end}_steps"] for end in ("completed", "failed", "skipped", "pending")] == [
        1,
        1,
        2,
        0,
    ]


async def test_without_a_store_no_run_starts_and_the_error_says_what_to_do(bench: Bench) -> None:
    bench.private.mkdir()
    (bench.private / "tideate.db").write_text("this is not a database at all" * 100)
    graph(bench, {}, step("a"))
    result = await bench.run("g")
    assert result.error_code == "StoreError"
    assert "is not a database" in str(result.error)
    assert bench.front.names() == ["WORKFLOW_FAILED"]
    (bench.private / "tideate.db").unlink()
    assert (await bench.run("g")).ok  # it is tried again


async def test_a_run_whose_store_fails_is_not_called_completed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph(bench, {"a": passing}, step("a"))
    store = await bench.runner.store()
    await bench.run("g")
    begin = store.begin

    async def begin_and_fail(run: Any) -> Any:
        log = await begin(run)

        async def full(_ending: Any, _last: Any) -> None:
            raise StoreError("the disk is full")

        monkeypatch.setattr(log, "ended", full)
        return log

    monkeypatch.setattr(store, "begin", begin_and_fail)
    result = await bench.run("g")
    assert (result.ok, result.error_code) == (False, "StoreError")
    assert bench.front.names()[-1] == "WORKFLOW_FAILED"


async def test_a_manual_checkpoint_is_told(bench: Bench) -> None:
    bench.front.hold = True
    graph(bench, {}, step("a"), step("b", "a", confirm="Sure?"))
    task = bench.begin("g")
    await bench.front.until_asked()
    (run,) = bench.runner.running
    row = await bench.runner.persist_checkpoint(run.id)
    assert (row.manual, row.step) == (True, "a")
    assert bench.front.data(EventName.CHECKPOINT_CREATED)[-1]["manual"] is True
    bench.runner.cancel()
    await task


async def test_a_run_whose_end_could_not_be_written_is_taken_up_by_the_same_process(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "PATIENCE", 0)
    monkeypatch.setattr(writer, "RETRY_AFTER", 0.02)
    monkeypatch.setattr(writer, "LOCKED", 0)
    await bench.runner.store()
    other = sqlite3.connect(bench.private / "tideate.db", isolation_level=None)

    async def locks(step: StepContext) -> str:
        if not other.in_transaction:
            other.execute("BEGIN IMMEDIATE")
        return step.step

    graph(bench, {"b": locks}, step("a"), step("b", "a"))
    result = await asyncio.wait_for(bench.run("g"), LIMIT)
    assert (result.ok, result.error_code) == (False, "StoreError")
    assert "is kept locked" in str(result.error)
    other.execute("ROLLBACK")
    other.close()
    graph(bench, {}, step("a"), step("b", "a"))
    again = await bench.resume(result.execution_id, changed="stored")
    assert again.ok, again.error
    assert again.results == {"a": "A", "b": "B"}


async def test_after_its_database_was_deleted_a_run_says_so_and_the_next_one_has_a_new_one(
    bench: Bench,
) -> None:
    async def deletes(_step: StepContext) -> int:
        shutil.rmtree(bench.private)
        return 1

    graph(bench, {"a": deletes}, step("a"))
    result = await asyncio.wait_for(bench.run("g"), LIMIT)
    assert (result.ok, result.error_code) == (False, "StoreError")
    assert "was deleted or replaced" in str(result.error)
    graph(bench, {}, step("a"))
    later = await asyncio.wait_for(bench.run("g"), LIMIT)
    assert later.ok, later.error
    with sqlite3.connect(bench.private / "tideate.db") as reading:
        assert reading.execute("SELECT id, status FROM workflow_executions").fetchall() == [
            (later.execution_id, "completed")
        ]
    reading.close()


@pytest.mark.parametrize(("levels", "ok"), [(200, True), (201, False)])
async def test_a_result_too_deep_to_be_read_again_fails_its_step(bench: Bench, levels: int, ok: bool) -> None:
    async def deep(_step: StepContext) -> Any:
        value: Any = 1
        for _ in range(levels):
            value = [value]
        return value

    graph(bench, {"a": deep}, step("a"))
    result = await bench.run("g")
    assert result.ok is ok
    assert ok or "deeper than 200 levels" in str(result.error)
    row = await row_of(bench.runner, result.execution_id)
    assert row.status == ("completed" if ok else "failed")
    steps = (await bench.reader()).steps(result.execution_id)
    assert (steps[0].result == result.results.get("a")) is True


async def test_a_memo_that_cannot_be_kept_fails_its_step(bench: Bench) -> None:
    async def remembers(step: StepContext) -> None:
        await step.remember("done:caf\udce9.txt", True)

    graph(bench, {"a": remembers}, step("a"))
    result = await bench.run("g")
    assert (result.ok, result.error_code) == (False, "InvalidInput")
    assert (await row_of(bench.runner, result.execution_id)).status == "failed"


async def test_a_definition_that_was_chosen_is_the_runs_own_from_then_on(bench: Bench) -> None:
    stop, again = Stop(bench), Stop(bench)
    graph(bench, {"a": passing, "stop": stop}, step("a"), step("stop", "a"))
    left = await bench.run("g")
    bench.registry = WorkflowRegistry()
    graph(bench, {"a": passing, "new": again}, step("a"), step("new", "a"))
    left = await taken_up(bench, left, changed="file")
    row = await row_of(bench.runner, left.execution_id)
    assert (row.completed_steps, row.total_steps) == (1, 2)
    reader = await bench.reader()
    shown = await asyncio.to_thread(reader.steps, left.execution_id)
    assert [(step.step, step.status) for step in shown] == [("a", "completed"), ("new", "running")]
    known = await asyncio.to_thread(reader.graph, left.execution_id)
    assert known is not None
    assert known.nodes == ("a", "new")
    bench.front.answer = no
    result = await taken_up(bench, left)
    assert bench.front.requests == []
    assert result.results == {"a": "A", "new": "time 2"}
