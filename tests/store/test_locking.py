from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.store.making import DAY, new_run, outcome, until
from tideate_core.store import writer
from tideate_core.store.database import FILE
from tideate_core.store.locking import begin, wait_briefly

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.store import Store


def locked(private: Path) -> sqlite3.Connection:
    other = sqlite3.connect(private / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    return other


def test_while_the_lock_is_waited_for_something_else_is_done(store: Store, private: Path) -> None:
    calls: list[int] = []

    def free_it() -> None:
        calls.append(1)
        if len(calls) == 3:
            other.execute("ROLLBACK")

    with (
        closing(sqlite3.connect(private / FILE, isolation_level=None)) as mine,
        closing(locked(private)) as other,
    ):
        wait_briefly(mine)
        begin(mine, 10, free_it)
        assert (mine.in_transaction, len(calls)) == (True, 3)


def test_one_that_stays_locked_is_told(store: Store, private: Path) -> None:
    with closing(sqlite3.connect(private / FILE, isolation_level=None)) as mine, closing(locked(private)):
        wait_briefly(mine)
        calls: list[int] = []
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            begin(mine, 0.12, lambda: calls.append(1))
        assert calls


@pytest.mark.slow
async def test_a_wish_is_heard_while_another_process_keeps_the_database_locked(
    store: Store, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LOCKED", 60)
    log, heard = await store.begin(new_run()), asyncio.Event()
    log.on_wish = lambda wish: heard.set() if wish == "cancel" else None
    with closing(locked(private)) as other:
        log.event("E", DAY, {})
        ended = asyncio.ensure_future(log.finished(outcome("a")))
        await until(lambda: store.is_stuck)
        other.execute(
            "INSERT INTO workflow_wishes (execution_id, wish, at) VALUES (?, 'cancel', 0)", (log.run_id,)
        )
        other.execute("COMMIT")
        other.execute("BEGIN IMMEDIATE")
        await asyncio.wait_for(heard.wait(), 10)
        other.execute("ROLLBACK")
        await ended
    assert not store.is_stuck


@pytest.mark.slow
async def test_a_run_that_was_taken_meanwhile_is_given_up_once_the_lock_is_there(
    store: Store, private: Path
) -> None:
    log, lost = await store.begin(new_run()), asyncio.Event()
    log.on_lost = lost.set
    with closing(locked(private)) as other:
        other.execute("UPDATE workflow_leases SET owner = 'another'")
        log.event("E", DAY, {})
        await until(lambda: store.is_stuck)
        other.execute("COMMIT")
        await asyncio.wait_for(lost.wait(), 10)
