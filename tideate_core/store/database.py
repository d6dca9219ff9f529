"""SQLite connections to `tideate.db`: read and write access, locking, readable errors."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import StoreError
from tideate_core.store.schema import migrate, refuse_unusable, schema_version
from tideate_core.util.private_files import is_full, make_private_directory, open_private, tighten
from tideate_core.util.regular_files import check_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

FILE: Final = "tideate.db"

BUSY: Final = 5.0
"""Seconds to wait for a commit of another process."""

_LOCK_TRY: Final = 50
"""Milliseconds that one attempt to get the write lock waits in SQLite."""

_PAGE: Final = 2048
"""Bytes of a page. A step's commit changes about ten pages; half the default size halves the writes."""

_CHECKPOINT_PAGES: Final = 8000
"""Pages in the log before a checkpoint moves them to the database: two more fsyncs per 16 MB."""

_LOG_BYTES: Final = 4 * 1024 * 1024
"""Bytes of the log file that are kept when it restarts."""

_MAKING: Final = threading.Lock()

_MEANINGS: Final[Mapping[int, str]] = {
    sqlite3.SQLITE_BUSY: "is kept locked by another process; end it, or try again",
    sqlite3.SQLITE_LOCKED: "is locked by another process; try again",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full; free some space and try again",
    sqlite3.SQLITE_READONLY: "cannot be written: it is read-only; make it and its directory writable",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that its directory exists and may be written",
    sqlite3.SQLITE_PERM: "may not be opened; give yourself the right to read and write it",
    sqlite3.SQLITE_NOTADB: "is not a database; move it away, and a new one is created without its runs",
    sqlite3.SQLITE_CORRUPT: "is damaged; move it and its -wal and -shm away, and a new one is created"
    " (`sqlite3 tideate.db .recover` may save its runs)",
    sqlite3.SQLITE_IOERR: "cannot be read or written by the system; check the disk, its space and its limits",
    sqlite3.SQLITE_NOMEM: "cannot be used: the system is out of memory",
    sqlite3.SQLITE_TOOBIG: "cannot hold a value as big as this one",
    sqlite3.SQLITE_NOLFS: "is too big for its file system",
}


def translated(path: Path, error: sqlite3.Error | OSError) -> StoreError:
    """Return a StoreError with the cause and a remedy for a person."""
    if _has_no_room(path, error):
        return StoreError(f"{path} {_MEANINGS[sqlite3.SQLITE_FULL]} ({error})")
    if isinstance(error, OSError):
        return StoreError(
            f"{path} cannot be used: {error.strerror or error} ({error.filename or path.parent})"
        )
    meaning = _MEANINGS.get(_code(error), "cannot be used; this is a mistake of tideate, please report it")
    return StoreError(f"{path} {meaning} ({error})")


def _code(error: sqlite3.Error) -> int:
    # an extended code has the primary one in its lowest byte
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def _has_no_room(path: Path, error: sqlite3.Error | OSError) -> bool:
    """Return whether the disk is full; SQLite reports some of these cases as an I/O error."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return _code(error) in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and is_full(path.parent)


def is_of_the_database(error: sqlite3.Error | OSError) -> bool:
    """Return whether the database as a whole cannot be written, not only this value."""
    if isinstance(error, OSError):
        return True
    code = _code(error)
    return code in _MEANINGS and code != sqlite3.SQLITE_TOOBIG


def may_pass(error: sqlite3.Error | OSError) -> bool:
    """Return whether a retry may succeed: the lock or the full disk may be temporary."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL)


def open_to_write(path: Path) -> sqlite3.Connection:
    """Open the database for writing; create or migrate it if needed. One thread may use it at a time.

    :raises StoreIsNewer: a newer tideate made it; nothing was changed.
    :raises StoreError: it cannot be used, with the reason.
    """
    with _opened(path, make_database_file, str(path), cached_statements=256) as connection:
        refuse_unusable(path, connection)
        _set_up(path, connection)
        migrate(path, connection)
        connection.execute(f"PRAGMA busy_timeout = {_LOCK_TRY}")
    return connection


