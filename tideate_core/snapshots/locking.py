"""Lock of a project's snapshots between processes, kept until the threads that work under it have ended."""

from __future__ import annotations

import asyncio
import fcntl
import os
import threading
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from tideate_core.errors import WorkspaceError
from tideate_core.util.private_files import open_private
from tideate_core.util.uncancelled import wait_uncancelled

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

__all__ = ["hold_lock", "is_locked", "run_in_thread"]

_T = TypeVar("_T")

_POLL: Final = 0.02
"""Seconds between two tries: a lock that is waited for in a thread could not be given up."""


@asynccontextmanager
async def hold_lock(path: Path, within: float) -> AsyncIterator[int]:
    """Hold the lock of a file, and give its descriptor; a process that is killed lets go of it.

    :param within: seconds to wait for who has it.
    :raises WorkspaceError: another process has it still.
    """
    handle = open_private(path, os.O_RDWR | os.O_CREAT)
    try:
        end = time.monotonic() + within
        while not _try_lock(handle):
            if time.monotonic() >= end:
                raise WorkspaceError(
                    f"another process has been making or restoring a snapshot for {within:.0f} s; "
                    "wait for its end and try again"
                )
            await asyncio.sleep(_POLL)
        yield handle
    finally:
        os.close(handle)


def is_locked(path: Path) -> bool:
    """Tell whether a living process holds the lock of a file, which is not made for it."""
    try:
        handle = open_private(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        return not _try_lock(handle)
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def run_in_thread(work: Callable[[threading.Event], _T]) -> _T:
    """Run blocking work in a thread; cancelled, it is told to stop, and waited for: it has the lock."""
    stop = threading.Event()
    task = asyncio.ensure_future(asyncio.to_thread(work, stop))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await wait_uncancelled(task)
        if not task.cancelled():
            task.exception()  # it was asked to stop
        raise
