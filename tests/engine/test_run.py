"""A cancelled run with a blocked store: its steps stop at once, and a notice explains the delay."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.engine.test_loop import graph, paused, step
from tests.engine.test_resumed_runs import events_of
from tests.harness.front import LIMIT
from tideate_core.engine import EventName, run, task_group
from tideate_core.errors import WorkspaceError
from tideate_core.machines import ExecutionEvent, ExecutionState
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.engine import Run, WorkflowResult
    from tideate_core.store import CheckpointRow, NewRun, RunLog, Store
    from tideate_core.workflows import StepContext


async def cancelled_while(bench: Bench, lock: bool) -> list[str]:
    """Cancel a run with a locked database or a slow step; return its notices."""
    started, stopped, go = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def works(_step: StepContext) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
            if not lock:
                await go.wait()

    graph(bench, {"a": works}, step("a"))
    task = bench.begin("g")
    await asyncio.wait_for(started.wait(), LIMIT)
    with closing(sqlite3.connect(bench.private / "tideate.db", isolation_level=None)) as other:
        if lock:
            other.execute("BEGIN IMMEDIATE")
        bench.runner.cancel()
        await asyncio.wait_for(stopped.wait(), LIMIT)  # while the lock is held
        await bench.front.until_told("NOTICE")
        go.set()
        other.close()
    result = await asyncio.wait_for(task, LIMIT)
    assert result.reason == "cancelled"
    assert (await events_of(bench.runner, result.execution_id))[-1].name == EventName.WORKFLOW_CANCELLED
    return bench.front.notices()


@pytest.mark.slow
async def test_steps_stop_though_the_database_is_locked_and_that_is_said(bench: Bench) -> None:
    (told,) = await cancelled_while(bench, lock=True)
    assert "waits for the database, which another process keeps locked" in told


async def test_a_step_that_takes_its_time_to_stop_is_said_to(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "LATE", 0.05)
    (told,) = await cancelled_while(bench, lock=False)
    assert told == "cancelled; waiting for running work to end"


async def test_a_run_that_ends_at_once_is_not_said_to_wait(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = asyncio.Event()
    monkeypatch.setattr(run.Run, "_explain_delay", lambda _: told.set())
    started = asyncio.Event()

    async def works(_step: StepContext) -> None:
        started.set()
        await asyncio.Event().wait()

    graph(bench, {"a": works}, step("a"))
    task = bench.begin("g")
    await asyncio.wait_for(started.wait(), LIMIT)
    [cancelled] = bench.runner.running
    bench.runner.cancel()
    assert (await asyncio.wait_for(task, LIMIT)).reason == "cancelled"
    assert cancelled._late_notice is not None
    assert cancelled._late_notice.cancelled()
    assert not told.is_set()


@pytest.mark.parametrize("by", ["the person", "its timeout"])
async def test_what_a_handler_writes_after_it_was_left_to_itself_is_refused(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """It goes on though it was stopped: that is said, and its writes do not reach the project."""
    monkeypatch.setattr(task_group, "GRACE", 0.05)
    monkeypatch.setattr(task_group, "LOOK", 0.01)
    started, go = asyncio.Event(), asyncio.Event()
    came: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def stubborn(context: StepContext) -> None:
        started.set()
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue
        late = FileChange("late.txt", "create", None, "late\n")
        try:
            await context.workspace.apply([late], execution_id=context.execution_id)
        except WorkspaceError as error:
            came.set_result(str(error))
        else:
            came.set_result("written")

    limits = {"timeout": 50} if by == "its timeout" else {}
    graph(bench, {"a": stubborn}, step("a", **limits))
    task = bench.begin("g")
    await asyncio.wait_for(started.wait(), LIMIT)
    if by == "the person":
        bench.runner.cancel()
    result = await asyncio.wait_for(task, LIMIT)
    assert not result.ok
    words = bench.front.notices()
    assert "a is still running though it was stopped; what it writes now is refused" in words
    go.set()
    assert await asyncio.wait_for(came, LIMIT) == "the step 'a' was stopped; nothing more of it is written"
    assert not (bench.workspace().root / "late.txt").exists()  # type: ignore[operator]


async def test_a_run_whose_caller_is_cancelled_while_it_is_written_down_comes_to_its_end(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, opening, may_open = await bench.runner.store(), asyncio.Event(), asyncio.Event()
    begin = store.begin

    async def begin_later(run: NewRun) -> RunLog:
        opening.set()
        await may_open.wait()
        return await begin(run)

    async def never(_step: StepContext) -> None:
        raise AssertionError("no step may begin")

    monkeypatch.setattr(store, "begin", begin_later)
    graph(bench, {"a": never}, step("a"))
    task = bench.begin("g")
    await asyncio.wait_for(opening.wait(), LIMIT)
    task.cancel()
    may_open.set()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, LIMIT)
    await bench.front.until_told("WORKFLOW_CANCELLED")
    (row,) = await asyncio.to_thread(store.reader().runs)
    assert (row.status, row.ended) == ("cancelled", True)


class HeldWrites:
    """Delays the store's writes of checkpoints until it is released."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        self._write = store.checkpoint
        monkeypatch.setattr(store, "checkpoint", self._checkpoint)

    async def _checkpoint(self, run: str, *, at: int) -> CheckpointRow:
        self.begun.set()
        await self.go_on.wait()
        return await self._write(run, at=at)


