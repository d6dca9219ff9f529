"""Which of the works that may start do start: the one with the longest way to the end goes first."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tideate_core.engine.work import Work

__all__ = ["TaskQueue"]


class TaskQueue:
    """Works in waiting, and how many are under way.

    An exclusive work starts when nothing else is under way, and nothing starts beside it; while the first in
    line is exclusive, nothing overtakes it.

    :param concurrency: how many works are under way at once, at least 1.
    """

    def __init__(self, concurrency: int) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency is {concurrency}; at least 1 work must be able to start")
        self._concurrency = concurrency
        self._heap: list[tuple[float, int, Work]] = []
        self._count = 0
        self._running: set[str] = set()
        self._alone = False

    def __len__(self) -> int:
        """Return how many works wait."""
        return len(self._heap)

    @property
    def running(self) -> int:
        """How many works are under way."""
        return len(self._running)

    @property
    def first(self) -> Work | None:
        """The work that starts next, None where none waits."""
        return self._heap[0][2] if self._heap else None

    def put(self, work: Work) -> None:
        """Add a work; of equal priority, the one that came first goes first."""
        heapq.heappush(self._heap, (-work.priority, self._count, work))
        self._count += 1

    def drain(self) -> list[Work]:
        """Return what waits, in order; nothing waits after that."""
        works = [work for _, _, work in sorted(self._heap)]
        self._heap.clear()
        return works

    def take(self) -> Work | None:
        """Return the next work that may start now, which is then under way; None where none may."""
        if not self._heap or self._alone or len(self._running) >= self._concurrency:
            return None
        work = self._heap[0][2]
        if work.exclusive and self._running:
            return None
        heapq.heappop(self._heap)
        self._running.add(work.step)
        self._alone = work.exclusive
        return work

    def done(self, work: Work) -> None:
        """Give a work's place to the next; of a work that has none, nothing."""
        if work.step in self._running:
            self._running.remove(work.step)
            self._alone = False
