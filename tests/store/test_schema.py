"""Migrating a database, and refusing one of a newer version."""

from __future__ import annotations

import sqlite3
from contextlib import closing
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
from tideate_core.store.schema import is_own_database, migrate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_a_new_database_has_all_migrations(private: Path) -> None:
    Store.open(private).close()
    assert query(private, "SELECT version FROM schema_version ORDER BY version") == versions()
    assert query(private, "PRAGMA journal_mode") == [("wal",)]
    assert query(private, "PRAGMA integrity_check") == [("ok",)]


def test_an_older_database_is_brought_up_to_date(private: Path) -> None:
    connection = connect_with_only(private, 11)
    connection.close()
    open_to_write(private / "tideate.db").close()
    assert query(private, "SELECT version FROM schema_version ORDER BY version") == versions()
    assert query(private, "SELECT count(*) FROM workflow_events") == [(0,)]


def connect_with_only(private: Path, newest: int) -> sqlite3.Connection:
    with pytest.MonkeyPatch.context() as patch:
        files = [file for file in schema._files() if file[0] <= newest]
        patch.setattr(schema, "_files", lambda: files)
        return open_to_write(private / "tideate.db")


def test_a_migration_that_fails_leaves_the_database_as_it_was(
    private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = connect_with_only(private, 11)
    broken = [(12, "CREATE TABLE half (a);\nINSERT INTO nowhere VALUES (1);\n")]
    monkeypatch.setattr(schema, "_missing", lambda version: broken)
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrate(private / "tideate.db", connection)
    assert connection.execute("SELECT max(version) FROM schema_version").fetchone() == (11,)
    assert connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'half'").fetchone() == (0,)
    connection.close()


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


def test_migrations_are_numbered_without_doubles_and_are_in_the_package() -> None:
    numbers = [number for number, _ in schema._files()]
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 11


def test_checkpoints_of_a_run_that_is_under_way_are_counted_once(private: Path) -> None:
    connection = connect_with_only(private, 13)
    connection.execute("INSERT INTO workflows VALUES ('w', 'w', '', '1', 'hash', 0, 0, NULL)")
    for run, status in (("a", "completed"), ("b", "executing_steps")):
        connection.execute(
            "INSERT INTO workflow_executions (id, workflow_id, total_steps, started_at, status)"
            " VALUES (?, 'w', 1, 86400000, ?)",
            (run, status),
        )
        connection.execute(
            "INSERT INTO workflow_steps (execution_id, step_id, step_name, agent_id, task, status, ordinal,"
            " completed_at) VALUES (?, 's', 's', 'x', '', 'completed', 1, 86400000)",
            (run,),
        )
        for manual in (0, 1):
            connection.execute(
                "INSERT INTO workflow_checkpoints VALUES (?, ?, 's', 1, ?, 86400000)",
                (f"{run}{manual}", run, manual),
            )
    connection.close()
    migrated = open_to_write(private / "tideate.db")
    counts = "SELECT checkpoints_created FROM workflow_metrics"
    assert migrated.execute(counts).fetchall() == [(3,)]
    migrated.execute("UPDATE workflow_executions SET status = 'completed' WHERE id = 'b'")
    assert migrated.execute(counts).fetchall() == [(4,)]
    points = migrated.execute("SELECT id FROM all_checkpoints ORDER BY id").fetchall()
    migrated.close()
    assert points == [("a.1",), ("a1",), ("b.1",), ("b1",)]


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
    assert len(applied) > 1
    assert {count for _, count in applied} == {1}


def test_requests_that_wait_survive_that_they_may_have_a_text(private: Path) -> None:
    connection = connect_with_only(private, 17)
    connection.execute("INSERT INTO workflows VALUES ('w', 'w', '', '1', 'hash', 0, 0, NULL)")
    connection.execute(
        "INSERT INTO workflow_executions (id, workflow_id, total_steps, started_at, status)"
        " VALUES ('a', 'w', 1, 86400000, 'executing_steps')"
    )
    for _ in range(2):
        connection.execute("INSERT INTO workflow_wishes (execution_id, wish, at) VALUES ('a', 'pause', 1)")
    connection.execute("DELETE FROM workflow_wishes WHERE id = 2")
    connection.close()
    newer = open_to_write(private / "tideate.db")
    newer.execute("INSERT INTO workflow_wishes (execution_id, wish, text, at) VALUES ('a', 'say', 'hi', 2)")
    newer.close()
    found = query(private, "SELECT id, wish, text FROM workflow_wishes ORDER BY id")
    assert found == [(1, "pause", ""), (3, "say", "hi")]


def earlier(path: Path, *names: str) -> Path:
    """Make a database as projects had them, with these names."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE store_names (name)")
        connection.executemany("INSERT INTO store_names VALUES (?)", [(name,) for name in names])
    return path


def test_an_earlier_database_is_a_persons_own_where_their_state_knows_a_name_of_it(tmp_path: Path) -> None:
    stores = tmp_path / "stores"
    stores.mkdir()
    (stores / ("a" * 32)).touch()
    assert is_own_database(earlier(tmp_path / "own.db", "b" * 32, "a" * 32), stores)
    assert not is_own_database(earlier(tmp_path / "other.db", "b" * 32), stores)
    assert not is_own_database(earlier(tmp_path / "forged.db", f"../stores/{'a' * 32}"), stores)
    garbage = tmp_path / "garbage.db"
    garbage.write_bytes(b"no database at all" * 500)
    assert not is_own_database(garbage, stores)


def test_a_migration_that_does_not_fit_on_the_disk_leaves_the_database_as_it_was(private: Path) -> None:
    connect_with_only(private, 13).close()
    before = query(private, "SELECT version FROM schema_version ORDER BY version")
    with closing(sqlite3.connect(private / FILE, isolation_level=None)) as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(sqlite3.OperationalError, match="full"):
            migrate(private / FILE, connection)
        assert not connection.in_transaction
    assert query(private, "SELECT version FROM schema_version ORDER BY version") == before
    assert query(private, "PRAGMA integrity_check") == [("ok",)]
    Store.open(private).close()
    assert query(private, "SELECT version FROM schema_version ORDER BY version") == versions()
