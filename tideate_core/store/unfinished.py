"""Mark file of a store with unfinished runs; a starting editor reads it without the database."""

from __future__ import annotations

import logging
import os
from functools import partial
from typing import TYPE_CHECKING, Final

from tideate_core.util.private_files import open_private

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from tideate_core.store.transaction import Transaction

NAME: Final = "unfinished"
"""The file beside the database; it holds the id of the last process with such a run."""

UNFINISHED: Final = (
    "e.status IN ('idle', 'parsing', 'validating_workflow', 'building_dependency_graph', 'scheduling_steps',"
    " 'executing_steps', 'awaiting_completion', 'creating_checkpoint', 'restoring_from_checkpoint',"
    " 'aggregating_results', 'paused')"
)
"""Lists all states, so that SQLite uses an index."""
_ANY: Final = f"SELECT 1 FROM workflow_executions e WHERE {UNFINISHED} LIMIT 1"  # noqa: S608

log = logging.getLogger(__name__)


def mark_unfinished(transaction: Transaction) -> None:
    """Make the mark after a committed transaction started a run or took it over."""
    transaction.after.append(partial(_update, transaction.objects.private / NAME, None))


def unmark_unfinished(transaction: Transaction) -> None:
    """Remove the mark after a committed transaction ended the last unfinished run."""
    transaction.after.append(partial(_update, transaction.objects.private / NAME, transaction.connection))


def _update(mark: Path, ending: sqlite3.Connection | None) -> None:
    try:
        if ending is None:
            with os.fdopen(open_private(mark, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as file:
                file.write(f"{os.getpid()}\n")
        elif ending.execute(_ANY).fetchone() is None:
            mark.unlink(missing_ok=True)
    except OSError as error:  # it is only a hint
        log.warning("%s is not up to date: %s", mark, error)
