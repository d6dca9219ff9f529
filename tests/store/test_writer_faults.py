"""Processes that die, hang, take runs from each other; disks that fill up; clocks that jump."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sqlite3
import threading
from typing import TYPE_CHECKING

import pytest

from tests.store.conftest import line
from tests.store.making import DAY, new_run, outcome, query
from tideate_core.errors import StoreError

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from tideate_core.store import Store
    from tideate_core.store.transaction import Transaction

    Child = Callable[..., subprocess.Popen[str]]

pytestmark = pytest.mark.concurrency

RUN = "a" * 32


@pytest.mark.parametrize("steps", [1, 7, 23])
async def test_nothing_that_was_durable_is_lost_by_a_kill(private: Path, child: Child, steps: int) -> None:
    process = child("chain", RUN)
    while int(line(process)) < steps:
        pass
    process.send_signal(signal.SIGKILL)
    assert process.stdout is not None
    rest = process.stdout.read()  # not `communicate`, which misses what `readline` has read ahead
    told = max([steps, *(int(number) for number in rest.split())])
    assert query(private, "PRAGMA integrity_check") == [("ok",)]
    (done,) = query(private, "SELECT count(*), max(ordinal) FROM workflow_steps WHERE status = 'completed'")
    assert done in ((told, told), (told + 1, told + 1))  # the last may have been durable and not been told
    assert query(private, "SELECT count(*), max(cursor) FROM all_checkpoints") == [done]
    assert query(private, "SELECT completed_steps FROM workflow_executions") == [(done[0],)]
    memos = query(private, "SELECT count(*) FROM workflow_memos")[0][0]
    assert memos >= done[0]
    events = query(private, "SELECT count(*), max(sequence) FROM workflow_events")[0]
    assert events[0] == events[1] >= done[0]


@pytest.mark.slow
async def test_two_processes_write_at_once_and_lose_nothing(private: Path, child: Child) -> None:
    children = [child("steps", letter * 32, "40") for letter in "ab"]
    for process in children:
        assert await asyncio.to_thread(process.wait, 60) == 0
    assert (
        query(private, "SELECT status, completed_steps FROM workflow_executions") == [("completed", 40)] * 2
    )
    assert query(private, "SELECT total_executions, checkpoints_created FROM workflow_metrics") == [(2, 80)]
    assert query(private, "PRAGMA integrity_check") == [("ok",)]


async def test_a_disk_that_fails_is_told_nothing_is_lost_and_the_run_goes_on_with_room(
    private: Path, child: Child
) -> None:
    process = child("full", RUN)
    said = [await asyncio.to_thread(line, process) for _ in range(3)]
    written = int(said[0])
    assert written > 0
    assert "tideate.db" in said[1]
    assert "check the disk" in said[1] or "the disk is full" in said[1]
    assert said[2] == "ended"
    assert await asyncio.to_thread(process.wait, 60) == 0
    # the one that failed was told and is not there, nor is its event; `again` is; events have no gap
    assert query(private, "SELECT count(*), max(ordinal) FROM workflow_steps") == [(written + 1, written + 1)]
    assert query(private, "SELECT count(*), max(sequence) FROM workflow_events") == [
        (written + 1, written + 1)
    ]
    assert query(private, "SELECT status FROM workflow_executions") == [("completed",)]
    assert query(private, "PRAGMA integrity_check") == [("ok",)]


async def test_a_file_that_cannot_be_written_fails_its_step_and_not_the_store(
    store: Store, private: Path
) -> None:
    log = await store.begin(new_run(RUN))
    (private / "objects").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be used: Not a directory"):
        await log.finish(outcome("a", "x" * 20_000)).future
    (private / "objects").unlink()
    with pytest.raises(StoreError, match="cannot be used: Not a directory"):
        await log.release()
    log = await store.adopt(RUN)
    await log.finish(outcome("a", "x" * 20_000)).future
    assert query(private, "SELECT ordinal FROM workflow_steps") == [(1,)]


async def test_a_run_in_a_deleted_database_is_told_and_the_store_says_so(store: Store, private: Path) -> None:
    log, idle = await store.begin(new_run()), await store.begin(new_run())
    lost = [asyncio.Event(), asyncio.Event()]
    log.on_lost, idle.on_lost = lost[0].set, lost[1].set
    assert not store.is_gone
    shutil.rmtree(private)
    with pytest.raises(StoreError, match="was deleted or replaced"):
        await log.finish(outcome("a")).future
    async with asyncio.timeout(60):
        await asyncio.gather(*(event.wait() for event in lost))
    assert store.is_gone
    with pytest.raises(StoreError, match="was deleted or replaced"):
        await store.begin(new_run())
    with pytest.raises(sqlite3.OperationalError):  # nor did it come back
        query(private, "SELECT 1")


async def test_who_listens_only_later_is_told_of_a_lost_run_at_once(store: Store, private: Path) -> None:
    log = await store.begin(new_run())
    shutil.rmtree(private)
    with pytest.raises(StoreError, match="was deleted or replaced"):
        await log.finish(outcome("a")).future
    told: list[StoreError | None] = []
    log.on_lost = lambda: told.append(log.failure)
    assert [str(error).partition(" ")[0] for error in told] == [str(private / "tideate.db")]


async def test_what_cannot_be_written_at_the_end_is_said_by_the_close(store: Store, private: Path) -> None:
    log = await store.begin(new_run(RUN))
    (pages,) = query(private, "PRAGMA page_count")[0]

    def fill(transaction: Transaction) -> None:  # in the writer's thread, which so finds all of them or none
        transaction.execute(f"PRAGMA max_page_count = {pages}")
        for number in range(100):
            log.event("E", DAY, {"words": f"{number} " * 200})

    await store.write(fill)
    with pytest.raises(StoreError, match="the disk is full"):
        store.close()
    assert query(private, "SELECT count(*) FROM workflow_events") == [(0,)]
    store.close()  # it is closed: there is nothing more to say


async def test_a_run_that_could_not_begin_is_not_taken_from_who_has_it(store: Store, private: Path) -> None:
    log = await store.begin(new_run(RUN))
    again = asyncio.create_task(store.begin(new_run(RUN)))
    await asyncio.sleep(0)  # it is on its way
    again.cancel()
    with pytest.raises(asyncio.CancelledError):
        await again
    await store.begin(new_run())  # that one has come to its end before
    await log.finish(outcome("a")).future
    assert query(private, f"SELECT step_id FROM workflow_steps WHERE execution_id = '{RUN}'") == [("a",)]


async def test_nobody_waits_for_ever_where_the_writer_ends_by_a_fault(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    received, waiting = threading.Event(), threading.Event()

    def fault() -> None:
        received.set()
        assert waiting.wait(60)
        raise ZeroDivisionError

    log = await store.begin(new_run(RUN))
    monkeypatch.setattr(threading, "excepthook", lambda _fault: None)  # it is wanted
    monkeypatch.setattr(store._writer, "_commit_if_due", fault)
    first = asyncio.ensure_future(store.write(lambda _transaction: None))
    assert await asyncio.to_thread(received.wait, 60)
    second = asyncio.ensure_future(store.write(lambda _transaction: None))
    await asyncio.sleep(0)  # it is in the queue
    step = log.finish(outcome("a"))
    waiting.set()
    ended = await asyncio.wait_for(asyncio.gather(first, second, step.future, return_exceptions=True), 60)
    assert [type(error) for error in ended] == [StoreError] * 3
    assert {"closed before this was written" in str(error) for error in ended} == {True}
    with pytest.raises(StoreError, match="was closed; open the store again"):
        await store.begin(new_run())
