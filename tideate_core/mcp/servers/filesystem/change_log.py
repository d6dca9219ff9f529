"""Log of the changes in a root: the newest ones, the one in progress, and interrupted ones.

The journal keeps copies of changed files. A change in progress without a writer belongs to a server that was
killed.
"""

from __future__ import annotations

import logging
import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tideate_core.errors import WorkspaceError
from tideate_core.project import make_project_state
from tideate_core.util.private_files import open_private
from tideate_core.util.regular_files import read_regular
from tideate_core.workspace import Journal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEPT: int = 1_000
"""Changes kept for one root; the oldest are dropped once there are a tenth more."""
_ID: Final = re.compile(r"[0-9a-f]{32}")

log = logging.getLogger(__name__)


def record_change(root: Path, run: str) -> None:
    """Record a change and drop the oldest if there are too many; the caller holds the write lock.

    :raises OSError: the log cannot be written.
    """
    private = make_project_state(root)
    descriptor = open_private(_list_in(private), os.O_RDWR | os.O_CREAT | os.O_APPEND)
    with os.fdopen(descriptor, "r+") as file:
        runs = [*_ids(file.read()), run]
        if len(runs) <= KEPT + KEPT // 10:
            file.write(f"{run}\n")
            return
        for old in runs[:-KEPT]:
            forget_change(private, old)
        # the dropped changes are gone already, so a kill here does no harm
        file.truncate(0)
        file.write("".join(f"{one}\n" for one in runs[-KEPT:]))


@contextmanager
def change_in_progress(root: Path, run: str) -> Iterator[None]:
    """Mark a change as in progress; the caller holds the write lock.

    :raises OSError: the mark cannot be written.
    """
    note = _note_in(root)
    descriptor = open_private(note, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with os.fdopen(descriptor, "w") as file:
        file.write(run)
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


def interrupted_change(root: Path) -> str | None:
    """Return the change of a killed server, or None; the caller holds the write lock."""
    try:
        descriptor = open_private(_note_in(root), os.O_RDONLY)
    except OSError:
        return None
    with os.fdopen(descriptor) as file:
        found = _ids(file.read(64))
    return found[0] if found else None


def _note_in(root: Path) -> Path:
    return make_project_state(root) / "mcp" / "filesystem" / "under_way"


def recorded_changes(private: Path) -> frozenset[str]:
    """Return the ids of the recorded changes; empty if they cannot be read."""
    try:
        return frozenset(_ids(read_regular(_list_in(private)).decode("utf-8", "replace")))
    except OSError:
        return frozenset()


def _list_in(private: Path) -> Path:
    return private / "mcp" / "filesystem" / "changes"


def _ids(text: str) -> list[str]:
    return [line for line in text.split() if _ID.fullmatch(line)]


def forget_change(private: Path, run: str) -> None:
    """Delete the journal of a change."""
    journal = Journal(private)
    try:
        for record in reversed(journal.records(run)):
            journal.drop(record)
    except (WorkspaceError, OSError) as error:
        log.warning("the change %s is not forgotten: %s", run, error)
