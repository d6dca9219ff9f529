"""Deadlines in processor time, for work on others' input."""

from __future__ import annotations

import time

__all__ = ["Deadline"]


class Deadline:
    """Processor time that is left to one piece of work of the thread that asks.

    A slow disk or a busy machine uses none of it.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.thread_time() + seconds

    @property
    def is_over(self) -> bool:
        return time.thread_time() > self._end
