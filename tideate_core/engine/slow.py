"""Says what the end of a cancelled run waits for, where it takes longer than a person expects."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from tideate_core.engine.events import Event, EventName

if TYPE_CHECKING:
    from tideate_core.engine.confirmation import FrontEnd
    from tideate_core.engine.live import LiveRun

__all__ = ["Slow"]

SLOW: Final = 1.0
"""Seconds after which a word is due."""


class Slow:
    """Called when a run is cancelled, and told when it is over.

    :param front: is told; among the run's events it would stand behind the one of its end.
    """

    def __init__(self, live: LiveRun, front: FrontEnd) -> None:
        self._live = live
        self._front = front
        self._due: asyncio.TimerHandle | None = None

    def __call__(self) -> None:
        if self._due is None:
            self._due = asyncio.get_running_loop().call_later(SLOW, self._tell)

    def over(self) -> None:
        if self._due is not None:
            self._due.cancel()

    def _tell(self) -> None:
        live = self._live
        message = "cancelled; waits for what is under way to end"
        if live.store_is_stuck:
            message = (
                "cancelled, and no step goes on; its end waits for the database, which another process keeps "
                "locked, or the disk is full. If it cannot be written within 30 s, the run can be resumed"
            )
        data = {"step": live.execution.step, "message": message, "level": "warn"}
        self._front.emit(Event(EventName.NOTICE, live.execution.id, data))
