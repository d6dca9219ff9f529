"""Supervision of owned runs: heartbeats, control requests from other processes, takeovers."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tideate_core.store.leases import HEARTBEAT
from tideate_core.store.records import Message

if TYPE_CHECKING:
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
        self._logs: dict[str, RunBuffer] = {}
        self._monitor = LeaseMonitor(connection, owner)
        self._next_look = self._next_beat = 0.0

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

    def find_lost(self) -> list[RunBuffer]:
        """Return the runs taken over by other processes, at most once a tick; passes on their control
        requests."""
        now = time.monotonic()
        if not self._logs or now < self._next_look:
            return []
        self._next_look = now + TICK
        found = self._monitor.look()
        if found is None:
            return []
        self._pass_all_on(found)
        return [log for run, log in self._logs.items() if run not in found.owned]

    def pass_requests_on(self) -> None:
        """Pass on control requests; a later check finds runs that were taken over."""
        found = self._monitor.look()
        if found is not None:
            self._monitor.look_again()
            self._pass_all_on(found)

    def beat_is_due(self) -> bool:
        return bool(self._logs) and time.monotonic() >= self._next_beat

    def beat_later(self, seconds: float) -> None:
        """Schedule the next heartbeat after a failed one."""
        self._next_beat = time.monotonic() + seconds

    def write(self, transaction: Transaction) -> None:
        """Write a due heartbeat and delete delivered requests, as part of any commit."""
        self._monitor.delete_seen(transaction)
        now = time.monotonic()
        if self._logs and now >= self._next_beat - HEARTBEAT / 2:
            self._next_beat = now + HEARTBEAT
            transaction.beat(self._logs)

    def _pass_all_on(self, found: _Found) -> None:
        for run, request in found.requests:
            self.pass_on(run, request)


@dataclass(frozen=True, slots=True)
class _Found:
    owned: frozenset[str]
    """Runs of this owner, according to the database."""
    requests: tuple[tuple[str, ControlRequest], ...]
    """Run and request in order of arrival; each is found once."""


class LeaseMonitor:
    """Finds changes by other processes to an owner's runs; cheap if there are none."""

    def __init__(self, connection: sqlite3.Connection, owner: Owner) -> None:
        self._connection = connection
        self._owner = owner.id
        self._data_version = -1
        self._last_seen = 0
        self._seen: list[tuple[int]] = []

    def look(self) -> _Found | None:
        """Return the changes, None if no other connection committed since the last check."""
        try:
            version = self._connection.execute("PRAGMA data_version").fetchone()[0]
            if version == self._data_version:
                return None
            owned = self._connection.execute(
                "SELECT execution_id FROM workflow_leases WHERE owner = ?", (self._owner,)
            ).fetchall()
            requests = self._connection.execute(
                "SELECT w.id, w.execution_id, w.wish, w.text FROM workflow_wishes w JOIN workflow_leases l"
                " USING (execution_id) WHERE l.owner = ? AND w.id > ? ORDER BY w.id",
                (self._owner, self._last_seen),
            ).fetchall()
        except sqlite3.Error:
            # no caller waits: the next check tries again, and the next commit reports the error
            return None
        self._data_version = version
        for number, _, word, _ in requests:
            self._last_seen = number
            if word != "say":  # a message stays until a model reads it
                self._seen.append((number,))
        return _Found(
            frozenset(run for (run,) in owned),
            tuple(
                (run, Message(text, number) if word == "say" else word)
                for number, run, word, text in requests
            ),
        )

    def look_again(self) -> None:
        """Repeat the last check next time, without its control requests."""
        self._data_version = -1

    def delete_seen(self, transaction: Transaction) -> None:
        """Delete delivered control requests, except messages, as part of any commit."""
        if self._seen:
            transaction.connection.executemany("DELETE FROM workflow_wishes WHERE id = ?", self._seen)
            transaction.after.append(self._seen.clear)
