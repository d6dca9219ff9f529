from __future__ import annotations

import asyncio
import shutil
import signal
import sqlite3
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.store.conftest import line
from tests.store.making import DAY, commits, ending, new_run, outcome, query, start, until
from tideate_core.errors import StoreError
from tideate_core.store import Store, writer

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tideate_core.store import Store
    from tideate_core.store.delivery import Delivery
    from tideate_core.store.group_commit import GroupCommit
    from tideate_core.store.transaction import Transaction

    Child = Callable[..., subprocess.Popen[str]]


pytestmark = pytest.mark.concurrency


def failures(store: Store, count: int) -> asyncio.Event:
    """Return an event that is set after this many failed commits."""
    loop, reached, seen = asyncio.get_running_loop(), asyncio.Event(), []
    real = store._writer._settle

    def settle(group: GroupCommit, failure: StoreError | None, *, passes: bool) -> list[Delivery]:
        if failure is not None:
            seen.append(failure)
        if failure is not None and len(seen) == count:
            loop.call_soon_threadsafe(reached.set)
        return real(group, failure, passes=passes)

    store._writer._settle = settle  # type: ignore[method-assign]
    return reached


async def test_a_chained_step_is_one_commit(store: Store) -> None:
    log = await store.begin(new_run())
    seen = commits(store)
    for number in range(50):
        log.event("E", DAY, {"step": number})
        log.started(start(f"s{number}"))
        log.status("executing_steps", f"s{number}")
        log.note(f"s{number}", "k", number)
        await log.finish(outcome(f"s{number}", number)).future
    assert len(seen) == 50


