from __future__ import annotations

import asyncio
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.store.past import NOON, Past, big, run_id
from tideate_core.errors import RunNotFound, StoreError
from tideate_core.store import Store
from tideate_core.store.database import FILE
from tideate_core.store.reader import Reader

if TYPE_CHECKING:
    from pathlib import Path

A = run_id(0xA)


def test_no_database_is_an_empty_history(private: Path) -> None:
    reader = Reader(private)
    assert (reader.runs(), reader.checkpoints(), reader.metrics()) == ([], [], [])
    with pytest.raises(RunNotFound):
        reader.run("a")
    assert not private.exists(), "reading makes nothing"


def test_where_no_directory_can_be_there_were_no_runs(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert Reader(tmp_path / "file").runs() == []


def test_a_place_that_cannot_be_looked_at_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be used: File name too long"):
        Reader(tmp_path / ("x" * 300)).runs()


def test_a_database_that_is_being_made_is_an_empty_history(private: Path) -> None:
    private.mkdir()
    (private / FILE).touch()
    reader = Reader(private)
    assert reader.runs() == []
    Store.open(private).close()
    assert reader.runs() == []
    assert reader.checkpoints() == []


async def test_a_damaged_database_is_refused_and_read_again_once_it_is_whole(
    private: Path, store: Store, reader: Reader
) -> None:
    await Past(store).whole(result="x" * 10_000)
    store.close()
    path = private / FILE
    whole = path.read_bytes()
    damaged = whole[:4096] + b"\xff" * (len(whole) - 4096)
    path.write_bytes(damaged)
    with pytest.raises(StoreError, match="is damaged; move it"):
        reader.runs()
    path.write_bytes(whole)
    assert len(reader.runs()) == 1


def move_away(private: Path) -> None:
    for file in private.glob(f"{FILE}*"):
        file.rename(private / f"away-{file.name}")


async def test_a_database_that_was_replaced_is_read_anew(private: Path, reader: Reader) -> None:
    store = Store.open(private)
    await Past(store, 1).whole()
    store.close()
    assert [row.id for row in reader.runs()] == [run_id(1)]
    move_away(private)
    assert reader.runs() == []
    store = Store.open(private)
    await Past(store, 2).whole()
    assert [row.id for row in reader.runs()] == [run_id(2)]
    store.close()


async def test_a_value_whose_file_is_damaged_is_told_of(private: Path, store: Store, reader: Reader) -> None:
    await Past(store).whole(result=big("x"))
    [file] = (private / "objects").glob("*/*")
    file.write_text("y")
    with pytest.raises(StoreError, match="is damaged: its content is not what was written"):
        reader.steps(run_id(1))
    file.unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        reader.steps(run_id(1))


@pytest.mark.concurrency
async def test_a_run_that_is_forgotten_while_it_is_read_was_never_there(
    private: Path, store: Store, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    await Past(store).whole(result=big("x"))
    [file] = (private / "objects").glob("*/*")
    load = reader._objects.load

    def forgotten_meanwhile(text: str) -> object:
        if file.exists():
            file.unlink()
            with sqlite3.connect(private / FILE) as connection:
                connection.execute("PRAGMA foreign_keys = ON")
                connection.execute("DELETE FROM workflow_executions")
            connection.close()
        return load(text)

    monkeypatch.setattr(reader._objects, "load", forgotten_meanwhile)
    with pytest.raises(RunNotFound):
        reader.steps(run_id(1))


@pytest.mark.concurrency
async def test_a_writer_in_a_transaction_blocks_no_reader(
    private: Path, store: Store, reader: Reader
) -> None:
    await Past(store).whole()
    store.close()
    writer = sqlite3.connect(private / FILE, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE workflow_executions SET prompt = 'changed'")
    assert [row.prompt for row in reader.runs()] == ["do it"]
    assert len(reader.steps(run_id(1))) == 3
    assert writer.in_transaction  # the answers came before its end, which nobody can have waited for
    writer.execute("COMMIT")
    assert [row.prompt for row in reader.runs()] == ["changed"]
    writer.close()


@pytest.mark.concurrency
async def test_no_reader_blocks_the_writer(store: Store, reader: Reader) -> None:
    log = await Past(store).begin()
    reader.runs()  # its connection stays open
    log.event("E", NOON, {})
    await asyncio.wait_for(log.flush(), 60)
    assert len(reader.events(run_id(1))) == 1


@pytest.mark.concurrency
async def test_every_thread_reads_over_a_connection_of_its_own(store: Store, reader: Reader) -> None:
    await Past(store).whole()
    gate = threading.Barrier(8, timeout=60)

    def read(_: int) -> set[str]:
        gate.wait()
        statuses = {reader.run(run_id(1)).status for _ in range(20)}
        reader.close()
        return set(statuses)

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(read, range(8))) == [{"completed"}] * 8


def test_a_reader_cannot_write(private: Path, store: Store, reader: Reader) -> None:
    with pytest.raises(StoreError, match="is read-only"):
        reader._fetch("DELETE FROM workflow_executions", ())
