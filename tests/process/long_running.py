"""Programs that run until they are ended, and their cancellation."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from tideate_core.process import CommandResult, OutputLine


FOREVER = "import signal; print('ready', flush=True); signal.pause()"


STUBBORN = (
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True)\n"
    "while True: signal.pause()"
)


class Told:
    """The lines that came, and an event for a word among them."""

    def __init__(self, word: str = "ready") -> None:
        self.lines: list[OutputLine] = []
        self.heard = asyncio.Event()
        self._word = word

    def __call__(self, lines: Sequence[OutputLine]) -> None:
        self.lines += lines
        if any(self._word in line.text for line in lines):
            self.heard.set()

    def texts(self, stream: str) -> list[str]:
        return [line.text for line in self.lines if line.stream == stream and line.ended]


GUARDED = pytest.mark.parametrize("guarded", [True, False])


async def cancelled(going: Coroutine[Any, Any, CommandResult], told: Told, times: int = 1) -> None:
    """Cancel a program once it said its word, the second time while it is asked to end."""
    task = asyncio.create_task(going)
    async with asyncio.timeout(60):
        await told.heard.wait()
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)  # it is asking then
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
