"""Where runs stand, in the words of every list, and which can be gone on with.

Without the engine: lists are shown by commands that run nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from tideate_core.store.reader import Reader
    from tideate_core.store.records import RunRow

__all__ = ["MOST_UNFINISHED", "State", "resumable", "state_of"]

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
