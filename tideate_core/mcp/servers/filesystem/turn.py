"""One call at a time writes to a root, of this process and of all."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.errors import ConfigError
from tideate_core.mcp.servers.locking import acquire
from tideate_core.project import inside, private_dir

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
        place = private_dir(root) / "mcp" / "filesystem"
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not inside(place, root):
            raise ToolError(
                ".tideate/mcp/filesystem is a link out of the root; remove it, nothing was written"
            )
        return os.open(place / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except (ConfigError, OSError) as error:
        raise ToolError(
            ".tideate/mcp/filesystem cannot be used, and without it nothing could be taken back, so nothing "
            "was written; a person has to look at it"
        ) from error
