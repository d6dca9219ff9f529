"""Time limits that pause while a person is asked."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator


class _Limit:
    def __init__(self, timeout: asyncio.Timeout) -> None:
        self._timeout = timeout
        self._questions = 0
        self._left: float | None = None
        self.over = False
        """The work within the limit has ended."""

    def stop(self) -> None:
        self._questions += 1
        ends = self._timeout.when()
        if self._questions == 1 and ends is not None and not self._timeout.expired():
            self._left = ends - asyncio.get_running_loop().time()
            self._timeout.reschedule(None)

    def go_on(self) -> None:
        self._questions -= 1
        if self._questions or self._left is None or self.over:
            return
        self._timeout.reschedule(asyncio.get_running_loop().time() + self._left)
        self._left = None


class Stopwatch:
    """Time since its start, without the time spent in `persons_time`."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._questions = 0
        self._begun = self._now()
        self._asked = 0.0

    def stop(self) -> None:
        self._questions += 1
        if self._questions == 1:
            self._asked = self._now()

    def go_on(self) -> None:
        self._questions -= 1
        if not self._questions:
            self._begun += self._now() - self._asked

    @property
    def milliseconds(self) -> int:
        return round((self._now() - self._begun) * 1000)


# limits around the current code; a task inherits those of its creator
_limits: ContextVar[tuple[_Limit | Stopwatch, ...]] = ContextVar("limits_of_time", default=())


@asynccontextmanager
async def working_time(seconds: float | None) -> AsyncIterator[asyncio.Timeout]:
    """Limit the time of a block, without the time spent in `persons_time`; None: no limit.

    Tasks started inside also pause this limit when they ask a person.

    :raises TimeoutError: it took longer; `expired()` of the value is then true.
    """
    async with asyncio.timeout(seconds) as timeout:
        limit = _Limit(timeout)
        before = _limits.set((*_limits.get(), limit))
        try:
            yield timeout
        finally:
            limit.over = True
            _limits.reset(before)


@contextmanager
def stopwatch(now: Callable[[], float] = time.monotonic) -> Iterator[Stopwatch]:
    """Measure the time of a block, without the time spent in `persons_time`.

    :param now: clock in seconds.
    """
    watch = Stopwatch(now)
    before = _limits.set((*_limits.get(), watch))
    try:
        yield watch
    finally:
        _limits.reset(before)


@contextmanager
def persons_time() -> Iterator[None]:
    """Pause all surrounding time limits while a person is asked."""
    limits = _limits.get()
    for limit in limits:
        limit.stop()
    try:
        yield
    finally:
        for limit in limits:
            limit.go_on()
