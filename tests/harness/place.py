"""Directory of one run, and its durable state without a process."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from tests.harness.project import Project
from tests.harness.state import state_below

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Place"]


class Place(Project):
    """A project in a home of its own.

    :param state: the directory that `$XDG_STATE_HOME` names; in the home unless it is given.
    """

    def __init__(self, home: Path, state: Path | None = None) -> None:
        self.home = home
        super().__init__(home / "project")
        self.root.mkdir(parents=True)
        self.state = state or home / "state_home"
        self.private = state_below(self.state, self.root)

    def query(self, *statements: str) -> list[list[tuple[Any, ...]]]:
        """Ask a copy of the database, as the last process left it: looking must not mend anything."""
        copy = self.home / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        for name in ("tideate.db", "tideate.db-wal"):
            if (self.private / name).exists():
                shutil.copy(self.private / name, copy / name)
        with closing(sqlite3.connect(copy / "tideate.db")) as connection:
            return [connection.execute(statement).fetchall() for statement in statements]

    def has_run(self) -> bool:
        """Say whether a commit has made the run."""
        tables, *_ = self.query("SELECT name FROM sqlite_master WHERE name = 'workflow_executions'")
        return bool(tables) and bool(self.query("SELECT 1 FROM workflow_executions")[0])
