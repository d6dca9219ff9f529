"""Settings of Python's garbage collector that shorten start-up and short commands."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["collect_garbage_rarely", "garbage_collection_paused"]

THRESHOLDS: Final = (50_000, 20, 20)
"""Of `gc.set_threshold`. With the default of 700 a list of a project's files is looked through over and over
while it is made, and so are the classes and functions of imports: a third of a short command's time."""


def collect_garbage_rarely() -> None:
    """Have this process look for garbage less often."""
    gc.set_threshold(*THRESHOLDS)


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Make what stays until the end of the process, imported modules above all.

    It is not looked through for garbage while it is made, in a burst of work, nor afterwards, nor when the
    interpreter ends, which took a fifth of a second.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
