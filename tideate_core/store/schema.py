"""Schema version of the database: creation, migration, rejection of unusable versions."""

from __future__ import annotations

import sqlite3
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import StoreIsNewer

if TYPE_CHECKING:
    from collections.abc import Iterator

_MIGRATIONS: Final = Path(__file__).parent / "migrations"

_VERSION_TABLE: Final = """
CREATE TABLE IF NOT EXISTS schema_version (
  version INTEGER PRIMARY KEY,
  applied_at INTEGER NOT NULL
);
"""


def migrate(path: Path, connection: sqlite3.Connection) -> None:
    """Migrate the database to this version in one transaction: several would each sync.

    :raises StoreIsNewer: a newer tideate migrated it meanwhile.
    :raises sqlite3.Error: a migration failed; the database is unchanged.
    """
    missing = list(_missing(schema_version(connection)))
    if missing:
        connection.execute("BEGIN IMMEDIATE")
        try:
            for number, script in missing:
                # another process may have applied it while this one waited for the lock
                if schema_version(connection) < number:
                    _apply(connection, number, script)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    refuse_unusable(path, connection)


def _apply(connection: sqlite3.Connection, number: int, script: str) -> None:
    for statement in _statements(script):
        connection.execute(statement)
    connection.execute(
        "INSERT INTO schema_version (version, applied_at) VALUES (?, ?)",
        (number, time.time_ns() // 1_000_000),
    )


def refuse_unusable(path: Path, connection: sqlite3.Connection) -> None:
    """Reject a database of a newer version.

    :raises StoreIsNewer: a newer tideate made it.
    """
    version, known = schema_version(connection), _files()[-1][0]
    if version > known:
        raise StoreIsNewer(
            f"{path} was made by a newer tideate (its schema is version {version}, this one knows "
            f"{known}); update tideate, nothing was changed"
        )


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the newest applied migration, 0 for an empty database."""
    known = connection.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'"
    ).fetchone()
    if known is None:
        return 0
    return int(connection.execute("SELECT COALESCE(MAX(version), 0) FROM schema_version").fetchone()[0])


@cache
def _files() -> tuple[tuple[int, str], ...]:
    """Return number and name of every migration in ascending order."""
    names = sorted(file.name for file in _MIGRATIONS.glob("*.sql"))
    return tuple((int(name.partition("_")[0]), name) for name in names)


def _missing(version: int) -> Iterator[tuple[int, str]]:
    for number, name in _files():
        if number > version:
            yield number, _VERSION_TABLE + (_MIGRATIONS / name).read_text(encoding="utf-8")


def _statements(script: str) -> Iterator[str]:
    """Split a script into statements; `executescript` would commit the open transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
