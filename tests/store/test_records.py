"""States of runs, and runs that can be resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.store.making import ending, new_run
from tideate_core.store import resumable_runs, state_of

if TYPE_CHECKING:
    from tideate_core.store import Store


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
async def test_a_run_that_ended_stands_where_it_ended(store: Store, status: Any) -> None:
    log = await store.begin(new_run())
    await log.ended(ending(status))
    reader = store.reader()
    assert state_of(reader.run(log.run_id)) == status
    assert resumable_runs(reader) == []


@pytest.mark.parametrize(
    ("status", "had", "left"), [("executing_steps", "running", "interrupted"), ("paused", "paused", "paused")]
)
async def test_a_run_that_did_not_end_stands_by_who_has_it(
    store: Store, status: Any, had: str, left: str
) -> None:
    log = await store.begin(new_run())
    log.status(status, "a")
    await log.flush()
    reader = store.reader()
    assert (state_of(reader.run(log.run_id)), resumable_runs(reader)) == (had, [])
    await log.release()
    assert state_of(reader.run(log.run_id)) == left
    assert [run.id for run in resumable_runs(reader)] == [log.run_id]
