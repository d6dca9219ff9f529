"""Open directories by a resolved path, following no link that was put there in between."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["open_directory", "open_directory_below", "open_directory_fd"]

_STEP: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_HELD: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def open_directory_fd(start: Path | str, parts: Iterable[str], *, make: bool = False) -> int:
    """Open a directory, each on the way from the one above it; returns a descriptor for calls relative to it.

    :param start: where the way begins; links in this path are followed.
    :param make: make those that are missing.
    :raises NotADirectoryError: there is a link on the way, or another thing that is no directory.
    :raises OSError: it cannot be opened, or made.
    """
    descriptor = os.open(start, _STEP & ~os.O_NOFOLLOW)
    for part in parts:
        above = descriptor
        try:
            descriptor = _opened(part, above, make=make)
        finally:
            os.close(above)
    return descriptor


def _opened(name: str, above: int, *, make: bool) -> int:
    try:
        return os.open(name, _STEP, dir_fd=above)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):  # somebody was faster
        os.mkdir(name, dir_fd=above)
    return os.open(name, _STEP, dir_fd=above)


@contextmanager
def open_directory(path: Path, *, make: bool = False) -> Iterator[int]:
    """Hold a directory open, for calls relative to it and to be synced.

    :param path: absolute and resolved.
    :param make: make it and those above it where they are missing.
    :raises OSError: as of `open_directory_fd`.
    """
    with open_directory_below(path.anchor, path.parts[1:], make=make) as descriptor:
        yield descriptor


@contextmanager
def open_directory_below(start: Path | str, parts: Iterable[str], *, make: bool = False) -> Iterator[int]:
    """Hold a directory below another one open, for calls relative to it and to be synced.

    :param start: links in this path are followed.
    :param make: make those below it that are missing.
    :raises OSError: as of `open_directory_fd`.
    """
    way = open_directory_fd(start, parts, make=make)
    try:
        descriptor = os.open(".", _HELD, dir_fd=way)
    finally:
        os.close(way)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
