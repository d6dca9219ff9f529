"""Retention: delete ended runs by number, age and size."""

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

__all__ = ["Pruned", "Retention", "prune"]

_DAY: Final = 24 * 60 * 60 * 1000
"""Milliseconds."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Limits of what is kept of ended runs; None is no limit, a run beyond any of the limits goes.

    Spared are runs that have not ended, those with a checkpoint that a person made, and `spare`. The runs
    that are a run's steps stay and go with it.
    """

    keep_runs: int | None = None
    """The newest so many of each workflow that ended are kept."""
    max_age_days: float | None = None
    """Days since they ended."""
    max_bytes: int | None = None
    """Of all files in `objects/` together; the oldest runs that have some go first."""
    spare: frozenset[str] = frozenset()
    """Ids of runs that are still needed, as those with a journal to roll back with."""

    def __post_init__(self) -> None:
        limits = {"keep_runs": self.keep_runs, "max_age_days": self.max_age_days, "max_bytes": self.max_bytes}
        for name, limit in limits.items():
            if limit is not None and not limit >= 0:  # as NaN
                raise InvalidInput(f"{name} is {limit}; give 0 or more, or nothing for no limit")


@dataclass(slots=True)
class Pruned:
    """Counts of what was deleted. The files are deleted after the rows are, and counted as they are."""

    runs: int = 0
    """With those that were steps of others."""
    checkpoints: int = 0
    objects: int = 0
    """Files in `objects/`, those that nothing named any more included."""
    bytes: int = 0
    """Of these files."""
    ids: tuple[str, ...] = ()
    """Of the runs."""
    left: str | None = None
    """Why some of the files are still there; the next prune deletes them."""


@dataclass(slots=True)
class _Family:
    """A run with the runs that are its steps, and theirs."""

    workflow: str
    started_at: int
    ended_at: int
    spared: bool = False
    runs: list[str] = field(default_factory=list)
    objects: set[str] = field(default_factory=set)


def prune(transaction: Transaction, policy: Retention, at: int, *, dry_run: bool = False) -> Pruned:
    """Forget runs as a policy says, and delete the files in `objects/` that no run names any more.

    :param at: milliseconds since the epoch.
    :param dry_run: only say which runs would go.
    :returns: what is complete once the transaction's `after` has been called.
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
        # only now: were the commit to fail, rows would name files that are gone
        _sweep(transaction.connection, transaction.objects, pruned)

    transaction.after.append(sweep)
    return pruned


def _families(transaction: Transaction, policy: Retention) -> dict[str, _Family]:
    """Return all runs by the run that they belong to, the oldest first."""
    families: dict[str, _Family] = {}
    root_of: dict[str, str] = {}
    # a run's parent is there before it: in the order of rows
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
    """Return the oldest runs without which the files of those that stay are not too many bytes."""
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
    """Delete the rows of runs; returns how many checkpoints they had."""
    count = "SELECT COUNT(*) FROM all_checkpoints WHERE execution_id = ?"
    checkpoints = sum(transaction.execute(count, (run,)).fetchone()[0] for run in ids)
    # all other rows of a run, and the runs that are its steps, go with it
    transaction.connection.executemany(
        "DELETE FROM workflow_executions WHERE id = ?", [(run,) for run in roots]
    )
    transaction.execute(
        "DELETE FROM workflow_definitions WHERE NOT EXISTS (SELECT 1 FROM workflow_executions e"
        " WHERE e.definition_hash = hash) AND hash NOT IN (SELECT definition FROM workflows)"
    )
    return int(checkpoints)


def _sweep(connection: sqlite3.Connection, objects: Objects, pruned: Pruned) -> None:
    """Delete the files that no row names, with the write lock held: nobody names one meanwhile."""
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
    """Yield all files of `objects/`, those that a crash left half written included."""
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
