"""Families of runs: a run with its nested runs, which of them changed files, and rolled-back runs."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from tideate_core.errors import RunNotFound, WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tideate_core.store import Reader


def runs_with_changes(private: Path) -> list[str]:
    """Return the ids of the runs that changed files."""
    directory = private / "journal"
    if not directory.is_dir():
        return []
    return sorted(run.name for run in directory.iterdir() if any(run.glob("*/manifest.json")))


def run_families(private: Path, reader: Reader) -> dict[str, list[str]]:
    """Return the runs that changed files, by the outermost run that a person started.

    :raises StoreError: the store cannot be read.
    """
    found: dict[str, list[str]] = {}
    for run in runs_with_changes(private):
        found.setdefault(_ancestry(reader, run)[-1], []).append(run)
    return found


def family_members(private: Path, reader: Reader) -> dict[str, list[str]]:
    """Return the runs that changed files, by every run that contains them.

    :raises StoreError: the store cannot be read.
    """
    found: dict[str, list[str]] = {}
    for run in runs_with_changes(private):
        for older in _ancestry(reader, run):
            found.setdefault(older, []).append(run)
    return found


def rolled_back_runs(root: Path | None, private: Path, families: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the completely rolled back runs; blocking.

    After an interrupted rollback the files are examined, once in a process.

    :param families: runs, each with the runs whose changes belong to it.
    """
    return {run for run, members in families.items() if _nothing_left(root, private, members)}


def _nothing_left(root: Path | None, private: Path, members: Sequence[str]) -> bool:
    from tideate_core.workspace import has_rollback_notes, journal_directory, rolled_back_all

    journals = [journal_directory(private, member) for member in members]
    if not any(has_rollback_notes(journal) for journal in journals):
        return False
    applies = tuple(_applies(journal) for journal in journals)
    marks = [rolled_back_all(of_run[-1]) for of_run in applies if of_run]
    if None not in marks:
        return all(marks)
    return False not in marks and _planned(root, private, tuple(members), applies)


def _applies(journal: Path) -> tuple[Path, ...]:
    """Return the journal directories of a run's writes, the oldest first."""
    found = (manifest.parent for manifest in journal.glob("*/manifest.json"))
    return tuple(sorted(found, key=lambda path: (len(path.name), path.name)))


@lru_cache(maxsize=1024)
def _planned(
    root: Path | None, private: Path, members: tuple[str, ...], _applies: tuple[tuple[Path, ...], ...]
) -> bool:
    """Tell from a rollback plan whether nothing is left to restore.

    :param _applies: cache key: the journals of the members.
    """
    # imported here: most histories have no interrupted rollback
    from tideate_core.workspace import Journal, Root, plan_rollback

    try:
        plan = plan_rollback(Root(root), Journal(private).records(*members), None)
    except WorkspaceError:  # reported at the next rollback
        return False
    return not plan.names and not plan.conflicts


def _ancestry(reader: Reader, run: str) -> list[str]:
    """Return a run and the runs that contain it, up to the one that a person started."""
    found = [run]
    while True:
        try:
            parent = reader.run(found[-1]).parent
        except RunNotFound:  # deleted by retention
            return found
        if parent is None:
            return found
        found.append(parent)
