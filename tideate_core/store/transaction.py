"""An open write transaction, and the counts that one commit adds to a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Sequence

    from tideate_core.store.leases import Owner
    from tideate_core.store.objects import Objects, Packed
    from tideate_core.store.records import StepOutcome


@dataclass(slots=True)
class Transaction:
    """An open transaction that holds the database's write lock."""

    connection: sqlite3.Connection
    objects: Objects
    owner: Owner
    now: int
    """Milliseconds since the epoch, equal for all writes."""
    after: list[Callable[[], None]] = field(default_factory=list)
    """Called in the writer's thread after the commit, never after a failure."""

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        return self.connection.execute(statement, values)

    def beat(self, runs: Iterable[str]) -> None:
        """Update the heartbeats of this owner's runs."""
        self.connection.executemany(
            "UPDATE workflow_leases SET heartbeat_at = ? WHERE execution_id = ? AND owner = ?",
            [(self.now, run, self.owner.id) for run in runs],
        )

    def release(self, runs: Iterable[str]) -> None:
        """Release the runs owned by this process."""
        self.connection.executemany(
            "DELETE FROM workflow_leases WHERE execution_id = ? AND owner = ?",
            [(run, self.owner.id) for run in runs],
        )

    def column(self, run: str, value: str | Packed) -> str:
        """Return the text of a run's JSON column; saves a large value's file first."""
        if isinstance(value, str):
            return value
        self.objects.save(value)
        self.execute(
            "INSERT OR IGNORE INTO workflow_objects (execution_id, hash) VALUES (?, ?)", (run, value.hash)
        )
        return value.text


@dataclass(slots=True)
class Tally:
    """Counts that one commit adds to a run's row in a single update."""

    run: str
    cursor: int
    """Number of ended steps."""
    status: str | None = None
    """The new status, None if unchanged."""
    moved: bool = False
    """`step` must be written."""
    step: str | None = None
    outcomes: list[StepOutcome] = field(default_factory=list)
