"""One call at a time writes to a root, of this process and of all."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.errors import ConfigError
from tideate_core.mcp.servers.locking import acquire, open_lock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

__all__ = ["Turn"]

PATIENCE: float = 30.0
"""Seconds that a call waits for another server's."""
BUSY: Final = (
    "another filesystem server is writing in this directory, so nothing was written; try again later"
)


class Turn:
    """The right to write to a root."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Hold it.

        :raises ToolError: another server has it all the time, or the lock cannot be made.
        """
        async with self._lock:
            descriptor = _open(self._root)
            try:
                await acquire(descriptor, PATIENCE, BUSY)
                yield
            finally:
                os.close(descriptor)  # gives the lock back


def _open(root: Path) -> int:
    try:
        return open_lock(root, "filesystem")
    except ConfigError as error:
        raise ToolError(
            "the private state of the project cannot be used, and without it nothing could be taken back, so "
            "nothing was written; a person has to look at it"
        ) from error
