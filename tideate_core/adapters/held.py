"""An open model that several requests use at a time."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tideate_core.adapters.sources import OpenModel

__all__ = ["HeldModel"]


class HeldModel:
    """Counts who uses an open model, so that it is not closed under them."""

    def __init__(self, opened: OpenModel) -> None:
        self.opened = opened
        self._users = 0
        self._retired = False
        self._closed = False

    @asynccontextmanager
    async def in_use(self) -> AsyncIterator[OpenModel]:
        self._users += 1
        try:
            with self.opened.in_use():
                yield self.opened
        finally:
            self._users -= 1
            if self._retired and not self._users:
                await self.close()

    async def retire(self) -> None:
        """Close it as soon as nobody uses it any more."""
        self._retired = True
        if not self._users:
            await self.close()

    async def close(self) -> None:
        """Close it now; requests that use it fail."""
        if not self._closed:
            self._closed = True
            await self.opened.close()
