"""The file `tideate.db`: opening, migrating, and what its errors mean to a person."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import threading
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import StoreError, StoreIsNewer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "FILE",
    "connect_to_read",
    "is_of_the_database",
    "may_pass",
    "migrate",
    "open_to_write",
    "translated",
]

FILE: Final = "tideate.db"

_MIGRATIONS: Final = Path(__file__).parent / "migrations"

BUSY: Final = 5.0
"""Seconds to wait for another process's commit."""

_PAGE: Final = 2048
"""Bytes of a page. A step's commit changes about ten; half the usual size halves what it writes."""

_CHECKPOINT_PAGES: Final = 8000
"""Pages in the log before they move into the database: two fsyncs more, once per 16 MB."""

_LOG_BYTES: Final = 4 * 1024 * 1024
"""What is kept of the log's file when it starts anew."""

_MAKING: Final = threading.Lock()

_MEANINGS: Final[Mapping[int, str]] = {
    sqlite3.SQLITE_BUSY: "is kept locked by another process; end it, or try again",
    sqlite3.SQLITE_LOCKED: "is locked by another process; try again",
    sqlite3.SQLITE_FULL: "cannot grow, the disk is full; free some space and try again",
    sqlite3.SQLITE_READONLY: "cannot be written, it is read-only; make it and its directory writable",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that its directory exists and may be written",
    sqlite3.SQLITE_PERM: "may not be opened; give yourself the right to read and write it",
    sqlite3.SQLITE_NOTADB: "is not a database; move it away, a new one is made then, without its runs",
    sqlite3.SQLITE_CORRUPT: "is damaged; move it and its -wal and -shm away, a new one is made then"
    " (`sqlite3 tideate.db .recover` may save its runs)",
    sqlite3.SQLITE_IOERR: "cannot be read or written by the system; check the disk, its space and its limits",
    sqlite3.SQLITE_NOMEM: "cannot be used, the memory is exhausted",
    sqlite3.SQLITE_TOOBIG: "cannot hold a value as big as this one",
    sqlite3.SQLITE_NOLFS: "is too big for its file system",
}


def translated(path: Path, error: sqlite3.Error | OSError) -> StoreError:
    """Return the error that tells a person what happened to the database and what to do."""
    if isinstance(error, OSError):
        return StoreError(
            f"{path} cannot be used: {error.strerror or error} ({error.filename or path.parent})"
        )
    # an extended code has the primary one in its lowest byte
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    meaning = _MEANINGS.get(code, "cannot be used; this is a mistake of tideate, please report it")
    return StoreError(f"{path} {meaning} ({error})")


def is_of_the_database(error: sqlite3.Error | OSError) -> bool:
    """Tell whether nothing can be written now, rather than that this one thing cannot."""
    if isinstance(error, OSError):
        return True
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    return code in _MEANINGS and code != sqlite3.SQLITE_TOOBIG


def may_pass(error: sqlite3.Error | OSError) -> bool:
    """Tell whether it may be possible to write in a moment: another process ends, somebody frees space."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL)


def open_to_write(path: Path) -> sqlite3.Connection:
    """Open the database, made and migrated where need be; any one thread at a time may use it.

    :raises StoreIsNewer: a newer tideate made it; nothing was changed.
    :raises StoreError: it cannot be used, with the reason.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _make_private(path)
        connection = sqlite3.connect(
            path, timeout=BUSY, isolation_level=None, check_same_thread=False, cached_statements=256
        )
    except (sqlite3.Error, OSError) as error:
        raise translated(path, error) from error
    try:
        _refuse_newer(path, connection)
        _set_up(path, connection)
        migrate(path, connection)
    except (sqlite3.Error, OSError) as error:
        connection.close()
        raise translated(path, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _make_private(path: Path) -> None:
    """Make the file for nobody but its owner if there is none: it holds texts of the user's files.

    SQLite gives the files beside it the same mode; one that is there keeps its own.
    """
    # one at a time: closing a file here would drop the locks of a connection that another thread made to it
    with _MAKING, contextlib.suppress(OSError):  # what is in the way SQLite says better, as it opens the file
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open the database to read; waits for nobody.

    :raises StoreError: it cannot be used, with the reason.
    """
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro",
            uri=True,
            timeout=BUSY,
            isolation_level=None,
            check_same_thread=False,  # whoever collects one that its thread left behind may close it
        )
    except sqlite3.Error as error:
        raise translated(path, error) from error
    try:
        connection.execute("PRAGMA query_only = ON")
        _refuse_newer(path, connection)
    except sqlite3.Error as error:
        connection.close()
        raise translated(path, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def migrate(path: Path, connection: sqlite3.Connection) -> None:
    """Bring the database to this version, each migration in a transaction of its own.

    :raises StoreIsNewer: a newer tideate migrated it meanwhile.
    :raises sqlite3.Error: a migration failed; the database is as it was before it.
    """
    for number, script in _missing(_version(connection)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            # another process may have done it while this one waited for the lock
            if _version(connection) < number:
                for statement in _statements(script):
                    connection.execute(statement)
                connection.execute(
                    "INSERT INTO schema_version (version, applied_at) VALUES (?, ?)",
                    (number, time.time_ns() // 1_000_000),
                )
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    _refuse_newer(path, connection)


def _refuse_newer(path: Path, connection: sqlite3.Connection) -> None:
    version, newest = _version(connection), _files()[-1][0]
    if version > newest:
        raise StoreIsNewer(
            f"{path} was made by a newer tideate (its schema is version {version}, this one knows {newest}); "
            "update tideate, nothing was changed"
        )


def _set_up(path: Path, connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA page_size = {_PAGE}")  # of a database that is still empty
    mode = _write_ahead(connection)
    if mode != "wal":
        raise StoreError(
            f"{path} cannot be used: its file system has no shared memory for a write-ahead log"
            f" (mode {mode!r}); let TIDEATE_STATE name a directory on a local disk"
        )
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")


def _write_ahead(connection: sqlite3.Connection) -> str:
    """Turn the write-ahead log on and return the mode that this led to.

    SQLite does not wait by itself when two processes do so at once.
    """
    end = time.monotonic() + BUSY
    while True:
        try:
            return str(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)


def _version(connection: sqlite3.Connection) -> int:
    """Return the newest migration that the database has, 0 of an empty one."""
    known = connection.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'"
    ).fetchone()
    if known is None:
        return 0
    return int(connection.execute("SELECT COALESCE(MAX(version), 0) FROM schema_version").fetchone()[0])


_VERSION_TABLE: Final = """
CREATE TABLE IF NOT EXISTS schema_version (
  version INTEGER PRIMARY KEY,
  applied_at INTEGER NOT NULL
);
"""


@cache
def _files() -> tuple[tuple[int, str], ...]:
    """Return number and name of every migration, ascending."""
    names = sorted(file.name for file in _MIGRATIONS.glob("*.sql"))
    return tuple((int(name.partition("_")[0]), name) for name in names)


def _missing(version: int) -> Iterator[tuple[int, str]]:
    for number, name in _files():
        if number > version:
            yield number, _VERSION_TABLE + (_MIGRATIONS / name).read_text(encoding="utf-8")


def _statements(script: str) -> Iterator[str]:
    """Cut a script into statements; `executescript` would commit before it begins."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