def test_every_commit_is_synced(store: Store) -> None:
    connection = store._writer._connection
    full = 2  # in the log, SQLite syncs once a commit then; the benchmark counts the system calls
    assert connection.execute("PRAGMA synchronous").fetchone() == (full,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_a_database_locked_for_long_is_told_and_the_run_can_be_taken_up_in_this_process(
    open_store: Callable[[], Store], private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LOCKED", 0.05)
    monkeypatch.setattr(writer, "PATIENCE", 0)
    monkeypatch.setattr(writer, "RETRY_AFTER", 0.05)
    store = open_store()
    log, idle = await store.begin(new_run()), await store.begin(new_run())
    other = sqlite3.connect(private / "tideate.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    log.event("E", DAY, {})
    idle.event("E", DAY, {})
    with pytest.raises(StoreError, match=r"tideate\.db is kept locked by another process"):
        await log.finish(outcome("a")).future
    with pytest.raises(StoreError, match="is kept locked"):
        await log.release()
    other.execute("ROLLBACK")
    other.close()
    again = await store.adopt(log.run_id)
    row = await again.finish(outcome("b")).future
    assert row is not None
    assert row.cursor == 1
    await idle.flush()
    # of what was given up nothing is there, not even what told of it
    assert query(private, "SELECT execution_id, sequence FROM workflow_events") == [(idle.run_id, 1)]
    assert query(private, "SELECT step_id FROM workflow_steps") == [("b",)]


@pytest.mark.parametrize("trouble", ["locked", "full"])
@pytest.mark.parametrize("last", ["finished", "ended", "released"])
async def test_what_is_waited_for_is_written_when_the_trouble_passes(
    store: Store, private: Path, monkeypatch: pytest.MonkeyPatch, trouble: str, last: str
) -> None:
    monkeypatch.setattr(writer, "RETRY_AFTER", 0.02)
    connection = store._writer._connection
    monkeypatch.setattr(writer, "LOCKED", 0)
    log = await store.begin(new_run())
    failed = failures(store, 2)
    other = sqlite3.connect(private / "tideate.db", isolation_level=None)
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    if trouble == "locked":
        other.execute("BEGIN IMMEDIATE")
    else:
        connection.execute(f"PRAGMA max_page_count = {pages}")
    log.event("E", DAY, {"text": "x" * 15_000})
    waits: dict[str, Callable[[], Awaitable[Any]]] = {
        "finished": lambda: log.finish(outcome("a", "y" * 15_000)).future,
        "ended": lambda: log.ended(ending()),
        "released": log.release,
    }
    task = asyncio.ensure_future(waits[last]())
    async with asyncio.timeout(60):
        await failed.wait()
    assert not task.done()
    assert query(private, "SELECT count(*) FROM workflow_events") == [(0,)]
    if trouble == "locked":
        other.execute("ROLLBACK")
    else:
        connection.execute("PRAGMA max_page_count = 1000000")
    other.close()
    await asyncio.wait_for(task, 60)
    assert query(private, "SELECT sequence FROM workflow_events") == [(1,)]
    steps = [("a", 1)] if last == "finished" else []
    assert query(private, "SELECT step_id, ordinal FROM workflow_steps") == steps
    assert query(private, "SELECT completed_steps FROM workflow_executions") == [(int(last != "released"),)]


async def test_a_run_whose_release_failed_is_free_as_soon_as_something_can_be_written(
    store: Store, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "PATIENCE", 0)
    monkeypatch.setattr(writer, "RETRY_AFTER", 0.02)
    monkeypatch.setattr(writer, "LOCKED", 0)
    log, other_run = await store.begin(new_run()), await store.begin(new_run())
    other = sqlite3.connect(private / "tideate.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="is kept locked"):
        await log.release()
    other.execute("ROLLBACK")
    other.close()
    held = [(other_run.run_id,)]
    await until(lambda: query(private, "SELECT execution_id FROM workflow_leases") == held)


async def test_a_waiter_that_was_cancelled_harms_nobody(store: Store, private: Path) -> None:
    log = await store.begin(new_run())
    task = asyncio.ensure_future(log.finish(outcome("a")).future)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await log.finish(outcome("b")).future
    assert query(private, "SELECT step_id FROM workflow_steps ORDER BY ordinal") == [("a",), ("b",)]


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


async def test_what_ends_together_is_committed_together(store: Store) -> None:
    log = await store.begin(new_run())
    seen = commits(store)
    await asyncio.gather(*(log.finish(outcome(f"s{number}")).future for number in range(1000)))
    assert len(seen) <= 20


async def test_a_run_that_cannot_be_written_does_not_stop_the_others(store: Store, private: Path) -> None:
    good, bad = await store.begin(new_run()), await store.begin(new_run())
    lost = asyncio.Event()
    bad.on_lost = lost.set

    def forbid(transaction: Transaction) -> None:
        transaction.execute(
            "CREATE TRIGGER forbid BEFORE INSERT ON workflow_steps WHEN NEW.step_id = 'bad'"
            " BEGIN SELECT RAISE(ABORT, 'forbidden'); END"
        )

    await store._writer.do(forbid)
    results = await asyncio.gather(
        good.finish(outcome("a")).future, bad.finish(outcome("bad")).future, return_exceptions=True
    )
    assert isinstance(results[1], StoreError)
    assert query(private, "SELECT step_id FROM workflow_steps") == [("a",)]
    async with asyncio.timeout(60):
        await lost.wait()
    with pytest.raises(StoreError):
        await bad.flush()


async def test_a_job_that_fails_is_undone_and_told(store: Store, private: Path) -> None:
    log = await store.begin(new_run())

    def job(transaction: Transaction) -> None:
        transaction.execute("DELETE FROM workflow_executions")
        raise ValueError("no")

    finished = log.finish(outcome("a")).future
    answers: list[Any] = await asyncio.gather(*(store._writer.do(job), finished), return_exceptions=True)
    assert isinstance(answers[0], ValueError)
    assert not isinstance(answers[1], BaseException)
    assert query(private, "SELECT count(*) FROM workflow_executions") == [(1,)]


async def test_what_sqlite_cannot_bind_is_said_and_frees_the_run(store: Store, private: Path) -> None:
    log = await store.begin(new_run())
    lost = asyncio.Event()
    log.on_lost = lost.set
    with pytest.raises(StoreError, match="OverflowError"):
        await log.finish(outcome("a", duration_ms=10**20)).future
    async with asyncio.timeout(60):
        await lost.wait()
    assert "OverflowError" in str(log.failure)
    with pytest.raises(StoreError, match="OverflowError"):
        await log.release()
    await (await store.adopt(log.run_id)).finish(outcome("a")).future
