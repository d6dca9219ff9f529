"""What other processes wrote: what they ask of this one's runs, and which of them they took."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tideate_core.store.leases import Owner
    from tideate_core.store.records import Wish
    from tideate_core.store.transaction import Transaction

__all__ = ["Seen", "Watch"]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look found."""

    ours: frozenset[str]
    """The runs that are held here, as the database has it."""
    wishes: tuple[tuple[str, Wish], ...]
    """Run and wish, in the order in which they came; each is seen once."""


class Watch:
    """Looks, in the writer's thread; cheap where nobody else wrote."""

    def __init__(self, connection: sqlite3.Connection, owner: Owner) -> None:
        self._connection = connection
        self._owner = owner.id
        self._data_version = -1
        self._last_heard = 0
        self._heard: list[tuple[int]] = []

    def look(self) -> Seen | None:
        """Return what there is, None if no other connection has committed since the last look."""
        try:
            version = self._connection.execute("PRAGMA data_version").fetchone()[0]
            if version == self._data_version:
                return None
            ours = self._connection.execute(
                "SELECT execution_id FROM workflow_leases WHERE owner = ?", (self._owner,)
            ).fetchall()
            wishes = self._connection.execute(
                "SELECT w.id, w.execution_id, w.wish FROM workflow_wishes w JOIN workflow_leases l"
                " USING (execution_id) WHERE l.owner = ? AND w.id > ? ORDER BY w.id",
                (self._owner, self._last_heard),
            ).fetchall()
        except sqlite3.Error:
            # nobody waits for this: the next look tries again, and the next commit says what is wrong
            return None
        self._data_version = version
        for number, _, _ in wishes:
            self._last_heard = number
            self._heard.append((number,))
        return Seen(frozenset(run for (run,) in ours), tuple((run, wish) for _, run, wish in wishes))

    def look_again(self) -> None:
        """Have the next look find what the last one did, but for wishes."""
        self._data_version = -1

    def forget(self, transaction: Transaction) -> None:
        """Delete the wishes that were seen, with a commit that is made anyway."""
        if self._heard:
            transaction.connection.executemany("DELETE FROM workflow_wishes WHERE id = ?", self._heard)
            transaction.after.append(self._heard.clear)
