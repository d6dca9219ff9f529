"""Waiting for a delivery, with cancellations."""

from __future__ import annotations

import asyncio

import pytest

from tideate_core.errors import StoreError
from tideate_core.store.delivery import Delivery, call_in, deliver

pytestmark = pytest.mark.concurrency

LIMIT = 60.0


def waited_for() -> tuple[Delivery, asyncio.Task[bool]]:
    delivery = Delivery(asyncio.get_running_loop().create_future())
    return delivery, asyncio.create_task(delivery.outlast())


async def test_it_ends_when_it_is_told() -> None:
    delivery, task = waited_for()
    await asyncio.sleep(0)
    assert not task.done()
    deliver([delivery])
    assert await asyncio.wait_for(task, LIMIT) is False


@pytest.mark.parametrize("times", [1, 3])
async def test_a_cancel_is_kept_until_it_is_told(times: int) -> None:
    delivery, task = waited_for()
    for _ in range(times):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not task.done()
    delivery.deliver()
    assert await asyncio.wait_for(task, LIMIT) is True


async def test_a_word_between_the_cancel_and_the_next_wait_is_not_missed() -> None:
    delivery, task = waited_for()
    await asyncio.sleep(0)
    task.cancel()
    delivery.deliver()  # before the task ran again: what it waited for is cancelled
    assert await asyncio.wait_for(task, LIMIT) is True


async def test_a_cancel_after_the_word_does_not_lose_it() -> None:
    delivery, task = waited_for()
    await asyncio.sleep(0)
    delivery.deliver()
    task.cancel()
    assert await asyncio.wait_for(task, LIMIT) is True


async def test_one_that_is_cancelled_before_it_waits_still_waits() -> None:
    delivery, task = waited_for()

    async def waits() -> bool:
        asyncio.current_task().cancel()  # type: ignore[union-attr]
        return await delivery.outlast()

    late = asyncio.create_task(waits())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not late.done()
    delivery.deliver()
    assert await asyncio.wait_for(late, LIMIT) is True
    task.cancel()
    await asyncio.wait({task}, timeout=LIMIT)


@pytest.mark.parametrize("cancelled", [False, True])
async def test_an_error_is_told_cancelled_or_not(cancelled: bool) -> None:
    delivery, task = waited_for()
    await asyncio.sleep(0)
    delivery.error = StoreError("the disk is full")
    if cancelled:
        task.cancel()
    delivery.deliver()
    with pytest.raises(StoreError, match="the disk is full"):
        await asyncio.wait_for(task, LIMIT)


def test_a_loop_that_has_ended_is_told_nothing() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    call_in(loop, pytest.fail, "called")
