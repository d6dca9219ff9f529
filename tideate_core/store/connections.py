"""Connections that only read, one per thread: SQLite's readers wait for no writer and not for each other."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import StoreError
from tideate_core.store.database import connect_to_read, migrate, translated
from tideate_core.store.identity import is_ours, open_ours
from tideate_core.store.rows import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Connections"]


MOST_COPIED: Final = 64 * 1024 * 1024
"""Bytes of an old database from elsewhere that are copied into memory to be read: some tenths of a second."""


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
        if version and not is_ours(self._path.parent):
            return self._brought_up_beside(connection)
        connection.close()
        if version == 0:  # another process is just making it
            return None
        open_ours(self._path).close()  # migrates it
        return connect_to_read(self._path)

    def _brought_up_beside(self, old: sqlite3.Connection) -> sqlite3.Connection:
        """Return a copy in memory that is of this version: nothing is written to one from elsewhere.

        Every thread that reads has its own and makes it anew.

        :raises StoreError: it is too big for that.
        """
        copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        try:
            with closing(old):
                self._require_small(old)
                old.backup(copy)
            copy.execute("PRAGMA trusted_schema = OFF")
            migrate(self._path, copy)
            copy.execute("PRAGMA query_only = ON")
        except BaseException:
            copy.close()
            raise
        return copy

    def _require_small(self, connection: sqlite3.Connection) -> None:
        size = _size(connection)
        if size > MOST_COPIED:
            raise StoreError(
                f"{self._path} was not made by your tideate but by an older one: to be shown it is copied"
                f" into memory, and its {size / 2**20:,.0f} MiB are more than the {MOST_COPIED / 2**20:,.0f}"
                f" that may be. If you know where it is from: `tideate trust {self._path}`"
            )


def _size(connection: sqlite3.Connection) -> int:
    """Return the bytes of a database."""
    values = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")]
    return int(values[0]) * int(values[1])


def _version(connection: sqlite3.Connection) -> int:
    known = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'"
    if connection.execute(known).fetchone() == (0,):
        return 0
    return int(connection.execute("SELECT COALESCE(MAX(version), 0) FROM schema_version").fetchone()[0])
