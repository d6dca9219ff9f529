"""Reading of regular files that may be something else: no link is followed, no pipe waited for."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_bounded"]


def read_bounded(path: Path, largest: int) -> bytes | None:
    """Return a file's content; None where there is no regular file, or a larger one; blocking.

    :param largest: bytes.
    """
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                with os.fdopen(descriptor, "rb", closefd=False) as file:
                    content = file.read(largest + 1)
                return content if len(content) <= largest else None
        finally:
            os.close(descriptor)
    return None
