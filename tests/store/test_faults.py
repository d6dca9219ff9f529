"""Processes that die, hang, take runs from each other; disks that fill up; clocks that jump."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.store.conftest import line
from tests.store.making import DAY, new_run, outcome, query, until
from tideate_core.errors import RunIsOwned, RunLost, RunNotActive, StoreError
from tideate_core.store import Store, held, leases
from tideate_core.store.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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


async def test_a_dead_processs_run_is_taken_over_at_once(private: Path, child: Child) -> None:
    process = child("chain", RUN)
    line(process)
    store = Store.open(private)
    with pytest.raises(RunIsOwned, match=f"process {process.pid} on {socket.gethostname()}"):
        await store.adopt(RUN)
    process.kill()
    process.wait()
    log = await store.adopt(RUN)
    (cursor,) = query(private, "SELECT max(ordinal) FROM workflow_steps")[0]
    row = await log.finished(outcome("next"))
    assert row is not None
    assert row.cursor == cursor + 1
    store.close()


async def test_a_silent_processs_run_is_taken_over_and_it_stops_when_it_wakes(
    private: Path, child: Child
) -> None:
    process = child("hold", RUN)
    assert line(process) == "begun"
    process.send_signal(signal.SIGSTOP)
    store = Store.open(private)
    async with asyncio.timeout(10):
        while True:
            try:
                log = await store.adopt(RUN, takeover_after=0.2)
                break
            except RunIsOwned:
                await asyncio.sleep(0.01)  # until it was silent long enough
    process.send_signal(signal.SIGCONT)
    assert await asyncio.to_thread(line, process) == "RunLost"
    await log.finished(outcome("mine"))
    assert query(private, "SELECT step_id FROM workflow_steps") == [("mine",)]
    store.close()


async def test_a_living_process_shows_that_it_lives(private: Path, child: Child) -> None:
    process = child("hold", RUN)
    assert line(process) == "begun"
    (first,) = query(private, "SELECT heartbeat_at FROM workflow_leases")[0]
    await until(lambda: query(private, "SELECT heartbeat_at FROM workflow_leases") != [(first,)])
    assert query(private, "SELECT heartbeat_at FROM workflow_leases")[0][0] - first < 4000


async def test_another_process_is_asked_and_hears(private: Path, child: Child, store: Store) -> None:
    process = child("hold", RUN)
    assert line(process) == "begun"
    for wish in ("pause", "resume", "cancel"):
        await store.wish(RUN, wish)
        assert await asyncio.wait_for(asyncio.to_thread(line, process), 5) == wish
    process.kill()
    process.wait()
    with pytest.raises(RunNotActive):
        await store.wish(RUN, "cancel")


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
    assert await asyncio.to_thread(process.wait, 20) == 0
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
        await log.finished(outcome("a", "x" * 20_000))
    (private / "objects").unlink()
    with pytest.raises(StoreError, match="cannot be used: Not a directory"):
        await log.release()
    log = await store.adopt(RUN)
    await log.finished(outcome("a", "x" * 20_000))
    assert query(private, "SELECT ordinal FROM workflow_steps") == [(1,)]


async def test_a_clock_that_jumps_back_costs_no_living_process_its_run(
    open_store: Callable[[], Store], private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = open_store(), open_store()
    log = await first.begin(new_run(RUN))
    await log.finished(outcome("a"))
    an_hour_ago = leases.now_ms() - 3_600_000
    for module in ("leases", "writer"):
        monkeypatch.setattr(f"tideate_core.store.{module}.now_ms", lambda: an_hour_ago)
    with pytest.raises(RunIsOwned):
        await second.adopt(RUN)
    await log.finished(outcome("b"))
    assert query(private, "SELECT max(ordinal) FROM workflow_steps") == [(2,)]


async def test_a_run_that_was_taken_is_lost_with_its_next_commit(
    open_store: Callable[[], Store], private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Watch, "look", lambda self: None)  # it was not seen before the commit
    first, second = open_store(), open_store()
    log = await first.begin(new_run(RUN))
    lost = asyncio.Event()
    log.on_lost = lost.set
    taken = await second.adopt(RUN, takeover_after=-1)
    log.event("E", DAY, {})
    with pytest.raises(RunLost, match="taken over"):
        await log.finished(outcome("a"))
    async with asyncio.timeout(5):
        await lost.wait()
    log.event("E", DAY, {})  # has no effect any more, and harms nobody
    await taken.flush()
    assert query(private, "SELECT count(*) FROM workflow_events") == [(0,)]
    assert query(private, "SELECT count(*) FROM workflow_steps") == [(0,)]


async def test_a_run_that_was_taken_stops_before_it_writes_anything(open_store: Callable[[], Store]) -> None:
    first, second = open_store(), open_store()
    log = await first.begin(new_run(RUN))
    await second.adopt(RUN, takeover_after=-1)
    lost = asyncio.Event()
    log.on_lost = lost.set
    async with asyncio.timeout(5):
        await lost.wait()
    with pytest.raises(RunLost, match="taken over"):
        await log.flush()


async def test_a_run_in_a_deleted_database_is_told_and_the_store_says_so(store: Store, private: Path) -> None:
    log, idle = await store.begin(new_run()), await store.begin(new_run())
    lost = [asyncio.Event(), asyncio.Event()]
    log.on_lost, idle.on_lost = lost[0].set, lost[1].set
    assert not store.is_gone
    shutil.rmtree(private)
    with pytest.raises(StoreError, match="was deleted or replaced"):
        await log.finished(outcome("a"))
    async with asyncio.timeout(5):
        await asyncio.gather(*(event.wait() for event in lost))
    assert store.is_gone
    with pytest.raises(StoreError, match="was deleted or replaced"):
        await store.begin(new_run())
    with pytest.raises(sqlite3.OperationalError):  # nor did it come back
        query(private, "SELECT 1")


async def test_a_run_that_does_nothing_hears_that_its_database_was_replaced(
    store: Store, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held, "HEARTBEAT", 0.05)
    log = await store.begin(new_run())
    lost = asyncio.Event()
    log.on_lost = lost.set
    shutil.move(private, private.with_name("moved"))
    Store.open(private).close()
    async with asyncio.timeout(5):
        await lost.wait()
    assert "replaced" in str(log.failure)
    assert query(private, "SELECT count(*) FROM workflow_executions") == [(0,)]


@pytest.mark.parametrize(
    ("pid", "started", "host", "age", "alive"),
    [
        ("mine", "mine", "mine", 0, True),
        ("mine", "mine", "mine", 9_000, True),
        ("mine", "mine", "mine", 11_000, False),
        ("mine", "mine", "mine", -3_600_000, True),
        ("mine", "another", "mine", 0, False),
        ("gone", "mine", "mine", 0, False),
        ("gone", "mine", "other", 0, True),
        ("gone", "mine", "other", 11_000, False),
        ("gone", "mine", "other", -3_600_000, False),
    ],
)
def test_who_lives(pid: str, started: str, host: str, age: int, alive: bool) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    me = leases.this_process()
    assert (
        leases.is_alive(
            me.pid if pid == "mine" else gone.pid,
            me.host if host == "mine" else "elsewhere",
            me.process_started if started == "mine" else "boot:1",
            DAY - age,
            takeover_after=10,
            now=DAY,
        )
        is alive
    )


def test_a_process_that_ended_and_was_not_asked_for_is_dead(child: Child) -> None:
    process = child("open")
    assert line(process) == "opened"
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert leases.process_started(process.pid) is None
