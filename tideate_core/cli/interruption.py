"""Signals that end a run as a cancellation, so that it cleans up behind itself."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Interruption"]

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """While entered, the first SIGINT, SIGTERM or SIGHUP calls `cancel`; a second SIGINT ends the process.

    A signal that the parent had ignored (`nohup`, a background job) stays ignored.
    """

    def __init__(self, cancel: Callable[[], object]) -> None:
        self._cancel = cancel
        self.happened = False

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._caught = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        for number in self._caught:
            loop.add_signal_handler(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._caught:
            asyncio.get_running_loop().remove_signal_handler(number)

    def _on_signal(self) -> None:
        if not self.happened:
            self.happened = True
            asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
            self._cancel()
