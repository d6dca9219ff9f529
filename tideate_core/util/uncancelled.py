"""Waits that cancellations do not interrupt: for a task, for work, for the cleanup of cancelled work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine

_T = TypeVar("_T")


async def wait_uncancelled(task: asyncio.Future[Any], on_cancel: Callable[[], object] | None = None) -> bool:
    """Wait for the end of a task despite cancellations of the caller; return whether there were any.

    The task's exception is neither raised nor retrieved.

    :param on_cancel: called at each cancellation of the caller.
    """
    import asyncio  # here, as below, because a guarded program must not wait for it

    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
            if on_cancel is not None:
                on_cancel()
    return cancelled


async def run_uncancelled(
    work: Coroutine[Any, Any, _T], revert: Callable[[_T], Coroutine[Any, Any, object]] | None = None
) -> _T:
    """Complete work that must not be interrupted; a cancellation is raised afterwards.

    :param revert: reverts the work if the caller was cancelled meanwhile; also uninterrupted.
    """
    import asyncio

    task = asyncio.ensure_future(work)
    if not await wait_uncancelled(task):
        return task.result()
    if (error := task.exception()) is not None:
        raise asyncio.CancelledError from error
    if revert is not None:
        await run_uncancelled(revert(task.result()))
    raise asyncio.CancelledError


async def run_in_thread(
    work: Callable[[], _T], revert: Callable[[_T], Coroutine[Any, Any, object]] | None = None
) -> _T:
    """Complete blocking work in a thread, as `run_uncancelled` does."""
    import asyncio

    return await run_uncancelled(asyncio.to_thread(work), revert)


async def run_cancelled_once(work: Coroutine[Any, Any, _T]) -> _T:
    """Run work that may be cancelled only once: its cleanup completes despite further cancellations."""
    import asyncio

    task = asyncio.ensure_future(work)
    if await wait_uncancelled(task, lambda: task.cancelling() or task.cancel()):
        error = None if task.cancelled() else task.exception()
        raise asyncio.CancelledError from error
    return task.result()
