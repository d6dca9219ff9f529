"""Locks between processes on files; the system releases the locks of a killed process."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

from tideate_core.util.private_files import open_private

if TYPE_CHECKING:
    from pathlib import Path


def take_lock(path: Path) -> int | None:
    """Return a descriptor that holds the lock until it is closed, or None while another one holds it.

    :raises OSError: the file cannot be created.
    """
    handle = open_private(path, os.O_RDWR | os.O_CREAT)
    if try_lock(handle):
        return handle
    os.close(handle)
    return None


def is_locked(path: Path) -> bool:
    """Return whether a living process holds the lock of a file; does not create the file."""
    try:
        handle = open_private(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        return not try_lock(handle)
    finally:
        os.close(handle)


def try_lock(handle: int) -> bool:
    """Lock an open file unless another descriptor holds its lock."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
