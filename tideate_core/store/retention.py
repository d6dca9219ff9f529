"""Retention: delete ended runs by number, age and size, then the files that no run references."""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tideate_core.store.objects import Objects
    from tideate_core.store.transaction import Transaction

_DAY: Final = 24 * 60 * 60 * 1000
"""Milliseconds."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Limits for ended runs; None is no limit, and a run beyond any limit is deleted.

    Runs that have not ended, runs with a manual checkpoint, and the runs in `spare` are kept. Runs that are
    steps of a run are kept or deleted with it.
    """

    keep_runs: int | None = None
    """Number of newest ended runs to keep for each workflow."""
    max_age_days: float | None = None
    """Days since a run's end."""
    max_bytes: int | None = None
    """Total size of `objects/`; the oldest runs with files there are deleted first."""
    spare: frozenset[str] = frozenset()
    """Ids of runs that are still needed, such as runs with a journal for a rollback."""

    def __post_init__(self) -> None:
        limits = {"keep_runs": self.keep_runs, "max_age_days": self.max_age_days, "max_bytes": self.max_bytes}
        for name, limit in limits.items():
            if limit is not None and not limit >= 0:  # as NaN
                raise InvalidInput(f"{name} is {limit}; give 0 or more, or nothing for no limit")


@dataclass(slots=True)
class Pruned:
    """Counts of deleted rows and files. Files are deleted, and counted, after the rows."""

    runs: int = 0
    """Including runs that were steps of others."""
    checkpoints: int = 0
    objects: int = 0
    """Files in `objects/`, including unreferenced ones."""
    bytes: int = 0
    """Total bytes of these files."""
    ids: tuple[str, ...] = ()
    """Ids of the deleted runs."""
    left: str | None = None
    """The reason why some files remain; the next prune deletes them."""


@dataclass(slots=True)
class _Family:
    """A run with all runs that are, at any depth, its steps."""

    workflow: str
    started_at: int
    ended_at: int
    spared: bool = False
    runs: list[str] = field(default_factory=list)
    objects: set[str] = field(default_factory=set)


def prune(transaction: Transaction, policy: Retention, at: int, *, dry_run: bool = False) -> Pruned:
    """Delete the runs beyond a policy's limits, and all unreferenced files in `objects/`.

    :param at: milliseconds since the epoch.
    :param dry_run: only return the runs to delete.
    :returns: counts, complete after the transaction's `after` calls.
    """
    families = _families(transaction, policy)
    gone = _beyond(families, policy, at)
    if policy.max_bytes is not None:
        gone |= _over(families, gone, transaction.objects, policy.max_bytes)
    ids = [run for root in sorted(gone) for run in families[root].runs]
    if dry_run:
        return Pruned(runs=len(ids), ids=tuple(ids))
    pruned = Pruned(runs=len(ids), checkpoints=_forget(transaction, gone, ids), ids=tuple(ids))

    def sweep() -> None:
        # only after the commit: if it failed, rows would reference deleted files
        _sweep(transaction.connection, transaction.objects, pruned)

    transaction.after.append(sweep)
    return pruned


def _families(transaction: Transaction, policy: Retention) -> dict[str, _Family]:
    """Return all runs grouped by top-level run, oldest first."""
    families: dict[str, _Family] = {}
    root_of: dict[str, str] = {}
    # in row order, a run's parent comes first
    runs = transaction.execute(
        "SELECT e.id, e.parent_id, e.workflow_id, e.started_at, COALESCE(e.completed_at, e.started_at),"
        " e.status IN ('completed', 'failed', 'cancelled')"
        " AND NOT EXISTS (SELECT 1 FROM workflow_checkpoints c WHERE c.execution_id = e.id AND c.manual)"
        " FROM workflow_executions e ORDER BY e.rowid"
    )
    for run, parent, workflow, started_at, ended_at, may_go in runs:
        root = root_of[run] = run if parent is None else root_of[parent]
        family = families.setdefault(root, _Family(workflow, started_at, ended_at))
        family.runs.append(run)
        family.spared |= not may_go or run in policy.spare
    for run, digest in transaction.execute("SELECT execution_id, hash FROM workflow_objects"):
        families[root_of[run]].objects.add(digest)
    return dict(sorted(families.items(), key=lambda item: item[1].started_at))


def _beyond(families: dict[str, _Family], policy: Retention, at: int) -> set[str]:
    """Return the runs beyond the limits of number and age."""
    since = None if policy.max_age_days is None else at - policy.max_age_days * _DAY
    newer: Counter[str] = Counter()
    gone = set()
    for root, family in reversed(families.items()):
        if family.spared:
            continue
        too_many = policy.keep_runs is not None and newer[family.workflow] >= policy.keep_runs
        newer[family.workflow] += 1
        if too_many or (since is not None and family.ended_at < since):
            gone.add(root)
    return gone


def _over(families: dict[str, _Family], gone: set[str], objects: Objects, most: int) -> set[str]:
    """Return the oldest runs to delete until the files of the others fit the size limit."""
    staying = {root: family for root, family in families.items() if root not in gone}
    names = Counter(digest for family in staying.values() for digest in family.objects)
    sizes = {digest: _size(objects.path(digest)) for digest in names}
    total = sum(sizes.values())
    over = set()
    for root, family in staying.items():
        if total <= most:
            break
        if family.spared or not family.objects:
            continue
        over.add(root)
        for digest in family.objects:
            names[digest] -= 1
            total -= 0 if names[digest] else sizes[digest]
    return over


def _forget(transaction: Transaction, roots: Iterable[str], ids: Iterable[str]) -> int:
    """Delete the rows of runs; returns the number of their checkpoints."""
    count = "SELECT COUNT(*) FROM all_checkpoints WHERE execution_id = ?"
    checkpoints = sum(transaction.execute(count, (run,)).fetchone()[0] for run in ids)
    # cascades to all other rows of a run, and to runs that are its steps
    transaction.connection.executemany(
        "DELETE FROM workflow_executions WHERE id = ?", [(run,) for run in roots]
    )
    transaction.execute(
        "DELETE FROM workflow_definitions WHERE NOT EXISTS (SELECT 1 FROM workflow_executions e"
        " WHERE e.definition_hash = hash) AND hash NOT IN (SELECT definition FROM workflows)"
    )
    return int(checkpoints)


def _sweep(connection: sqlite3.Connection, objects: Objects, pruned: Pruned) -> None:
    """Delete unreferenced files under the write lock, so that no new reference appears meanwhile."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        try:
            named = {digest for (digest,) in connection.execute("SELECT DISTINCT hash FROM workflow_objects")}
            for path in _files(objects):
                if path.name not in named:
                    size = _size(path)
                    path.unlink(missing_ok=True)
                    pruned.objects += 1
                    pruned.bytes += size
        finally:
            connection.execute("ROLLBACK")  # there is nothing to commit
    except (sqlite3.Error, OSError) as error:
        pruned.left = str(error)


def _files(objects: Objects) -> Iterator[Path]:
    """Yield all files of `objects/`, including partial files left by a crash."""
    directory = objects.path("00").parents[1]
    if directory.is_dir():
        for folder in directory.iterdir():
            if folder.is_dir():
                yield from folder.iterdir()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