@pytest.mark.parametrize("meanwhile", ["nothing", "a step ends", "a pause", "a cancel"])
async def test_a_checkpoint_is_created_once_it_is_written(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    """Document 5, `CreateCheckpoint` and `CheckpointCreated`."""
    held, may_end = HeldWrites(await bench.runner.store(), monkeypatch), asyncio.Event()

    async def waits(_step: StepContext) -> None:
        await may_end.wait()

    async def ends(_step: StepContext) -> str:
        return "done"

    graph(bench, {"a": waits, "b": ends}, step("a"), step("b", "a"))
    task = bench.begin("g")
    await bench.front.until_told("STEP_STARTED")
    (run,) = bench.runner.running
    making = asyncio.create_task(bench.runner.persist_checkpoint(run.id))
    await held.begun.wait()
    assert run.machine.state.value == "creating_checkpoint"
    if meanwhile == "a cancel":
        bench.runner.cancel(run.id)
        await asyncio.wait([task])
        held.go_on.set()
        assert (await making).manual
        assert run.machine.state is ExecutionState.CANCELLED
        return
    if meanwhile == "a pause":
        bench.runner.pause(run.id)
    if meanwhile != "nothing":
        may_end.set()
        await bench.front.until_told("STEP_COMPLETED")
    if meanwhile == "a pause":
        await bench.front.until_told("WORKFLOW_PAUSED")
        bench.runner.resume(run.id)
    held.go_on.set()
    await making
    may_end.set()
    assert (await asyncio.wait_for(task, LIMIT)).ok
    history = [move.event for move in run.machine.get_history()]
    at = history.index(ExecutionEvent.CREATE_CHECKPOINT)
    assert history[at + 1] is ExecutionEvent.CHECKPOINT_CREATED


async def paused_between(bench: Bench) -> tuple[Run, asyncio.Task[WorkflowResult]]:
    async def pauses(context: StepContext) -> None:
        bench.runner.pause(context.execution_id)

    async def ends(_step: StepContext) -> str:
        return "done"

    graph(bench, {"a": pauses, "b": ends}, step("a"), step("b", "a"))
    task = bench.begin("g")
    await bench.front.until_told("WORKFLOW_PAUSED")
    (run,) = bench.runner.running
    return run, task


async def test_a_run_that_is_resumed_while_its_checkpoint_is_written_goes_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = HeldWrites(await bench.runner.store(), monkeypatch)

    run, task = await paused_between(bench)
    making = asyncio.create_task(bench.runner.persist_checkpoint(run.id))
    await held.begun.wait()
    assert run.is_paused
    bench.runner.resume(run.id)
    assert (await asyncio.wait_for(task, LIMIT)).ok
    held.go_on.set()
    await making
    assert run.machine.state is ExecutionState.COMPLETED


async def test_a_checkpoint_can_be_made_of_a_run_that_is_paused(bench: Bench) -> None:
    run, task = await paused_between(bench)
    row = await bench.runner.persist_checkpoint(run.id)
    made = [data for data in bench.front.data(EventName.CHECKPOINT_CREATED) if data["manual"]]
    assert [data["checkpoint_id"] for data in made] == [row.id]
    assert paused(run)
    bench.runner.resume(run.id)
    assert (await asyncio.wait_for(task, LIMIT)).ok
