from __future__ import annotations

import asyncio
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from tests.store.making import DAY, ending, new_run, outcome, query, start, until
from tideate_core.errors import StoreError
from tideate_core.store import Store, writer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tideate_core.store.delivery import Delivery
    from tideate_core.store.group_commit import GroupCommit

pytestmark = pytest.mark.concurrency


def failures(store: Store, count: int) -> asyncio.Event:
    """Set once so many commits failed."""
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


def commits(store: Store) -> list[str]:
    """Every COMMIT from here on."""
    seen: list[str] = []
    connection = store._writer._connection
    connection.set_trace_callback(lambda text: seen.append(text) if text == "COMMIT" else None)
    return seen


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
