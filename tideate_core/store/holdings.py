"""What a database of runs holds: told to a person before they trust one that was made elsewhere."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tideate_core.store.reader import Reader
from tideate_core.store.standing import state_of

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.store.records import RunRow

__all__ = ["Holdings", "Unfinished", "holdings"]

MOST: Final = 10_000
"""Runs that are counted."""
NAMED: Final = 20
"""Runs that are told one by one."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A run that can go on once its database is trusted."""

    run: RunRow
    state: str
    answers: int
    """A person's answers that are kept and would not be asked for again."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """The runs of a database."""

    states: dict[str, int]
    """How many there are of each state, the most frequent first."""
    first: int | None
    """When the oldest began, in milliseconds since the epoch; None without runs."""
    last: int | None
    unfinished: tuple[Unfinished, ...]
    """The newest `NAMED` of them."""
    more: int
    """Unfinished ones beside these."""


def holdings(path: Path) -> Holdings:
    """Read what a database holds.

    :raises StoreError: it cannot be read.
    """
    reader = Reader(path.parent)
    try:
        runs = reader.runs(limit=MOST, parents_only=False)
        unfinished = [run for run in runs if not run.ended]
        return Holdings(
            dict(Counter(state_of(run) for run in runs).most_common()),
            runs[-1].started_at if runs else None,
            runs[0].started_at if runs else None,
            tuple(Unfinished(run, state_of(run), _answers(reader, run)) for run in unfinished[:NAMED]),
            max(0, len(unfinished) - NAMED),
        )
    finally:
        reader.close()


def _answers(reader: Reader, run: RunRow) -> int:
    return sum(".confirm:" in key for kept in reader.memos(run.id).values() for key in kept)
