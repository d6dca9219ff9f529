"""Lock of a project's snapshots between processes; run blocking work in a thread under it."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from tideate_core.errors import WorkspaceError
from tideate_core.util.file_locks import try_lock
from tideate_core.util.private_files import open_private
from tideate_core.util.uncancelled import wait_uncancelled

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

_T = TypeVar("_T")

_POLL: Final = 0.02
"""Seconds between two attempts; waiting in a thread could not be cancelled."""


@asynccontextmanager
async def hold_lock(path: Path, within: float) -> AsyncIterator[int]:
    """Hold the lock of a file and yield its descriptor; a killed process releases it.

    :param within: seconds to wait for another owner.
    :raises WorkspaceError: another process still holds it.
    """
    handle = open_private(path, os.O_RDWR | os.O_CREAT)
    try:
        end = time.monotonic() + within
        while not try_lock(handle):
            if time.monotonic() >= end:
                raise WorkspaceError(
                    f"another process has been making or restoring a snapshot for {within:.0f} s; "
                    "wait for its end and try again"
                )
            await asyncio.sleep(_POLL)
        yield handle
    finally:
        os.close(handle)


async def run_in_thread(work: Callable[[threading.Event], _T]) -> _T:
    """Run blocking work in a thread; on cancellation, stop it and wait, because it relies on the lock."""
    stop = threading.Event()
    task = asyncio.ensure_future(asyncio.to_thread(work, stop))
    if not await wait_uncancelled(task, stop.set):
        return task.result()
    if not task.cancelled():
        task.exception()  # retrieve the exception of the stopped work
    raise asyncio.CancelledError
