"""Creation and migration of the database; rejection of unusable versions."""

from __future__ import annotations

import sqlite3
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.store.making import query, versions
from tideate_core.errors import StoreIsNewer
from tideate_core.store import Store, schema
from tideate_core.store.database import (
    FILE,
    connect_to_read,
    open_to_write,
)
from tideate_core.store.schema import migrate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_a_new_database_has_the_newest_schema(private: Path) -> None:
    Store.open(private).close()
    assert query(private, "SELECT version FROM schema_version ORDER BY version") == versions()
    assert query(private, "PRAGMA journal_mode") == [("wal",)]
    assert query(private, "PRAGMA integrity_check") == [("ok",)]


def of_version(private: Path, version: int) -> sqlite3.Connection:
    """Return a connection to a database that says it is of another version."""
    connection = open_to_write(private / FILE)
    connection.execute("UPDATE schema_version SET version = ?", (version,))
    return connection


LATER = "CREATE TABLE later (a);\nINSERT INTO {} VALUES (1);\n"


@pytest.mark.parametrize(("table", "version", "count"), [("later", 25, 1), ("nowhere", 24, 0)])
def test_a_later_migration_is_applied_whole_or_not_at_all(
    private: Path, monkeypatch: pytest.MonkeyPatch, table: str, version: int, count: int
) -> None:
    with closing(of_version(private, 24)) as connection:
        monkeypatch.setattr(schema, "_missing", lambda _version: [(25, LATER.format(table))])
        monkeypatch.setattr(schema, "_files", lambda: ((24, "first"), (25, "later")))
        with nullcontext() if count else pytest.raises(sqlite3.OperationalError, match="nowhere"):
            migrate(private / FILE, connection)
        assert connection.execute("SELECT max(version) FROM schema_version").fetchone() == (version,)
        made = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'later'").fetchone()
        assert made == (count,)


@pytest.mark.parametrize("opening", [open_to_write, connect_to_read])
def test_a_newer_database_is_refused_and_left_alone(
    private: Path, opening: Callable[[Path], sqlite3.Connection]
) -> None:
    Store.open(private).close()
    path = private / "tideate.db"
    other = sqlite3.connect(path)
    other.execute("INSERT INTO schema_version VALUES (999, 0)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreIsNewer, match=r"version 999.*update tideate"):
        opening(path)
    assert path.read_bytes() == before


def test_migrations_are_numbered_without_doubles() -> None:
    numbers = [number for number, _ in schema._files()]
    assert numbers == sorted(set(numbers))


@pytest.mark.concurrency
def test_a_migration_that_another_process_does_first_is_not_done_again(private: Path) -> None:
    private.mkdir()
    one, other = (sqlite3.connect(private / FILE, isolation_level=None) for _ in range(2))
    with closing(one), closing(other):

        def comes_first(statement: str) -> None:
            if statement == "BEGIN IMMEDIATE":
                one.set_trace_callback(None)
                migrate(private / FILE, other)

        one.set_trace_callback(comes_first)
        migrate(private / FILE, one)
        applied = one.execute("SELECT version, count(*) FROM schema_version GROUP BY version").fetchall()
    assert {count for _, count in applied} == {1}


def test_a_schema_that_does_not_fit_on_the_disk_leaves_an_empty_database(private: Path) -> None:
    private.mkdir()
    with closing(sqlite3.connect(private / FILE, isolation_level=None)) as connection:
        connection.execute("PRAGMA max_page_count = 8")
        with pytest.raises(sqlite3.OperationalError, match="full"):
            migrate(private / FILE, connection)
        assert not connection.in_transaction
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    Store.open(private).close()
    assert query(private, "SELECT version FROM schema_version ORDER BY version") == versions()
