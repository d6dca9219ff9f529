"""Task group of a run's steps, with a grace period for handlers that ignore cancellation."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tideate_core.errors import StepFailed, StepTimedOut
from tideate_core.workflows import working_time

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator


logger = logging.getLogger(__name__)

GRACE: Final = 5.0
"""Seconds that a stopped handler has to end before it is left behind."""

LOOK: Final = 0.5
"""Seconds between two checks for handlers that delay a stopped group."""

OnLeft: TypeAlias = "Callable[[], object] | None"
"""Called when a handler is left behind."""

_left_behind: set[asyncio.Future[Any]] = set()
"""Tasks that did not end in time, referenced here because the event loop keeps no task alive."""


class TaskGroup:
    """Task group that cancels the other tasks when one fails.

    Unlike `asyncio.TaskGroup`, it waits at most `GRACE` for handlers that ignore cancellation, and ignores
    their later results.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._at_work: dict[asyncio.Task[Any], tuple[str, OnLeft]] = {}
        """Tasks that are running a handler, each with its step and `on_left`."""
        self._unlimited = Counter[str]()
        self._error: BaseException | None = None
        self._stopping = False
        self._change: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        """Return the number of tasks that have not ended."""
        return len(self._tasks)

    @property
    def accepts(self) -> bool:
        """A task may start: none has failed, and the group is not stopping."""
        return not self._stopping and self._error is None

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a task; only while the group `accepts` tasks."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def wait(self) -> None:
        """Wait until no task is left.

        :raises Exception: the error of the first failed task, after the others were stopped.
        :raises asyncio.CancelledError: the caller was cancelled, and all tasks were stopped.
        """
        try:
            while self._tasks and self._error is None:
                self._change = asyncio.get_running_loop().create_future()
                await self._change
        except asyncio.CancelledError:
            await self._stop()
            raise
        if self._error is None:
            return
        if await self._stop():
            raise asyncio.CancelledError from self._error
        raise self._error

    async def handle(
        self, step: str, work: Awaitable[Any], time_limit: int | None = None, on_left: OnLeft = None
    ) -> Any:
        """Wait for a step's handler, within the step's task.

        :param time_limit: milliseconds, None = no limit.
        :param on_left: called if the handler keeps running after it was stopped.
        :raises StepTimedOut: it took longer.
        :raises StepFailed: the handler was cancelled though the run was not stopped.
        """
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 a coroutine is run by one
        before = task.cancelling()
        if time_limit is None:
            self._at_work[task] = step, on_left
        else:
            work = _timed(step, work, time_limit, on_left)
        try:
            try:
                value = await work
            finally:  # the rest is not the handler's code
                self._at_work.pop(task, None)
        except asyncio.CancelledError:
            if self._stopping:
                raise
            await _swallow(task, before)
            raise _cancelled(step) from None
        except Exception as error:
            if not self._stopping:
                await _swallow(task, before)
                raise
            logger.info("the handler of the step %r failed when it was stopped", step, exc_info=error)
            raise asyncio.CancelledError from error
        cancelled = not self._stopping and await _swallow(task, before)
        if self._stopping:  # even if the handler ignored it
            raise asyncio.CancelledError
        if cancelled:
            raise _cancelled(step)
        return value

    @contextmanager
    def unlimited_grace(self, step: str) -> Iterator[None]:
        """Wait for a step's handler without a limit, because it ends by itself."""
        self._unlimited[step] += 1
        try:
            yield
        finally:
            self._unlimited[step] -= 1

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = (None if self._stopping else _cancelled("?")) if task.cancelled() else task.exception()
        if error is not None and self._error is None:
            self._error = error
        if self._change is not None and not self._change.done() and not (self._tasks and self._error is None):
            self._change.set_result(None)

    async def _stop(self) -> bool:
        """Cancel all tasks and wait for their end; return whether the caller was cancelled meanwhile."""
        self._stopping = True
        loop = asyncio.get_running_loop()
        last, cancelled = loop.time() + GRACE, False
        self._cancel()
        while self._tasks:
            left = last - loop.time()
            if left <= 0 and self._overdue():
                self._leave()
                continue
            try:
                await asyncio.wait(set(self._tasks), timeout=max(left, LOOK))
            except asyncio.CancelledError:
                cancelled = True
                self._cancel()
        return cancelled

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _overdue(self) -> list[asyncio.Task[Any]]:
        return [
            task
            for task, (step, _) in self._at_work.items()
            if task in self._tasks and not self._unlimited[step]
        ]

    def _leave(self) -> None:
        """Stop waiting for handlers; writes to the store are still waited for."""
        for task in self._overdue():
            self._tasks.discard(task)
            step, on_left = self._at_work[task]
            _leave_behind(step, task, on_left)


def _cancelled(step: str) -> StepFailed:
    return StepFailed(
        f"step {step!r} ended because something it waited for was cancelled, "
        "though the run was not; let the handler catch that CancelledError"
    )


async def _swallow(task: asyncio.Task[Any], before: int) -> bool:
    """Withdraw a handler's cancellation of its own task; return whether one was pending.

    :param before: the task's count of cancellations when the handler was called.
    """
    if task.cancelling() <= before:
        return False
    pending = False
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        pending = True
    while task.cancelling() > before:
        task.uncancel()
    return pending


async def _timed(step: str, work: Awaitable[Any], time_limit: int, on_left: OnLeft) -> Any:
    """Wait for a handler in a task of its own, so that the step ends even if it ignores cancellation.

    :param time_limit: milliseconds, without the time that a person takes to answer.
    :raises StepTimedOut: it took longer.
    """
    try:
        async with working_time(time_limit / 1000):
            doing = asyncio.ensure_future(work)
            await asyncio.wait({doing})
    except TimeoutError:
        pass  # of the limit: the handler's own errors are raised by its result
    except asyncio.CancelledError:
        await _stop(step, doing, on_left)
        raise
    if doing.done():
        return doing.result()
    await _stop(step, doing, on_left)
    raise StepTimedOut(
        f"step {step!r} took longer than its timeout of {time_limit} ms; give it more time, or less to do"
    )


async def _stop(step: str, doing: asyncio.Future[Any], on_left: OnLeft) -> None:
    """Cancel a handler and wait for its end, at most `GRACE`.

    :raises asyncio.CancelledError: the caller was cancelled meanwhile.
    """
    doing.cancel()
    loop = asyncio.get_running_loop()
    last, cancelled = loop.time() + GRACE, False
    while not doing.done() and (left := last - loop.time()) > 0:
        try:
            await asyncio.wait({doing}, timeout=left)
        except asyncio.CancelledError:
            cancelled = True
            doing.cancel()
    if doing.done():
        _ended_late(step, doing)
    else:
        _leave_behind(step, doing, on_left)
    if cancelled:
        raise asyncio.CancelledError


def _leave_behind(step: str, doing: asyncio.Future[Any], on_left: OnLeft) -> None:
    logger.warning(
        "the handler of the step %r is still running %s s after it was stopped; it is left behind",
        step,
        GRACE,
    )
    if on_left is not None:
        on_left()
    _left_behind.add(doing)
    doing.add_done_callback(partial(_ended_late, step))


def _ended_late(step: str, doing: asyncio.Future[Any]) -> None:
    _left_behind.discard(doing)
    error = None if doing.cancelled() else doing.exception()
    if error is not None:
        logger.info("the handler of the step %r failed when it was stopped", step, exc_info=error)
