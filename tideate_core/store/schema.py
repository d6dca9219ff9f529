"""Schema versions of databases: migrate, refuse newer ones, recognise those of earlier versions."""

from __future__ import annotations

import re
import sqlite3
import time
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import StoreIsNewer
from tideate_core.store.objects import Objects
from tideate_core.store.run_texts import index_all

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["READABLE", "is_own_database", "migrate", "refuse_newer", "schema_version"]

READABLE: Final = 24
"""The oldest version with every table and column that reading names."""

_RUN_TEXTS: Final = 21
"""Adds the index of words; those of big texts are in files, where no SQL finds them."""
_MIGRATIONS: Final = Path(__file__).parent / "migrations"

_VERSION_TABLE: Final = """
CREATE TABLE IF NOT EXISTS schema_version (
  version INTEGER PRIMARY KEY,
  applied_at INTEGER NOT NULL
);
"""

_NAME: Final = re.compile(r"[0-9a-f]{32}")
_MOST_NAMES: Final = 1000


def migrate(path: Path, connection: sqlite3.Connection) -> None:
    """Bring the database to this version in one transaction: with one for each migration, each would sync.

    :raises StoreIsNewer: a newer tideate migrated it meanwhile.
    :raises sqlite3.Error: a migration failed; the database is as it was before all of them.
    """
    missing = list(_missing(schema_version(connection)))
    if missing:
        connection.execute("BEGIN IMMEDIATE")
        try:
            for number, script in missing:
                # another process may have done it while this one waited for the lock
                if schema_version(connection) < number:
                    _apply(connection, number, script)
                    if number == _RUN_TEXTS:
                        index_all(connection, Objects(path.parent))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    refuse_newer(path, connection)


def _apply(connection: sqlite3.Connection, number: int, script: str) -> None:
    for statement in _statements(script):
        connection.execute(statement)
    connection.execute(
        "INSERT INTO schema_version (version, applied_at) VALUES (?, ?)",
        (number, time.time_ns() // 1_000_000),
    )


def refuse_newer(path: Path, connection: sqlite3.Connection) -> None:
    """:raises StoreIsNewer: a newer tideate made the database."""
    version, newest = schema_version(connection), _files()[-1][0]
    if version > newest:
        raise StoreIsNewer(
            f"{path} was made by a newer tideate (its schema is version {version}, this one knows {newest}); "
            "update tideate, nothing was changed"
        )


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the newest migration that the database has, 0 of an empty one."""
    known = connection.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'"
    ).fetchone()
    if known is None:
        return 0
    return int(connection.execute("SELECT COALESCE(MAX(version), 0) FROM schema_version").fetchone()[0])


def is_own_database(copy: Path, stores: Path) -> bool:
    """Tell whether this person's tideate made a database of an earlier version, as projects had them.

    Such a database has random names, and the person's state knows one of them. Its log is moved into it.

    :param copy: of the database, with its log beside it, in a directory of the person's.
    :param stores: the directory with a file for each name that is known.
    """
    try:
        with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            found = connection.execute("SELECT name FROM store_names LIMIT ?", (_MOST_NAMES,)).fetchall()
            names = [name for (name,) in found if isinstance(name, str) and _NAME.fullmatch(name)]
            if not any((stores / name).is_file() for name in names):
                return False
            whole = connection.execute("PRAGMA quick_check").fetchone()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return bool(whole == ("ok",))
    except sqlite3.Error:
        return False


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
