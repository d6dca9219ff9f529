"""Files that are there whole or not at all, also after a power loss."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tideate_core.workspace.files import fsync_directory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

__all__ = ["NEW", "create", "durable", "finish"]

NEW = ".new"
"""Suffix of a file that is being written."""


@contextmanager
def durable(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write; when the block is left in order, it has its name and is on disk."""
    temp = path.with_name(path.name + NEW)
    try:
        with os.fdopen(create(temp), "wb") as file:
            yield file
            finish(file, path)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise


def finish(file: BinaryIO, path: Path) -> None:
    """Give a file that was written beside a path that path."""
    file.flush()
    os.fsync(file.fileno())
    path.with_name(path.name + NEW).replace(path)
    fsync_directory(path.parent)


def create(path: Path) -> int:
    """Return the descriptor of a file to write, emptied if there was one; it is private."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
