"""Waits that a cancellation does not interrupt."""

from __future__ import annotations

import asyncio

import pytest

from tideate_core.util.uncancelled import run_cancelled_once, run_uncancelled, wait_uncancelled


class Work:
    """Work that continues until it is released."""

    def __init__(self) -> None:
        self.begun, self.may_end, self.reverted = asyncio.Event(), asyncio.Event(), list[int]()
        self.error: Exception | None = None

    async def do(self) -> int:
        self.begun.set()
        await self.may_end.wait()
        if self.error is not None:
            raise self.error
        return 3

    async def revert(self, result: int) -> None:
        await asyncio.sleep(0)
        self.reverted.append(result)

    async def cancelled_twice(self, waiting: asyncio.Task[int]) -> None:
        await self.begun.wait()
        for _ in range(2):
            waiting.cancel()
            await asyncio.sleep(0)
        assert not waiting.done()
        self.may_end.set()


async def test_what_nobody_cancels_gives_its_result() -> None:
    work = Work()
    work.may_end.set()
    assert await run_uncancelled(work.do(), work.revert) == 3
    assert work.reverted == []


async def test_a_cancellation_is_raised_when_the_work_is_done_and_reverted() -> None:
    work = Work()
    waiting = asyncio.create_task(run_uncancelled(work.do(), work.revert))
    await work.cancelled_twice(waiting)
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert work.reverted == [3]


async def test_an_error_of_cancelled_work_is_the_cause_of_the_cancellation() -> None:
    work = Work()
    work.error = ValueError("full")
    waiting = asyncio.create_task(run_uncancelled(work.do(), work.revert))
    await work.cancelled_twice(waiting)
    with pytest.raises(asyncio.CancelledError) as caught:
        await waiting
    assert caught.value.__cause__ is work.error
    assert work.reverted == []


async def test_an_error_that_nobody_cancelled_is_raised() -> None:
    work = Work()
    work.error = ValueError("full")
    work.may_end.set()
    with pytest.raises(ValueError, match="full"):
        await run_uncancelled(work.do())


async def test_a_wait_tells_of_every_cancellation() -> None:
    work, told = Work(), list[int]()
    task = asyncio.create_task(work.do())

    async def wait() -> bool:
        return await wait_uncancelled(task, lambda: told.append(1))

    waiting = asyncio.create_task(wait())
    await work.cancelled_twice(waiting)
    assert await waiting
    assert told == [1, 1]
    assert task.result() == 3


class Cleanup:
    """Work with a slow cleanup after cancellation."""

    def __init__(self) -> None:
        self.begun, self.may_end, self.cleaned = asyncio.Event(), asyncio.Event(), False

    async def do(self) -> int:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await self.may_end.wait()
            self.cleaned = True
        return 3


async def test_a_second_cancellation_does_not_interrupt_the_cleanup() -> None:
    work = Cleanup()
    waiting = asyncio.create_task(run_cancelled_once(work.do()))
    await work.begun.wait()
    for _ in range(3):
        waiting.cancel()
        await asyncio.sleep(0)
    assert not waiting.done()
    work.may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert work.cleaned


async def test_work_that_nobody_cancels_gives_its_result_or_its_error() -> None:
    work = Work()
    work.may_end.set()
    assert await run_cancelled_once(work.do()) == 3
    work.error = ValueError("full")
    with pytest.raises(ValueError, match="full"):
        await run_cancelled_once(work.do())
