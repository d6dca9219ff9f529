"""How many changes can be taken back: the journal keeps copies of files, so the oldest are forgotten."""

from __future__ import annotations

import logging
import os
import re
from typing import TYPE_CHECKING, Final

from tideate_core.errors import WorkspaceError
from tideate_core.project import private_dir
from tideate_core.workspace.journal import Journal

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["remember", "remembered"]

KEPT: int = 1_000
"""Changes of one root; a tenth more before some are forgotten."""
_ID: Final = re.compile(r"[0-9a-f]{32}")

log = logging.getLogger(__name__)


def remember(root: Path, run: str) -> None:
    """Note a change, and forget the oldest where there are too many. The caller has the turn.

    :raises OSError: it cannot be noted.
    """
    private = private_dir(root)
    descriptor = os.open(
        _list_in(private), os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    with os.fdopen(descriptor, "r+") as file:
        runs = [*_ids(file.read()), run]
        if len(runs) <= KEPT + KEPT // 10:
            file.write(f"{run}\n")
            return
        for old in runs[:-KEPT]:
            _forget(Journal(private), old)
        # what is forgotten is not there any more, so a kill in here does no harm
        file.truncate(0)
        file.write("".join(f"{one}\n" for one in runs[-KEPT:]))


def remembered(private: Path) -> frozenset[str]:
    """Return the ids of the changes that the filesystem server made; none where they cannot be read."""
    try:
        return frozenset(_ids(_list_in(private).read_text("utf-8", "replace")))
    except OSError:
        return frozenset()


def _list_in(private: Path) -> Path:
    return private / "mcp" / "filesystem" / "changes"


def _ids(text: str) -> list[str]:
    return [line for line in text.split() if _ID.fullmatch(line)]


def _forget(journal: Journal, run: str) -> None:
    try:
        for record in reversed(journal.records(run)):
            journal.drop(record)
    except (WorkspaceError, OSError) as error:
        log.warning("the change %s is not forgotten: %s", run, error)
