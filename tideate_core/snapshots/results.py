"""What a restore did, and what became of one that was killed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tideate_core.snapshots.entries import Entry
    from tideate_core.snapshots.planning import Wanted

__all__ = ["Recovered", "Restored", "restored"]


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did. Directories have a ``/`` at their end."""

    snapshot: str
    before: str | None
    """The snapshot of the files as they stood until then, which undoes it; None if nothing differed."""
    written: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    """Made since the snapshot, and left where they are."""
    left: dict[str, str] = field(default_factory=dict)
    """Why a path is not as it was."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """What became of restores whose process was killed."""

    restored: tuple[str, ...]
    left: tuple[str, ...]
    """What was changed since, in words; it stays as it is."""


def restored(snapshot_id: str, before: str | None, chosen: Wanted) -> Restored:
    """Return what was done, where all that was chosen was."""

    def name(entry: Entry) -> str:
        return entry.path + "/" if entry.kind == "directory" else entry.path

    return Restored(
        snapshot_id,
        before,
        tuple(name(was) for was, _ in chosen.written),
        tuple(sorted(name(entry) for entry in chosen.deleted)),
        tuple(sorted(chosen.added)),
        chosen.left,
    )
