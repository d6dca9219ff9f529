"""Garbage collector settings change only as documented."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from tideate_core.util.garbage import THRESHOLDS, collect_garbage_rarely, garbage_collection_paused

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    yield
    gc.set_threshold(*before)
    if not frozen:  # otherwise other tests rely on it
        gc.unfreeze()
    gc.enable()


def test_garbage_is_looked_for_less_often() -> None:
    collect_garbage_rarely()
    assert gc.get_threshold() == THRESHOLDS


def test_nothing_is_collected_within_and_what_was_made_is_never_looked_through() -> None:
    frozen = gc.get_freeze_count()
    with garbage_collection_paused():
        assert not gc.isenabled()
        made: list[list[int]] = [[] for _ in range(100)]
    assert gc.isenabled()
    assert gc.get_freeze_count() >= frozen + len(made)


def test_an_error_within_turns_it_on_again() -> None:
    with pytest.raises(KeyError), garbage_collection_paused():
        raise KeyError
    assert gc.isenabled()
