"""Signals that end a run as a cancellation, so that it cleans up behind itself."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import TYPE_CHECKING, Final, Self

from tideate_core.cli.exits import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

__all__ = ["Interruption"]

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE: Final = 5.0
"""Seconds that a person gives the end: programs are killed after 2 of them, files take milliseconds."""


class Interruption:
    """While entered, SIGINT, SIGTERM and SIGHUP call `cancel`; a signal the parent ignored stays so.

    Each further Ctrl-C calls it again, which ends what still ends by itself at once. One that comes after
    `PATIENCE` leaves the process as it stands: whatever the end waits for, the store and the journal have all
    that another process needs to bring the run to its end.

    :param cancel: called with whether the person asked for it, by Ctrl-C.
    :param again: called with the seconds left, at the second Ctrl-C only.
    :param leave: called before the process is left; says what a person can do then.
    """

    def __init__(
        self, cancel: Callable[[bool], object], again: Callable[[float], None], leave: Callable[[], None]
    ) -> None:
        self._cancel = cancel
        self._tell_again = again
        self._leave = leave
        self._told = False
        self._first = 0.0
        self.happened = False

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._caught = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        for number in self._caught:
            self._loop.add_signal_handler(number, self._on_signal, number)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop waiting for signals. After one, the process is about to end: none break into that."""
        for number in self._caught:
            if not (self.happened and number == signal.SIGINT):
                self._loop.remove_signal_handler(number)

    def _on_signal(self, number: int) -> None:
        if self.happened:
            return
        self.happened = True
        self._first = time.monotonic()
        if signal.SIGINT in self._caught:
            self._loop.remove_signal_handler(signal.SIGINT)
            # not the loop's: also one that does not turn any more is left
            signal.signal(signal.SIGINT, self._on_another)
        self._cancel(number == signal.SIGINT)

    def _on_another(self, _number: int, _frame: FrameType | None) -> None:
        left = self._first + PATIENCE - time.monotonic()
        if left <= 0:
            self._leave()
            os._exit(INTERRUPTED)
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._hurry, left)

    def _hurry(self, left: float) -> None:
        if not self._told:
            self._told = True
            self._tell_again(left)
        self._cancel(True)
