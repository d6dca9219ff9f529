"""Opening and closing of stores."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.store.making import DAY, new_run
from tideate_core.errors import (
    RunIsOwned,
    RunNotFound,
    StoreError,
)
from tideate_core.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.concurrency


async def test_closing_gives_runs_up(open_store: Callable[[], Store]) -> None:
    first = open_store()
    run = new_run()
    log = await first.begin(run)
    log.event("E", DAY, {})
    first.close()
    with pytest.raises(StoreError, match="closed"):
        await log.flush()
    adopted = await open_store().adopt(run.id)
    assert adopted.event("E", DAY, {}) == 2  # the one that was buffered was written


async def test_a_begin_that_nobody_waits_for_any_more_keeps_no_run(store: Store) -> None:
    run = new_run()
    task = asyncio.create_task(store.begin(run))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(60):
        while True:
            try:
                await store.adopt(run.id)
                return
            except (RunIsOwned, RunNotFound):
                await asyncio.sleep(0)


def test_one_that_never_had_a_run_is_closed_without_a_lock(private: Path) -> None:
    store, statements = Store.open(private), list[str]()
    store._writer._connection.set_trace_callback(statements.append)
    store.close()
    assert statements == []
