"""Deadlines in processor time, for work on untrusted input."""

from __future__ import annotations

import time


class Deadline:
    """Remaining processor time of the current thread for one piece of work.

    A slow disk or a busy machine does not count.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.thread_time() + seconds

    @property
    def is_over(self) -> bool:
        return time.thread_time() > self._end
