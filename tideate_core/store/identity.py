"""Whose a database is: made by this person's tideate, trusted by the person, or come from elsewhere.

Of one from elsewhere nothing is gone on with, since its results and answers may be forged, and nothing is
written to it, since its triggers may be anybody's.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from tideate_core import provenance
from tideate_core.errors import StoreIsForeign
from tideate_core.project import real, state_dir
from tideate_core.store.database import FILE, connect_to_read, in_every_version, open_to_write, translated
from tideate_core.store.leases import now_ms

__all__ = ["foreign", "is_ours", "open_ours", "require_ours", "revoke", "trust"]

_MOST_NAMES: Final = 1000
"""Persons that trusted one database; more are not looked at."""

_ACTING: Final = "SELECT type, name, sql FROM sqlite_master WHERE type IN ('trigger', 'view')"


def open_ours(path: Path) -> sqlite3.Connection:
    """Open a database of this person's to write, made and migrated where need be.

    :raises StoreIsForeign: it came from elsewhere; nothing was changed.
    :raises StoreIsNewer: a newer tideate made it; nothing was changed.
    :raises StoreError: it cannot be used, with the reason.
    """
    # first without the right to write: closing what was opened to write would move the log into the file
    require_ours(path.parent)
    return open_to_write(path, _refuse_foreign, _claim)


def is_ours(private: Path) -> bool:
    """Tell whether the database of a private directory is this person's, or there is none.

    :raises StoreError: it cannot be read.
    """
    path = private / FILE
    try:
        if not path.exists():
            return True
    except OSError as error:  # the directory may not be searched
        raise translated(path, error) from error
    connection = connect_to_read(path)
    with closing(connection):
        try:
            return _is_ours(path, connection)
        except sqlite3.Error as error:
            raise translated(path, error) from error


def require_ours(private: Path) -> None:
    """:raises StoreIsForeign: the database of a private directory came from elsewhere.

    :raises StoreError: it cannot be read.
    """
    if not is_ours(private):
        raise foreign(private / FILE)


def trust(path: Path) -> None:
    """Know a database as this person's from now on: its runs can go on, and new ones be added.

    It gets a new name: those that it has are known to whoever made it.

    :raises StoreIsForeign: something in it would act by itself, which tideate never made.
    :raises StoreError: it cannot be read or written.
    """
    if is_ours(path.parent):
        return
    with closing(open_to_write(path, _refuse_acting, _name)):
        pass


def revoke(path: Path) -> bool:
    """Know a database no longer; return False where it was not known.

    :raises StoreError: it cannot be read.
    """
    with closing(connect_to_read(path)) as connection:
        try:
            names = _names(connection)
            known = [name for name in names if isinstance(name, str) and provenance.forget(name)]
        except (sqlite3.Error, OSError) as error:
            raise translated(path, error) from error
    return bool(known)


def _refuse_foreign(path: Path, connection: sqlite3.Connection) -> None:
    if not _is_ours(path, connection):
        raise foreign(path)


def _is_ours(path: Path, connection: sqlite3.Connection) -> bool:
    # an empty one is just being made; the person's own directory came with no project
    if _is_empty(connection) or real(path.parent) == real(state_dir()):
        return True
    return any(provenance.is_known(name) for name in _names(connection))


def _is_empty(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone() == (0,))


def _names(connection: sqlite3.Connection) -> list[object]:
    known = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'store_names'"
    if connection.execute(known).fetchone() is None:
        return []
    found = connection.execute("SELECT name FROM store_names LIMIT ?", (_MOST_NAMES,)).fetchall()
    return [name for (name,) in found]


def _claim(path: Path, connection: sqlite3.Connection) -> None:
    """Give a database that is just being made its first name, before there is anything else in it."""
    if _is_empty(connection):
        _name(path, connection, only_empty=True)


def _name(path: Path, connection: sqlite3.Connection, *, only_empty: bool = False) -> None:
    name = provenance.new_name()
    # first: a name that no database has does no harm, one that nobody knows makes it a stranger's
    provenance.remember(name, path)
    connection.execute("BEGIN IMMEDIATE")
    try:
        if only_empty and not _is_empty(connection):  # another process was faster
            connection.execute("ROLLBACK")
            provenance.forget(name)
            return
        connection.execute(_table())
        connection.execute("INSERT INTO store_names (name, made_at) VALUES (?, ?)", (name, now_ms()))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _table() -> str:
    return (Path(__file__).parent / "migrations" / "013_identity.sql").read_text(encoding="utf-8")


def _refuse_acting(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse a database with triggers or views that are not tideate's: they would act with every write."""
    ours = in_every_version(_ACTING)
    strange = [row for row in connection.execute(_ACTING).fetchall() if row not in ours]
    if strange:
        kind, name, _ = strange[0]
        raise StoreIsForeign(
            f"{path} has the {kind} {name!a}, which this tideate does not make and which would act by itself;"
            " it cannot be trusted. Move it and its -wal and -shm away, a new one is made then"
        )


def foreign(path: Path) -> StoreIsForeign:
    """Return the error that says what to do about a database from elsewhere."""
    return StoreIsForeign(
        f"{path} was not made by your tideate: it came with the project, or it is from before databases had"
        f" names, or {provenance.stores_dir()} was lost. Its runs can be looked at (`tideate history`,"
        " `:Workflow history`), but none goes on, is taken back or added. If you know where it is from:"
        f" `tideate trust {path}` or `:Workflow trust {path}`; to begin anew, move it and its -wal and -shm"
        " away"
    )
