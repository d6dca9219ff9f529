"""Connections that only read, one per thread: SQLite's readers wait for no writer and not for each other."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tideate_core.store.database import connect_to_read, open_to_write, translated
from tideate_core.store.rows import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Connections"]


@dataclass(frozen=True, slots=True)
class _Held:
    connection: sqlite3.Connection
    file: tuple[int, int]
    """Device and inode that it was opened for."""


class Connections:
    """Every thread's connection to a database that may not be there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()

    def fetch(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a statement, none where there is no database.

        :raises StoreIsNewer: a newer tideate made the database.
        :raises StoreError: it cannot be read, with the reason.
        """
        try:
            connection = self._connection()
            # all rows at once: a read that stays open keeps the write-ahead log from starting anew
            return [] if connection is None else connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise translated(self._path, error) from error

    def close(self) -> None:
        """Close this thread's."""
        held: _Held | None = getattr(self._local, "held", None)
        if held is not None:
            self._local.held = None
            held.connection.close()

    def _connection(self) -> sqlite3.Connection | None:
        file = self._file()
        held: _Held | None = getattr(self._local, "held", None)
        if held is not None and held.file == file:
            return held.connection
        self.close()  # it is another file now: the old one was moved away or deleted
        if file is None:
            return None
        connection = self._opened()
        if connection is not None:
            self._local.held = _Held(connection, file)
        return connection

    def _file(self) -> tuple[int, int] | None:
        # never `open`: closing a plain file of it would drop the locks that SQLite has on it in this process
        try:
            stat = self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise translated(self._path, error) from error
        return stat.st_dev, stat.st_ino

    def _opened(self) -> sqlite3.Connection | None:
        connection = connect_to_read(self._path)
        version = _version(connection)
        if version >= SCHEMA:
            return connection
        connection.close()
        if version == 0:  # another process is just making it
            return None
        open_to_write(self._path).close()  # migrates it
        return connect_to_read(self._path)


def _version(connection: sqlite3.Connection) -> int:
    known = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'"
    if connection.execute(known).fetchone() == (0,):
        return 0
    return int(connection.execute("SELECT COALESCE(MAX(version), 0) FROM schema_version").fetchone()[0])
