"""One process of the bundled model for all adapters of an event loop: it takes 250 MB."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tideate_core.adapters.local_process import start_process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.adapters.local_process import LocalProcess

__all__ = ["SharedProcess", "hold_process"]

IDLE_LIMIT = 600.0
"""Seconds without a prompt after which the process is stopped; the next prompt starts another."""


class SharedProcess:
    """Stopped when its last holder lets go of it, or when nobody has asked it for a while."""

    def __init__(self, process: LocalProcess) -> None:
        self.url = process.url
        self.key = process.key
        self._process = process
        self._holders = 0
        self._prompts = 0
        self._timer: asyncio.TimerHandle | None = None
        self._stopping: asyncio.Task[None] | None = None

    def alive(self) -> bool:
        return self._stopping is None and self._process.alive()

    def hold(self) -> None:
        self._holders += 1

    async def release(self) -> None:
        self._holders -= 1
        if not self._holders:
            # a cancelled close must not leave it half stopped
            await asyncio.shield(self._stop())

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep it from being idle."""
        self._prompts += 1
        self._forget_timer()
        try:
            yield
        finally:
            self._prompts -= 1
            if not self._prompts and self.alive():
                self._timer = asyncio.get_running_loop().call_later(IDLE_LIMIT, self._stop)

    def _stop(self) -> asyncio.Task[None]:
        self._forget_timer()
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._process.stop())
        return self._stopping

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


@dataclass(slots=True)
class _Place:
    shared: SharedProcess | None = None
    starting: asyncio.Lock = field(default_factory=asyncio.Lock)


_places: dict[asyncio.AbstractEventLoop, _Place] = {}


async def hold_process() -> SharedProcess:
    """Return this event loop's process, started if none runs; the caller releases it.

    :raises AdapterUnavailable: it cannot be started.
    """
    for loop in [loop for loop in list(_places) if loop.is_closed()]:
        _places.pop(loop, None)
    place = _places.setdefault(asyncio.get_running_loop(), _Place())
    async with place.starting:
        if place.shared is None or not place.shared.alive():
            place.shared = SharedProcess(await start_process())
        place.shared.hold()
        return place.shared
