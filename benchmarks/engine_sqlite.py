"""The settings of SQLite that engines are compared with, and the task with `sqlite3` alone."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from benchmarks.engine_probe import Probe, Ready, Task

FILE: Final = "peer.db"
RUN: Final = "run-1"


def synced_write_ahead(connection: Any) -> None:
    """Set a connection as tideate's are: a write-ahead log, synced at every commit."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


def floor(task: Task, probe: Probe) -> Ready:
    """`sqlite3` alone: one row and one commit for each step of a chain, of a fan all in one commit."""
    connection = sqlite3.connect(task.place / FILE, isolation_level=None)
    synced_write_ahead(connection)
    connection.execute("CREATE TABLE IF NOT EXISTS steps (run TEXT, step INTEGER, result TEXT)")

    def go() -> int:
        if task.shape == "fan":
            connection.execute("BEGIN IMMEDIATE")
        for number in range(task.steps):
            row = (RUN, number, probe.step(number))
            connection.execute("INSERT INTO steps VALUES (?, ?, ?)", row)
        if task.shape == "fan":
            connection.execute("COMMIT")
        (count,) = connection.execute("SELECT count(*) FROM steps").fetchone()
        return int(count)

    return go, connection.close
