"""Supervision of owned runs: heartbeats, control requests from other processes, takeovers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from tideate_core.store.leases import HEARTBEAT
from tideate_core.store.records import Message

if TYPE_CHECKING:
    import sqlite3

    from tideate_core.store.group_commit import RunBuffer
    from tideate_core.store.leases import Owner
    from tideate_core.store.records import ControlRequest
    from tideate_core.store.transaction import Transaction

TICK: Final = 0.05
"""Seconds between two checks for writes of other processes."""


class OwnedRuns:
    """Runs leased by this process; used only in the writer's thread.

    :param owner: the owner of the leases.
    """

    def __init__(self, connection: sqlite3.Connection, owner: Owner) -> None:
        self.had_any = False
        """There was at least one run, so that leases of this owner may exist."""
        self._connection = connection
        self._owner = owner.id
        self._logs: dict[str, RunBuffer] = {}
        self._next_look = self._next_beat = 0.0
        self._data_version = -1
        self._last_request = 0
        self._delivered: list[tuple[int]] = []

    def __bool__(self) -> bool:
        return bool(self._logs)

    def __contains__(self, run: str) -> bool:
        return run in self._logs

    @property
    def logs(self) -> list[RunBuffer]:
        return list(self._logs.values())

    def attach(self, log: RunBuffer) -> None:
        """Start to supervise a run."""
        self.had_any = True
        self._logs[log.run_id] = log

    def detach(self, log: RunBuffer) -> None:
        """Stop supervising a run."""
        self._logs.pop(log.run_id, None)

    def pass_on(self, run: str, request: ControlRequest) -> None:
        """Pass a control request to the run if it is supervised here."""
        if (log := self._logs.get(run)) is not None:
            log.pass_on(request)

    def look_is_due(self) -> bool:
        return bool(self._logs) and time.monotonic() >= self._next_look

    def look(self) -> list[RunBuffer]:
        """Pass on the control requests of other processes; returns the runs that they took over.

        Every run that is not returned is owned as long as no other connection commits. That costs one
        statement if none has committed since the last look.
        """
        self._next_look = time.monotonic() + TICK
        version = self._connection.execute("PRAGMA data_version").fetchone()[0]
        if version == self._data_version or not self._logs:
            return []
        owned = self._connection.execute(
            "SELECT execution_id FROM workflow_leases WHERE owner = ?", (self._owner,)
        ).fetchall()
        requests = self._connection.execute(
            "SELECT w.id, w.execution_id, w.wish, w.text FROM workflow_wishes w JOIN workflow_leases l"
            " USING (execution_id) WHERE l.owner = ? AND w.id > ? ORDER BY w.id",
            (self._owner, self._last_request),
        ).fetchall()
        self._data_version = version
        for number, run, word, text in requests:
            self._last_request = number
            if word == "say":
                self.pass_on(run, Message(text, number))  # it stays until a model reads it
            else:
                self.pass_on(run, word)
                self._delivered.append((number,))
        return [log for run, log in self._logs.items() if (run,) not in owned]

    def beat_is_due(self) -> bool:
        return bool(self._logs) and time.monotonic() >= self._next_beat

    def beat_later(self, seconds: float) -> None:
        """Schedule the next heartbeat after a failed one."""
        self._next_beat = time.monotonic() + seconds

    def write(self, transaction: Transaction) -> None:
        """Write a due heartbeat and delete delivered requests, as part of any commit."""
        if self._delivered:
            transaction.connection.executemany("DELETE FROM workflow_wishes WHERE id = ?", self._delivered)
            transaction.after.append(self._delivered.clear)
        now = time.monotonic()
        if self._logs and now >= self._next_beat - HEARTBEAT / 2:
            self._next_beat = now + HEARTBEAT
            transaction.beat(self._logs)