@contextlib.contextmanager
def _opened(
    path: Path, prepare: Callable[[Path], None], database: str, **options: Any
) -> Iterator[sqlite3.Connection]:
    """Yield a new connection, closed if the block fails; errors of SQLite and the system are translated."""
    connection = None
    try:
        prepare(path)
        connection = sqlite3.connect(
            database,
            timeout=BUSY,
            isolation_level=None,
            check_same_thread=False,  # the garbage collector of any thread may close it
            **options,
        )
        yield connection
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, sqlite3.Error | OSError):
            raise translated(path, error) from error
        raise


def make_database_file(path: Path) -> None:
    """Create the database file if it is missing, readable only by the person: it holds texts of their files.

    SQLite gives the files beside it the same mode.

    :raises OSError: it cannot be created, or one of its names belongs to something else than a regular file.
    """
    make_private_directory(path.parent)
    check_database_files(path)
    # one at a time: closing a file here would drop the locks of another thread's connection to it
    with _MAKING, contextlib.suppress(OSError):  # what is in the way SQLite says better, as it opens the file
        os.close(open_private(path, os.O_CREAT | os.O_EXCL | os.O_RDWR))
        return
    for one in _files_of(path):
        with contextlib.suppress(FileNotFoundError, PermissionError):  # SQLite tells what it may not write
            tighten(one)


def check_database_files(path: Path) -> None:
    """Check that no database file is a named pipe or device, on which SQLite would hang.

    :raises OSError: one of the names belongs to something else than a regular file.
    """
    for one in _files_of(path):
        check_regular(one)


def _files_of(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm", "-journal")]


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open the database for reading; never waits for a writer.

    :raises StoreError: it cannot be used, with the reason.
    """
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with _opened(path, check_database_files, uri, uri=True) as connection:
        connection.execute("PRAGMA query_only = ON")
        refuse_unusable(path, connection)
    return connection


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
    """Turn on the write-ahead log and return the resulting mode.

    SQLite itself does not wait if two processes do this at once.
    """
    end = time.monotonic() + BUSY
    while True:
        try:
            return str(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)


def begin_transaction(connection: sqlite3.Connection, patience: float, meanwhile: Callable[[], None]) -> None:
    """Begin a write transaction.

    :param connection: from `open_to_write`.
    :param patience: seconds.
    :param meanwhile: called every 50 ms while another process holds the lock.
    :raises sqlite3.OperationalError: another process held the lock all the time.
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


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of the database, None if it does not exist.

    :raises OSError: its directory cannot be searched, or it is not a regular file.
    """
    # never opened: closing a plain file would drop this process's SQLite locks on it
    try:
        status = check_regular(path)
    except NotADirectoryError:
        return None
    return None if status is None else (status.st_dev, status.st_ino)


class ReadConnections:
    """Read-only connections, one per thread, to a database that may not exist.

    SQLite's readers never wait for a writer, and in separate threads not for each other.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()

    def fetch(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a statement; none if there is no database.

        :raises StoreIsNewer: a newer tideate made the database.
        :raises StoreError: it cannot be read, with the reason.
        """
        try:
            connection = self._connection()
            # all rows at once: an open read keeps the write-ahead log from restarting
            return [] if connection is None else connection.execute(statement, values).fetchall()
        except (sqlite3.Error, OSError) as error:
            raise translated(self._path, error) from error

    def close(self) -> None:
        """Close this thread's connection."""
        connection, _ = self._opened()
        if connection is not None:
            self._local.opened = None, None
            connection.close()

    def _opened(self) -> tuple[sqlite3.Connection | None, tuple[int, int] | None]:
        """Return this thread's connection and the identity of its file."""
        opened: tuple[sqlite3.Connection | None, tuple[int, int] | None]
        opened = getattr(self._local, "opened", (None, None))
        return opened

    def _connection(self) -> sqlite3.Connection | None:
        identity = file_identity(self._path)
        connection, known = self._opened()
        if identity == known:
            return connection
        self.close()  # the path is another file now: the old one was moved or deleted
        if identity is None:
            return None
        connection = connect_to_read(self._path)
        if schema_version(connection) == 0:  # another process is creating it
            connection.close()
            return None
        self._local.opened = connection, identity
        return connection
