"""Rows written by a run's log."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.store.making import ending, new_run, outcome, query, start
from tideate_core.store import Store, Tokens

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.concurrency


@pytest.mark.parametrize("status", ["failed", "skipped"])
async def test_only_a_completed_step_makes_a_checkpoint(store: Store, private: Path, status: str) -> None:
    log = await store.begin(new_run())
    assert await log.finish(outcome("a", status=status, error="no")).future is None
    assert query(private, "SELECT step_id, status, error FROM workflow_steps") == [("a", status, "no")]
    assert query(private, "SELECT failed_steps FROM workflow_executions") == [(int(status == "failed"),)]


async def test_steps_that_end_at_once_get_places_without_gaps(store: Store, private: Path) -> None:
    log = await store.begin(new_run())
    rows = await asyncio.gather(*(log.finish(outcome(f"s{number}")).future for number in range(20)))
    assert [row.cursor for row in rows if row is not None] == list(range(1, 21))
    assert query(private, "SELECT max(ordinal), count(DISTINCT ordinal) FROM workflow_steps") == [(20, 20)]


async def test_counts_beyond_what_a_column_holds_are_the_most_it_does(store: Store, private: Path) -> None:
    log = await store.begin(new_run())
    for name in "ab":
        await log.finish(outcome(name, tokens=Tokens(10**20, -1, cached=10**20))).future
    total = "SELECT input_tokens, output_tokens, typeof(input_tokens) FROM workflow_executions"
    assert query(private, total) == [(2 * (2**53 - 1), 0, "integer")]
    await log.ended(ending(tokens=Tokens(10**20, 1)))
    assert query(private, total) == [(2**53 - 1, 1, "integer")]


async def test_a_step_that_starts_and_ends_in_one_commit_has_all_of_both(store: Store, private: Path) -> None:
    run = new_run()
    log = await store.begin(run)
    log.started(start("a", attempt=1))
    log.started(start("a", attempt=2))
    log.started(start("b"))
    await asyncio.gather(
        log.finish(outcome("a", 1)).future, log.finish(outcome("c", status="skipped")).future
    )
    columns = "step_id, status, attempts, started_at IS NULL, ordinal"
    assert query(private, f"SELECT {columns} FROM workflow_steps ORDER BY step_id") == [
        ("a", "completed", 2, 0, 1),
        ("b", "running", 1, 0, None),
        ("c", "skipped", 0, 1, 2),
    ]
