"""Open directories without following links that were placed on a resolved path."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_STEP: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_HELD: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def open_directory_fd(start: Path | str, parts: Iterable[str], *, make: bool = False) -> int:
    """Open a directory component by component; return a descriptor for relative calls.

    :param start: first directory; links in this path are followed.
    :param make: create missing directories.
    :raises NotADirectoryError: a link or another non-directory is on the path.
    :raises OSError: it cannot be opened or created.
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
    with suppress(FileExistsError):  # another process was faster
        os.mkdir(name, dir_fd=above)
    return os.open(name, _STEP, dir_fd=above)


@contextmanager
def open_directory(path: Path, *, make: bool = False) -> Iterator[int]:
    """Hold a directory open, for relative calls and for fsync.

    :param path: absolute and resolved.
    :param make: create it and its missing parents.
    :raises OSError: see `open_directory_fd`.
    """
    with open_directory_below(path.anchor, path.parts[1:], make=make) as descriptor:
        yield descriptor


@contextmanager
def open_directory_below(start: Path | str, parts: Iterable[str], *, make: bool = False) -> Iterator[int]:
    """Hold a directory below another one open, for relative calls and for fsync.

    :param start: links in this path are followed.
    :param make: create missing directories below it.
    :raises OSError: see `open_directory_fd`.
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
