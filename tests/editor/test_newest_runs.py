"""Newest run by order of start, independent of the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.store.past import NOON, Past, run_id
from tideate_core.editor.run_requests import _newest_failed
from tideate_core.editor.run_views import _newest
from tideate_core.engine.context.continuation import _find
from tideate_core.store import Reader, Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def continued(reader: Reader) -> str:
    return _find(reader, "last").id


def shown(reader: Reader) -> str:
    return _newest(reader).id


@pytest.mark.parametrize("newest", [_newest_failed, continued, shown])
async def test_a_clock_that_was_set_back_changes_nothing(
    tmp_path: Path, newest: Callable[[Reader], str]
) -> None:
    store = Store.open(tmp_path)
    try:
        for number, at in ((1, NOON), (2, NOON - 86_400_000)):
            past = Past(store, number, at=at)
            await past.begin()
            past.log.note("", "conversation:a", {})
            await past.end(status="failed")
        assert newest(store.reader()) == run_id(2)
    finally:
        store.close()
