"""Garbage collector settings that shorten start-up and short commands."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

THRESHOLDS: Final = (50_000, 20, 20)
"""For `gc.set_threshold`. The default of 700 scans large lists and imported modules repeatedly while they are
created: a third of a short command's time."""


def collect_garbage_rarely() -> None:
    """Collect garbage less often in this process."""
    gc.set_threshold(*THRESHOLDS)


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Create permanent objects, such as imported modules, without garbage collection.

    They are scanned neither during the block nor later nor at exit, which saves a fifth of a second.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
