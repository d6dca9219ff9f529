"""The runs that this process has: that they live, what others ask of them, and which were taken away."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from tideate_core.store.leases import HEARTBEAT
from tideate_core.store.watch import Watch

if TYPE_CHECKING:
    import sqlite3

    from tideate_core.store.leases import Owner
    from tideate_core.store.log import RunLog
    from tideate_core.store.records import Wish
    from tideate_core.store.transaction import Transaction

__all__ = ["TICK", "Held"]

TICK: Final = 0.05
"""Seconds between two looks for what others ask."""


class Held:
    """For the writer's thread alone.

    :param owner: as whom they are held.
    """

    def __init__(self, connection: sqlite3.Connection, owner: Owner) -> None:
        self.had_any = False
        """There was at least one, so that there may be leases of this owner."""
        self._logs: dict[str, RunLog] = {}
        self._watch = Watch(connection, owner)
        self._next_look = self._next_beat = 0.0

    def __bool__(self) -> bool:
        return bool(self._logs)

    def __contains__(self, run: str) -> bool:
        return run in self._logs

    @property
    def logs(self) -> list[RunLog]:
        return list(self._logs.values())

    def attach(self, log: RunLog) -> None:
        """Care for a run from now on."""
        self.had_any = True
        self._logs[log.run_id] = log

    def detach(self, log: RunLog) -> None:
        """Care for a run no longer."""
        self._logs.pop(log.run_id, None)

    def pass_on(self, run: str, wish: Wish) -> None:
        """Tell the owner of a run that is held here what is asked of it."""
        if (log := self._logs.get(run)) is not None:
            log.hear(wish)

    def look(self) -> list[RunLog]:
        """Pass on what is asked, if it is time to look; returns the runs that others took."""
        now = time.monotonic()
        if not self._logs or now < self._next_look:
            return []
        self._next_look = now + TICK
        seen = self._watch.look()
        if seen is None:
            return []
        for run, wish in seen.wishes:
            self.pass_on(run, wish)
        return [log for run, log in self._logs.items() if run not in seen.ours]

    def hear(self) -> None:
        """Pass on what is asked of the runs; whether they are still held here is looked at later."""
        seen = self._watch.look()
        if seen is not None:
            self._watch.look_again()
            for run, wish in seen.wishes:
                self.pass_on(run, wish)

    def beat_is_due(self) -> bool:
        return bool(self._logs) and time.monotonic() >= self._next_beat

    def beat_later(self, seconds: float) -> None:
        """It failed: try again then."""
        self._next_beat = time.monotonic() + seconds

    def write(self, transaction: Transaction) -> None:
        """Write, with a commit that is made anyway or when it is time, that they live and what was heard."""
        self._watch.forget(transaction)
        now = time.monotonic()
        if self._logs and now >= self._next_beat - HEARTBEAT / 2:
            self._next_beat = now + HEARTBEAT
            transaction.beat(self._logs)
