"""One writer at a time, among all servers of a root."""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from typing import TYPE_CHECKING, Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.errors import ConfigError
from tideate_core.project import make_project_state

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["acquire", "open_lock"]

_POLL: Final = 0.02
"""Seconds between two tries: a lock cannot be waited for without a thread that may never end."""


def open_lock(root: Path, server: str) -> int:
    """Open the file that the servers of a kind lock for a root, in the project's private state; blocking.

    :raises ConfigError: the private state cannot be used.
    """
    place = make_project_state(root) / "mcp" / server
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(place / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(f"{place / 'lock'} cannot be opened: {error.strerror}") from error


async def acquire(descriptor: int, within: float, busy: str) -> None:
    """Lock a file; closing its descriptor gives the lock back.

    :param within: seconds that it is tried for.
    :param busy: said where another has it all the time.
    :raises ToolError: another has it.
    """
    end = time.monotonic() + within
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= end:
                raise ToolError(busy) from None
        await asyncio.sleep(_POLL)
