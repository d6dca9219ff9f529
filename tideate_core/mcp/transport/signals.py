"""Stop a server on SIGINT, SIGTERM or SIGHUP."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable

INTERRUPTED: Final = 130
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignals:
    """Context in which the first SIGINT, SIGTERM or SIGHUP calls `stop` and a second one kills."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self.status = 0
        """Exit status: 130 after SIGINT."""

    def __enter__(self) -> Self:
        self._numbers = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        for number in self._numbers:
            asyncio.get_running_loop().add_signal_handler(number, self._on_signal, number)
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._numbers:
            asyncio.get_running_loop().remove_signal_handler(number)

    def _on_signal(self, number: signal.Signals) -> None:
        self.status = INTERRUPTED if number is signal.SIGINT else 0
        for each in self._numbers:
            asyncio.get_running_loop().remove_signal_handler(each)
            signal.signal(each, signal.SIG_DFL)
        self._stop()
