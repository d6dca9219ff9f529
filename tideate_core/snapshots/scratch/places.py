"""Directories of scratch copies: one for each that lives, and none of those whose owner has died."""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Final

from tideate_core.snapshots.scratch.removal import remove_tree
from tideate_core.util.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["claim_place", "release_place", "sweep_places"]

_OPEN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW


def claim_place(private: Path) -> tuple[Path, int]:
    """Make a directory for a scratch copy; blocking.

    :param private: directory of all scratch copies of a project.
    :returns: the directory, and the descriptor that keeps it: when it is closed, the next one who comes may
        remove the directory.
    :raises OSError: it cannot be made.
    """
    with _locked(private):
        place = private / secrets.token_hex(8)
        make_private_directory(place, exist_ok=False)
        handle = os.open(place, _OPEN)
        fcntl.flock(handle, fcntl.LOCK_EX)
    return place, handle


def release_place(place: Path, handle: int) -> None:
    """Remove the directory of a scratch copy; blocking.

    :raises OSError: as of `remove_tree`.
    """
    try:
        remove_tree(place)
    finally:
        os.close(handle)
    with suppress(OSError):  # others are there
        place.parent.rmdir()


def sweep_places(private: Path) -> list[str]:
    """Remove what owners that were killed left; blocking.

    :returns: what could not be removed, and why.
    :raises OSError: the directory cannot be made or listed.
    """
    failed: list[str] = []
    with ExitStack() as held:
        for place in _take_abandoned(private, held):
            try:
                remove_tree(place)
            except OSError as error:
                failed.append(f"{place} cannot be removed: {error.strerror}")
    return failed


def _take_abandoned(private: Path, held: ExitStack) -> list[Path]:
    """Return the directories that no living process has; now they are ours to remove."""
    found: list[Path] = []
    with _locked(private):
        for place in sorted(private.iterdir()):
            if not place.is_dir() or place.is_symlink():
                continue  # no scratch copy: not ours to remove
            handle = os.open(place, _OPEN)
            held.callback(os.close, handle)
            with suppress(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                found.append(place)
    return found


@contextmanager
def _locked(private: Path) -> Iterator[None]:
    """Be the only one who makes or looks for directories."""
    with ExitStack() as held:
        handle = _open_locked(private, held)
        while not _is_there(private, handle):  # the last one who left removed it
            handle = _open_locked(private, held)
        yield


def _open_locked(private: Path, held: ExitStack) -> int:
    while True:
        make_private_directory(private)
        with suppress(FileNotFoundError):
            handle = os.open(private, _OPEN)
            held.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
            return handle


def _is_there(private: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), private.stat())
    except FileNotFoundError:
        return False
