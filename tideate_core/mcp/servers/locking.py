"""One writer at a time, among all servers of a root."""

from __future__ import annotations

import asyncio
import fcntl
import time
from typing import Final

from mcp.server.mcpserver.exceptions import ToolError

__all__ = ["acquire"]

_POLL: Final = 0.02
"""Seconds between two tries: a lock cannot be waited for without a thread that may never end."""


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
