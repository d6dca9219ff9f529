"""The store that a runner opens when it first needs it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.harness.front import LIMIT
from tideate_core.engine.runner import LazyStore
from tideate_core.errors import StoreError
from tideate_core.store import Store

if TYPE_CHECKING:
    from pathlib import Path


class Opens:
    """Opens a store, the first time only after so many failures."""

    def __init__(self, private: Path, failures: int = 0) -> None:
        self.private = private
        self.failures = failures
        self.count = 0

    def __call__(self) -> Store:
        self.count += 1
        if self.count <= self.failures:
            raise StoreError("the disk is away")
        return Store.open(self.private)


async def test_a_store_that_could_not_be_opened_is_tried_again(tmp_path: Path) -> None:
    opens = Opens(tmp_path, failures=1)
    lazy = LazyStore(opens)
    with pytest.raises(StoreError, match="the disk is away"):
        await lazy.get()
    assert await lazy.get() is await lazy.get()
    assert opens.count == 2
    await lazy.close()


@pytest.mark.parametrize("asked", [False, True], ids=["never asked for", "never opened"])
async def test_there_is_nothing_to_close_of_what_was_not_opened(tmp_path: Path, asked: bool) -> None:
    opens = Opens(tmp_path, failures=1)
    lazy = LazyStore(opens)
    if asked:
        with pytest.raises(StoreError):
            await lazy.get()
    await lazy.close()
    assert opens.count == asked


@pytest.mark.concurrency
async def test_who_asks_at_once_gets_the_same_store_also_where_one_gives_up(tmp_path: Path) -> None:
    opens = Opens(tmp_path)
    lazy = LazyStore(opens)
    impatient, *others = (asyncio.create_task(lazy.get()) for _ in range(4))
    await asyncio.sleep(0)
    impatient.cancel()
    async with asyncio.timeout(LIMIT):
        first, *rest = await asyncio.gather(*others)
        assert all(store is first for store in rest)
        assert opens.count == 1
        await lazy.close()
    assert impatient.cancelled()
