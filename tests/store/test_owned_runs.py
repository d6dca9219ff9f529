"""Heartbeats, control requests and takeovers of owned runs."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.store.conftest import line
from tests.store.making import DAY, ending, locked, new_run, outcome, query, until
from tideate_core.errors import (
    RunLost,
    RunNotActive,
    StoreError,
)
from tideate_core.store import Store, owned_runs, writer
from tideate_core.store.owned_runs import OwnedRuns
from tideate_core.store.records import ControlRequest, Message

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Child = Callable[..., subprocess.Popen[str]]

pytestmark = pytest.mark.concurrency

RUN = "a" * 32


@pytest.mark.slow
async def test_a_living_process_shows_that_it_lives(private: Path, child: Child) -> None:
    process = child("hold", RUN)
    assert line(process) == "begun"
    (first,) = query(private, "SELECT heartbeat_at FROM workflow_leases")[0]
    await until(lambda: query(private, "SELECT heartbeat_at FROM workflow_leases") != [(first,)])
    assert query(private, "SELECT heartbeat_at FROM workflow_leases")[0][0] - first < 4000


@pytest.mark.slow
async def test_another_process_is_asked_and_hears(private: Path, child: Child, store: Store) -> None:
    process = child("hold", RUN)
    assert line(process) == "begun"
    for wish in ("pause", "resume", "cancel"):
        await store.send_control_request(RUN, wish)
        assert await asyncio.wait_for(asyncio.to_thread(line, process), 60) == wish
    await store.send_control_request(RUN, Message("keep the name"))
    assert await asyncio.wait_for(asyncio.to_thread(line, process), 60) == "say keep the name"
    process.kill()
    process.wait()
    with pytest.raises(RunNotActive):
        await store.send_control_request(RUN, "cancel")
    with pytest.raises(RunNotActive, match="so none can pass this on; `tideate resume"):
        await store.send_control_request(RUN, Message("too late"))


async def test_a_message_outlives_its_reader_until_a_model_reads_it(
    private: Path, child: Child, open_store: Callable[[], Store]
) -> None:
    process = child("hold", RUN)
    assert line(process) == "begun"
    sender = open_store()
    await sender.send_control_request(RUN, Message("keep the name"))
    await sender.send_control_request(RUN, "pause")
    assert await asyncio.wait_for(asyncio.to_thread(line, process), 60) == "say keep the name"
    process.kill()
    process.wait()
    log = await sender.adopt(RUN)
    assert [message.text for message in log.unread] == ["keep the name"]
    await log.release()  # left to another one, unread
    log = await open_store().adopt(RUN)
    assert [message.text for message in log.unread] == ["keep the name"]
    await log.read("a", "said", log.unread)
    assert query(private, "SELECT value FROM workflow_memos") == [('["keep the name"]',)]
    assert query(private, "SELECT count(*) FROM workflow_wishes") == [(0,)]


async def test_an_end_leaves_no_message(private: Path, store: Store) -> None:
    log = await store.begin(new_run(RUN))
    heard: list[object] = []
    log.on_control_request = heard.append
    await store.send_control_request(RUN, Message("to itself"))
    assert [str(request) for request in heard] == ["say"], "it hears of it before the sender goes on"
    assert query(private, "SELECT text FROM workflow_wishes") == [("to itself",)]
    await log.ended(ending(steps=0))
    assert query(private, "SELECT count(*) FROM workflow_wishes") == [(0,)]


async def test_a_run_that_was_taken_is_lost_with_its_next_commit(
    open_store: Callable[[], Store], private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = open_store(), open_store()
    log = await first.begin(new_run(RUN))
    monkeypatch.setattr(OwnedRuns, "look_is_due", lambda self: False)  # it is not seen before the commit
    lost = asyncio.Event()
    log.on_lost = lost.set
    taken = await second.adopt(RUN, takeover_after=-1)
    log.event("E", DAY, {})
    with pytest.raises(RunLost, match="taken over"):
        await log.finish(outcome("a")).future
    async with asyncio.timeout(60):
        await lost.wait()
    log.event("E", DAY, {})  # has no effect any more, and harms nobody
    await taken.flush()
    assert query(private, "SELECT count(*) FROM workflow_events") == [(0,)]
    assert query(private, "SELECT count(*) FROM workflow_steps") == [(0,)]


async def test_a_run_that_does_nothing_hears_that_its_database_was_replaced(
    store: Store, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owned_runs, "HEARTBEAT", 0.05)
    log = await store.begin(new_run())
    lost = asyncio.Event()
    log.on_lost = lost.set
    shutil.move(private, private.with_name("moved"))
    Store.open(private).close()
    async with asyncio.timeout(60):
        await lost.wait()
    assert "replaced" in str(log.failure)
    assert query(private, "SELECT count(*) FROM workflow_executions") == [(0,)]


async def test_what_is_asked_within_the_process_is_heard(store: Store) -> None:
    run = new_run()
    log = await store.begin(run)
    await store.send_control_request(run.id, "pause")
    await log.flush()  # by now it was told
    heard: asyncio.Queue[ControlRequest] = asyncio.Queue()
    log.on_control_request = heard.put_nowait  # set late: it was not lost
    await store.send_control_request(run.id, "cancel")
    async with asyncio.timeout(60):
        assert [await heard.get(), await heard.get()] == ["pause", "cancel"]


async def test_what_another_process_asks_for_is_heard_before_a_step_is_told_to_have_ended(
    store: Store, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await store.begin(new_run())
    await asyncio.sleep(2 * owned_runs.TICK)  # it looked, and does not again by itself
    monkeypatch.setattr(owned_runs, "TICK", 3600)
    await log.flush()
    await asyncio.sleep(0.1)
    heard: list[ControlRequest] = []
    log.on_control_request = heard.append
    another = Store.open(private)
    await another.send_control_request(log.run_id, "pause")
    assert heard == []
    await log.finish(outcome("a")).future
    assert heard == ["pause"]
    another.close()


async def test_only_runs_that_are_held_show_that_they_live(
    store: Store, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = await store.begin(new_run()), await store.begin(new_run())
    await store._writer.do(lambda transaction: store._writer._give_up(bad, StoreError("no more")))
    monkeypatch.setattr(owned_runs, "HEARTBEAT", 0.02)
    store._writer.owned_runs.beat_later(0)
    beats = "SELECT heartbeat_at FROM workflow_leases WHERE execution_id = ?"
    first = [query(private, beats, (log.run_id,)) for log in (bad, good)]
    await until(lambda: query(private, beats, (good.run_id,)) != first[1])
    assert query(private, beats, (bad.run_id,)) == first[0]


@pytest.mark.slow
async def test_a_control_request_is_read_while_another_process_keeps_the_database_locked(
    store: Store, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LOCKED", 60)
    log, heard = await store.begin(new_run()), asyncio.Event()
    log.on_control_request = lambda wish: heard.set() if wish == "cancel" else None
    with closing(locked(private)) as other:
        log.event("E", DAY, {})
        ended = asyncio.ensure_future(log.finish(outcome("a")).future)
        await until(lambda: store.is_stuck)
        other.execute(
            "INSERT INTO workflow_wishes (execution_id, wish, at) VALUES (?, 'cancel', 0)", (log.run_id,)
        )
        other.execute("COMMIT")
        other.execute("BEGIN IMMEDIATE")
        await asyncio.wait_for(heard.wait(), 60)
        other.execute("ROLLBACK")
        await ended
    assert not store.is_stuck
