"""The tasks of a run's steps: the first failure stops the others, and nothing waits for ever."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from tideate_core.engine import task_group as module
from tideate_core.engine.task_group import TaskGroup
from tideate_core.errors import StepFailed

pytestmark = pytest.mark.concurrency

LIMIT = 60.0


@pytest.fixture
def task_group() -> TaskGroup:
    return TaskGroup()


async def forever() -> None:
    await asyncio.Event().wait()


async def test_all_tasks_are_waited_for_those_that_a_task_starts_too(task_group: TaskGroup) -> None:
    done: list[str] = []

    async def second() -> None:
        await asyncio.sleep(0)
        done.append("second")

    async def first() -> None:
        task_group.start(second())
        done.append("first")

    task_group.start(first())
    await asyncio.wait_for(task_group.wait(), LIMIT)
    assert done == ["first", "second"]
    assert (len(task_group), task_group.accepts) == (0, True)


async def test_without_tasks_there_is_nothing_to_wait_for(task_group: TaskGroup) -> None:
    await asyncio.wait_for(task_group.wait(), LIMIT)


async def test_the_first_error_stops_the_others_and_is_raised(task_group: TaskGroup) -> None:
    stopped: list[str] = []

    async def stops(name: str) -> None:
        try:
            await task_group.handle(name, forever())
        finally:
            stopped.append(name)

    async def fails(words: str) -> None:
        raise ValueError(words)

    task_group.start(stops("a"))
    await asyncio.sleep(0)
    for words in ("first", "second"):
        task_group.start(fails(words))
    with pytest.raises(ValueError, match="first"):
        await asyncio.wait_for(task_group.wait(), LIMIT)
    assert (stopped, len(task_group), task_group.accepts) == (["a"], 0, False)


async def test_a_cancel_stops_all_and_is_raised(task_group: TaskGroup) -> None:
    ended: list[int] = []

    async def task(number: int) -> None:
        try:
            await task_group.handle("s", forever())
        finally:
            ended.append(number)

    for number in range(3):
        task_group.start(task(number))
    waiting = asyncio.create_task(task_group.wait())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(waiting, LIMIT)
    assert sorted(ended) == [0, 1, 2]


@pytest.mark.parametrize("time_limit", [None, 60_000])
@pytest.mark.parametrize("fails", [False, True])
async def test_what_a_handler_makes_of_being_stopped_does_not_count(
    task_group: TaskGroup, time_limit: int | None, fails: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    came: list[Any] = []
    begun = asyncio.Event()

    async def handler() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if fails:
                raise ValueError("while it was stopped") from None
        return "late"

    async def task() -> None:
        came.append(await task_group.handle("s", handler(), time_limit))

    task_group.start(task())
    waiting = asyncio.create_task(task_group.wait())
    await asyncio.wait_for(begun.wait(), LIMIT)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(waiting, LIMIT)
    assert came == []
    assert ("failed when it was stopped" in caplog.text) is fails


@pytest.mark.slow
async def test_a_handler_that_goes_on_is_left_but_what_is_written_down_is_waited_for(
    task_group: TaskGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GRACE", 0.02)
    go, written, left = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def warning(_words: str, *_values: Any) -> None:
        left.set()

    async def stubborn() -> None:
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue

    async def works() -> None:
        await task_group.handle("stubborn", stubborn())

    async def writes() -> None:
        while not written.is_set():
            try:
                await written.wait()
            except asyncio.CancelledError:
                continue

    monkeypatch.setattr(module.logger, "warning", warning)
    task_group.start(works())
    task_group.start(writes())
    waiting = asyncio.create_task(task_group.wait())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait_for(left.wait(), LIMIT)
    assert not waiting.done()
    written.set()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(waiting, LIMIT)
    (task,) = module._left_behind
    go.set()
    await asyncio.wait({task}, timeout=LIMIT)
    assert task.cancelled()


async def test_a_cancel_while_the_others_are_stopped_is_a_cancel(task_group: TaskGroup) -> None:
    stopping, go = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopping.set()
            await go.wait()

    async def fails() -> None:
        raise ValueError

    task_group.start(slow())
    await asyncio.sleep(0)
    task_group.start(fails())
    waiting = asyncio.create_task(task_group.wait())
    await asyncio.wait_for(stopping.wait(), LIMIT)
    waiting.cancel()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(waiting, LIMIT)


@pytest.mark.parametrize("time_limit", [None, 60_000])
async def test_a_cancellation_that_nobody_asked_for_is_a_failure(
    task_group: TaskGroup, time_limit: int | None
) -> None:
    async def handler() -> None:
        inner = asyncio.create_task(forever())
        asyncio.get_running_loop().call_soon(inner.cancel)
        await inner

    with pytest.raises(StepFailed, match="though the run was not"):
        await task_group.handle("s", handler(), time_limit)


def cancel_oneself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


@pytest.mark.parametrize("fails", [False, True])
async def test_a_handler_that_cancels_its_own_task_harms_only_its_step(
    task_group: TaskGroup, fails: bool
) -> None:
    came: list[str] = []

    async def handler() -> str:
        cancel_oneself()
        if fails:
            raise ValueError("its own")
        return "done"

    async def task() -> None:
        try:
            came.append(await task_group.handle("s", handler()))
        except (StepFailed, ValueError) as error:
            came.append(str(error))
        await asyncio.sleep(0)  # nothing of the cancel is left
        current = asyncio.current_task()
        assert current is not None
        came.append(str(current.cancelling()))

    task_group.start(task())
    await asyncio.wait_for(task_group.wait(), LIMIT)
    assert came[0] == "its own" if fails else "though the run was not" in came[0]
    assert came[1:] == ["0"]


async def test_a_cancel_that_a_handler_swallowed_itself_does_not_count(task_group: TaskGroup) -> None:
    async def handler() -> str:
        cancel_oneself()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            return "done"
        return "not cancelled"

    assert await task_group.handle("s", handler()) == "done"


async def test_a_task_that_somebody_else_cancelled_stops_the_others(task_group: TaskGroup) -> None:
    stopped = asyncio.Event()

    async def waits() -> None:
        try:
            await task_group.handle("s", forever())
        finally:
            stopped.set()

    async def cancels() -> None:
        cancel_oneself()
        await asyncio.sleep(0)

    task_group.start(waits())
    await asyncio.sleep(0)
    task_group.start(cancels())
    with pytest.raises(StepFailed, match="though the run was not"):
        await asyncio.wait_for(task_group.wait(), LIMIT)
    assert stopped.is_set()


async def test_what_ends_by_itself_is_waited_for_without_a_limit(
    task_group: TaskGroup, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "GRACE", 0.01)
    monkeypatch.setattr(module, "LOOK", 0.01)
    stopping, go = asyncio.Event(), asyncio.Event()

    async def nested() -> None:
        with task_group.unlimited_grace("s"):
            try:
                await asyncio.Event().wait()
            finally:
                stopping.set()
                await go.wait()

    async def task() -> None:
        await task_group.handle("s", nested())

    task_group.start(task())
    waiting = asyncio.create_task(task_group.wait())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait_for(stopping.wait(), LIMIT)
    done, _ = await asyncio.wait({waiting}, timeout=0.1)
    assert not done
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(waiting, LIMIT)
    assert "it is left behind" not in caplog.text
