"""Where runs stand, in the words of every list, and which can be gone on with.

Without the engine: lists are shown by commands that run nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tideate_core.store.reader import Reader
    from tideate_core.store.records import RunRow, StepRow

__all__ = ["MOST_UNFINISHED", "State", "last_given", "resumable", "state_of"]

State = Literal["cancelled", "completed", "failed", "interrupted", "paused", "running"]
"""Where a run stands, for a person: `interrupted` is one that its process did not bring to an end."""

MOST_UNFINISHED: Final = 1000
"""Runs among which those to go on with are looked for."""


def state_of(run: RunRow) -> State:
    """Return where a run stands."""
    if run.status in ("completed", "failed", "cancelled"):
        return run.status
    if run.status == "paused":
        return "paused"
    return "interrupted" if run.resumable else "running"


def resumable(reader: Reader) -> list[RunRow]:
    """Return the runs that can be gone on with, the newest first; blocking.

    :raises StoreError: the store cannot be read.
    """
    return [run for run in reader.runs(limit=MOST_UNFINISHED, unfinished=True) if run.resumable]


def last_given(steps: Iterable[StepRow], key: str) -> dict[str, Any] | None:
    """Return what the last step gave under a key: a task's plan as agreed on, not as it was first made."""
    ended = sorted((row for row in steps if row.status == "completed"), key=lambda row: row.started_at or 0)
    found = [row.result[key] for row in ended if isinstance(row.result, dict) and row.result.get(key)]
    return found[-1] if found else None
