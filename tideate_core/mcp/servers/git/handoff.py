"""The private folder of the git server: its lock between processes, and what it tells who comes after."""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from anyio import CancelScope
from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.errors import ConfigError
from tideate_core.mcp.servers.locking import acquire
from tideate_core.project import inside, private_dir

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

__all__ = ["COMMIT_INFO", "Turn", "folder", "write_whole"]

COMMIT_INFO: Final = "commit_info.json"
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
            descriptor = _open(folder(self._root) / "lock")
            try:
                await acquire(descriptor, PATIENCE, BUSY)
                yield
            finally:
                os.close(descriptor)  # gives the lock back


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ToolError(f".tideate/mcp/git/lock cannot be opened ({error.strerror})") from error


def folder(root: Path) -> Path:
    """Return `.tideate/mcp/git` below a root, made if it is missing.

    :raises ToolError: it cannot be made, or leads out of the root.
    """
    try:
        place = private_dir(root) / "mcp" / "git"
        place.mkdir(parents=True, exist_ok=True)
    except (ConfigError, OSError) as error:
        raise ToolError(".tideate/mcp/git cannot be made, so nothing was written") from error
    if not inside(place, root):
        raise ToolError(".tideate/mcp/git is a link out of the root; remove it, nothing was written")
    return place


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is either as before or as wanted, whatever happens.

    :raises OSError: it cannot be written.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
