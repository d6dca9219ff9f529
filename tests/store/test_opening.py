"""A database that is opened while others have it, or where it cannot be used safely."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.errors import StoreError
from tideate_core.store import Store, database
from tideate_core.store.database import FILE, migrate

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.concurrency
def test_a_new_database_that_somebody_writes_to_is_waited_for(
    private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private.mkdir()
    waited: list[float] = []
    with closing(sqlite3.connect(private / FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        def ends(seconds: float) -> None:
            waited.append(seconds)
            if other.in_transaction:
                other.execute("ROLLBACK")

        monkeypatch.setattr(time, "sleep", ends)
        Store.open(private).close()
    assert len(waited) == 1


@pytest.mark.concurrency
def test_a_new_database_that_somebody_keeps_is_given_up(
    private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private.mkdir()
    monkeypatch.setattr(database, "BUSY", 0.01)
    with closing(sqlite3.connect(private / FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="is kept locked by another process"):
            Store.open(private)
    Store.open(private).close()


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


def test_where_a_write_ahead_log_cannot_be_is_told(private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect

    def in_memory(_path: Path, **how: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(":memory:", **how)  # has no write-ahead log either
        return connection

    monkeypatch.setattr(sqlite3, "connect", in_memory)
    with pytest.raises(StoreError, match=r"no shared memory for a write-ahead log .* on a local disk"):
        Store.open(private)
