"""Taking the database's write lock, without being deaf while another process has it."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["begin", "wait_briefly"]

_TRY: Final = 50
"""Milliseconds that SQLite waits at a time."""


def wait_briefly(connection: sqlite3.Connection) -> None:
    """Have a connection wait for a lock no longer than `begin` needs."""
    connection.execute(f"PRAGMA busy_timeout = {_TRY}")


def begin(connection: sqlite3.Connection, patience: float, meanwhile: Callable[[], None]) -> None:
    """Begin a transaction that writes.

    :param connection: that waits briefly.
    :param patience: seconds.
    :param meanwhile: called every 50 ms while another process has the lock.
    :raises sqlite3.OperationalError: it has it all the time.
    """
    end = time.monotonic() + patience
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= end:
                raise
        meanwhile()
