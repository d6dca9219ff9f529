"""An event loop with a clock that a test can advance."""

from __future__ import annotations

import asyncio

__all__ = ["Later"]


class Later:
    """The running loop's clock. To be made where the loop runs."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        real, self._skipped = loop.time, 0.0
        # an attribute of this one loop, which ends with the test
        loop.time = lambda: real() + self._skipped  # type: ignore[method-assign]

    def skip(self, seconds: float) -> None:
        """Let so much time pass at once."""
        self._skipped += seconds

    async def pass_(self, seconds: float) -> None:
        """Advance the clock, and run the callbacks due until then."""
        self.skip(seconds)
        for _ in range(5):
            await asyncio.sleep(0)
