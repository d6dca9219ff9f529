"""Shows how far something is that takes longer than a second."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Self

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Waiting"]

SOON: Final = 1.0
"""Seconds that nothing is shown for."""


class Waiting:
    """A bar of bytes on a terminal; elsewhere one line.

    :param words: what is done.
    """

    def __init__(self, console: Console, words: str) -> None:
        self._console = console
        self._words = words
        self._begun = time.monotonic()
        self._bar: Progress | None = None
        self._said = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        """Take bytes done, and bytes there are."""
        if time.monotonic() - self._begun < SOON:
            return
        if not self._console.is_terminal:
            if not self._said:
                self._console.print(f"{self._words} …", markup=False)
                self._said = True
            return
        if self._bar is None:
            columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._bar.add_task(self._words, total=total)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done, total=total)
