"""Runs that wrote files, with their nested runs, and those of which all was rolled back."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from tideate_core.errors import RunNotFound, WorkspaceError
from tideate_core.workspace import has_rollback_notes, journal_directory, rolled_back_all

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tideate_core.store import Reader

__all__ = ["family_members", "rolled_back_runs", "run_families", "runs_with_changes"]


def runs_with_changes(private: Path) -> list[str]:
    """Return the ids of the runs that wrote to files."""
    directory = private / "journal"
    if not directory.is_dir():
        return []
    return sorted(run.name for run in directory.iterdir() if any(run.glob("*/manifest.json")))


def run_families(private: Path, reader: Reader) -> dict[str, list[str]]:
    """Return the runs that wrote to files by the one that a person started, which itself may not have.

    :raises StoreError: the store cannot be read.
    """
    found: dict[str, list[str]] = {}
    for run in runs_with_changes(private):
        found.setdefault(_ancestry(reader, run)[-1], []).append(run)
    return found


def family_members(private: Path, reader: Reader) -> dict[str, list[str]]:
    """Return the same by every run that they belong to: a step's run can be rolled back alone.

    :raises StoreError: the store cannot be read.
    """
    found: dict[str, list[str]] = {}
    for run in runs_with_changes(private):
        for older in _ancestry(reader, run):
            found.setdefault(older, []).append(run)
    return found


def rolled_back_runs(root: Path | None, private: Path, families: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the runs of which a rollback left nothing; blocking.

    If a rollback was killed, the disk is looked at, once in a process.

    :param families: runs, each with those whose changes belong to it.
    """
    return {run for run, members in families.items() if _nothing_left(root, private, members)}


def _nothing_left(root: Path | None, private: Path, members: Sequence[str]) -> bool:
    journals = [journal_directory(private, member) for member in members]
    if not any(has_rollback_notes(journal) for journal in journals):
        return False
    applies = tuple(_applies(journal) for journal in journals)
    marks = [rolled_back_all(of_run[-1]) for of_run in applies if of_run]
    if None not in marks:
        return all(marks)
    return False not in marks and _planned(root, private, tuple(members), applies)


def _applies(journal: Path) -> tuple[Path, ...]:
    """Return the directories of a run's applies, the oldest first."""
    found = (manifest.parent for manifest in journal.glob("*/manifest.json"))
    return tuple(sorted(found, key=lambda path: (len(path.name), path.name)))


@lru_cache(maxsize=1024)
def _planned(
    root: Path | None, private: Path, members: tuple[str, ...], _applies: tuple[tuple[Path, ...], ...]
) -> bool:
    """Tell by a plan of a rollback whether there is nothing to restore.

    :param _applies: of the members; what was found of other ones does not count.
    """
    # here, because most histories have no such rollback and are listed without it
    from tideate_core.workspace import Journal, Root, plan_rollback

    try:
        plan = plan_rollback(Root(root), Journal(private).records(*members), None)
    except WorkspaceError:  # told when it is rolled back
        return False
    return not plan.names and not plan.conflicts


def _ancestry(reader: Reader, run: str) -> list[str]:
    """Return a run, the one that it is part of, and so on up to the one that a person started."""
    found = [run]
    while True:
        try:
            parent = reader.run(found[-1]).parent
        except RunNotFound:  # forgotten
            return found
        if parent is None:
            return found
        found.append(parent)
