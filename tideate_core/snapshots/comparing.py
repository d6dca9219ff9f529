"""What differs between a snapshot and the files as they stand now."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tideate_core.snapshots.entries import Below, Entry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.snapshots.manifest import Manifest

__all__ = ["Comparison", "FileDiff", "Tree", "compare", "described"]


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One path that is not as it was in a snapshot."""

    path: str
    """Of a directory with a ``/`` at its end."""
    status: Literal["added", "modified", "deleted"]
    """What happened since the snapshot."""
    changes: str = ""
    """For people: a unified diff of texts, else what it is that differs."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The files as they stand now, read."""

    entries: dict[str, Entry]
    skipped: Mapping[str, str]
    ignored: frozenset[str]
    ignored_files: frozenset[str] = frozenset()


@dataclass(slots=True)
class Comparison:
    """Paths by what became of them since a snapshot."""

    modified: list[tuple[Entry, Entry]] = field(default_factory=list)
    """As it was, and as it is."""
    deleted: list[Entry] = field(default_factory=list)
    added: list[Entry] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)
    """Why nothing can be said of a path."""


def compare(then: Manifest, now: Tree) -> Comparison:
    """Compare path by path.

    What one of both left out is unknown: it counts neither as added nor as deleted. Nor does what is in
    directories that were not looked into then, because git ignored them.
    """
    found = Comparison()
    unseen_now, unseen_then = Below(now.skipped), Below((*then.skipped, *then.ignored))
    for path, was in then.entries.items():
        current = now.entries.get(path)
        if current is None:
            hidden = unseen_now.find(path)
            if hidden is None:
                found.deleted.append(was)
            else:
                found.left[path] = (
                    now.skipped[hidden] if hidden == path else f"{hidden} {now.skipped[hidden]}"
                )
        elif current is was:
            continue
        elif not current.holds_same_as(was) or current.mode != was.mode:
            found.modified.append((was, current))
    found.added = [
        entry for path, entry in now.entries.items() if path not in then.entries and path not in unseen_then
    ]
    return found


def described(was: Entry, now: Entry) -> str:
    """Return in words what of two entries differs, beside what files hold."""
    if was.kind != now.kind:
        return f"{was.kind} → {now.kind}"
    words = [f"link to {was.target} → {now.target}"] if was.target != now.target else []
    if was.mode != now.mode:
        words.append(f"mode {was.mode:04o} → {now.mode:04o}")
    return ", ".join(words)
