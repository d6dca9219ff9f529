"""Runs and jobs that are committed together, and one of them that cannot be written."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.store.making import new_run, outcome, query
from tideate_core.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.store import Store
    from tideate_core.store.transaction import Transaction

pytestmark = pytest.mark.concurrency


def commits(store: Store) -> list[str]:
    """Every COMMIT from here on."""
    seen: list[str] = []
    connection = store._writer._connection
    connection.set_trace_callback(lambda text: seen.append(text) if text == "COMMIT" else None)
    return seen


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
