"""An open transaction of the writer, and the counts that one commit adds to a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterable, Sequence

    from tideate_core.store.leases import Owner
    from tideate_core.store.objects import Objects, Packed

__all__ = ["Tally", "Transaction"]


@dataclass(slots=True)
class Transaction:
    """An open transaction, with the database's write lock held."""

    connection: sqlite3.Connection
    objects: Objects
    owner: Owner
    now: int
    """Milliseconds since the epoch, the same for all that is written."""
    after: list[Callable[[], None]] = field(default_factory=list)
    """Called in the writer's thread once this is durable, not at all if it fails."""

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        return self.connection.execute(statement, values)

    def beat(self, runs: Iterable[str]) -> None:
        """Show that the owner of these runs lives."""
        self.connection.executemany(
            "UPDATE workflow_leases SET heartbeat_at = ? WHERE execution_id = ? AND owner = ?",
            [(self.now, run, self.owner.id) for run in runs],
        )

    def release(self, runs: Collection[str]) -> None:
        """Give up these runs, as far as they are this owner's."""
        if not runs:
            return
        self.connection.executemany(
            "DELETE FROM workflow_leases WHERE execution_id = ? AND owner = ?",
            [(run, self.owner.id) for run in runs],
        )

    def column(self, run: str, value: str | Packed) -> str:
        """Return the text of a JSON column of a run; a big value's file is durable then."""
        if isinstance(value, str):
            return value
        self.objects.save(value)
        self.execute(
            "INSERT OR IGNORE INTO workflow_objects (execution_id, hash) VALUES (?, ?)", (run, value.hash)
        )
        return value.text


@dataclass(slots=True)
class Tally:
    """Counts that one commit adds to a run's own row: it is updated once, however much happened."""

    run: str
    cursor: int
    """Number of steps that have ended."""
    status: str | None = None
    """The new one, None if it is as at the last commit."""
    moved: bool = False
    """`step` is to be written."""
    step: str | None = None
    completed: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None

    @property
    def has_counts(self) -> bool:
        return bool(self.completed or self.failed or self.input_tokens or self.output_tokens or self.cost)
