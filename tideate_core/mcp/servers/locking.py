"""Locks of a root across servers, and an orderly end for cancelled work."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from anyio import CancelScope
from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.errors import ConfigError
from tideate_core.project import make_project_state
from tideate_core.util.private_files import make_private_directory, open_private

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable
    from pathlib import Path

_POLL: Final = 0.02
"""Seconds between attempts; waiting for a file lock would need a thread that may never end."""
UNUSABLE: Final = (
    "the private state of the project cannot be used, so nothing was done; a person must look at it"
)

T = TypeVar("T")


@asynccontextmanager
async def locked_root(root: Path, server: str, *, within: float, busy: str) -> AsyncIterator[None]:
    """Hold a root's lock, which one call of all servers of a kind has at a time.

    :param server: the kind of server; its directory in the private state has the lock file.
    :param within: seconds to wait for the lock.
    :param busy: the message if the lock stays taken.
    :raises ToolError: the lock stays taken or cannot be created.
    """
    try:
        folder = make_project_state(root) / "mcp" / server
        make_private_directory(folder)
        descriptor = open_private(folder / "lock", os.O_RDWR | os.O_CREAT)
    except (ConfigError, OSError) as error:
        raise ToolError(UNUSABLE) from error
    try:
        await _acquire(descriptor, within, busy)
        yield
    finally:
        os.close(descriptor)  # releases the lock


async def _acquire(descriptor: int, within: float, busy: str) -> None:
    end = time.monotonic() + within
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= end:
                raise ToolError(busy) from None
        await asyncio.sleep(_POLL)


async def ended_before_cancelled(work: Awaitable[T]) -> T:
    """Await work; on cancellation, cancel it once and wait for its end before this raises."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        with CancelScope(shield=True):
            await asyncio.wait([task])
        if not task.cancelled() and (error := task.exception()):
            logging.getLogger(__name__).info("ended while it was cancelled: %s", error)
        raise
