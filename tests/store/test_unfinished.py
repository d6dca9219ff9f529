"""The mark file of a store with unfinished runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.store.past import NOON, Past, run_id
from tideate_core.store.unfinished import NAME

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tideate_core.store import Store


async def test_the_mark_stays_until_the_last_run_ends(store: Store, private: Path) -> None:
    mark = private / NAME
    assert not mark.exists()
    first, second = Past(store, 1), Past(store, 2)
    await first.begin()
    await second.begin()
    assert mark.read_text() == f"{os.getpid()}\n"
    await first.end()
    assert mark.exists()
    await second.end()
    assert not mark.exists()


async def test_a_left_run_and_a_restored_checkpoint_keep_the_mark(
    open_store: Callable[[], Store], private: Path
) -> None:
    store = open_store()
    past = Past(store, 1)
    await past.begin()
    point = await past.step("a")
    await past.end()
    assert point is not None
    assert not (private / NAME).exists()
    await store.fork(point.id, run_id(7), NOON)
    assert (private / NAME).exists()
    store.close()
    assert (private / NAME).exists()
