"""Turns of the git server between processes, and its private directory."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from anyio import CancelScope
from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.errors import ConfigError
from tideate_core.mcp.servers.locking import acquire, open_lock
from tideate_core.project import make_project_state

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

__all__ = ["COMMIT_INFO", "Turn", "scratch"]

COMMIT_INFO: Final = "mcp/git/commit_info.json"
"""Below `.tideate/`."""
PATIENCE: Final = 60.0
"""Seconds that a call waits for another server's."""
BUSY: Final = "another git server is writing to this repository; try again later"

T = TypeVar("T")


class Turn:
    """One call at a time writes to a root, of this process and of all."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = asyncio.Lock()

    async def take(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do something that writes when it is its turn.

        A cancellation is told to it once, and it may put back what it has to before this raises: a git that
        is killed at once leaves its locks behind.

        :raises ToolError: another server has the turn all the time.
        """
        task = asyncio.ensure_future(self._work(work))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            with CancelScope(shield=True):
                await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # nobody is left to be told
            raise

    async def _work(self, work: Callable[[], Awaitable[T]]) -> T:
        async with self._taken():
            return await work()

    @asynccontextmanager
    async def _taken(self) -> AsyncIterator[None]:
        async with self._lock:
            descriptor = _open(self._root)
            try:
                await acquire(descriptor, PATIENCE, BUSY)
                yield
            finally:
                os.close(descriptor)  # gives the lock back


def _open(root: Path) -> int:
    try:
        return open_lock(root, "git")
    except ConfigError as error:
        raise ToolError(f"nothing was written: {error}") from error


def scratch(root: Path) -> Path:
    """Return the private directory in which indexes are made, made if it is missing.

    :raises ToolError: it cannot be made.
    """
    try:
        place = make_project_state(root) / "mcp" / "git"
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (ConfigError, OSError) as error:
        raise ToolError("the private state of the project cannot be used, so nothing was written") from error
    return place
