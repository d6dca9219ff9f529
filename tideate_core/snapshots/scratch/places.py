"""Directories of scratch copies: one per living owner; abandoned ones are removed."""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.util.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Iterator


def remove_tree(place: Path) -> None:
    """Remove a directory and its content, following no link; a missing directory is accepted.

    Nested directories are first moved to the top, so that no path gets too long and no recursion too deep.

    :raises OSError: a file belongs to another user, or the file system is read-only.
    """
    pending = [place] if os.path.lexists(place) else []
    while pending:
        inner = _empty(pending[-1], place)
        if inner:
            pending += inner
        else:
            pending.pop().rmdir()


def _empty(directory: Path, top: Path) -> list[Path]:
    """Remove a directory's files and move its directories to the top; return their new paths."""
    os.chmod(directory, 0o700)  # noqa: PTH101 of a directory that was found as one
    moved: list[Path] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)  # noqa: PTH108 there are many
                continue
            target = Path(entry.path)
            if directory != top:
                target = top / secrets.token_hex(16)
                os.chmod(entry.path, 0o700)  # noqa: PTH101 to move it one must be able to write to it
                os.rename(entry.path, target)  # noqa: PTH104
            moved.append(target)
    return moved


_OPEN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW


def claim_place(private: Path) -> tuple[Path, int]:
    """Create a directory for a scratch copy; blocking.

    :param private: directory of all scratch copies of a project.
    :returns: the directory and the descriptor that protects it; once closed, others may remove the directory.
    :raises OSError: it cannot be created.
    """
    with _locked(private):
        place = private / secrets.token_hex(8)
        make_private_directory(place, exist_ok=False)
        handle = os.open(place, _OPEN)
        fcntl.flock(handle, fcntl.LOCK_EX)
    return place, handle


def move_to_place(directory: Path, private: Path) -> tuple[Path, int]:
    """Move a directory to a new place and claim it, as `claim_place` does; blocking.

    A directory that was claimed first and then replaced by a rename would have an owner no longer.

    :raises OSError: it cannot be moved.
    """
    with _locked(private):
        handle = os.open(directory, _OPEN)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            place = private / secrets.token_hex(8)
            directory.rename(place)
        except BaseException:
            os.close(handle)
            raise
    return place, handle


def release_place(place: Path, handle: int) -> None:
    """Remove the directory of a scratch copy; blocking.

    :raises OSError: see `remove_tree`.
    """
    try:
        remove_tree(place)
    finally:
        os.close(handle)
    with suppress(OSError):  # others are still there
        place.parent.rmdir()


def sweep_places(private: Path) -> list[str]:
    """Remove directories of killed owners; blocking.

    :returns: directories that could not be removed, with the reason.
    :raises OSError: the directory cannot be created or listed.
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
    """Return the directories without a living owner, claimed for removal."""
    found: list[Path] = []
    with _locked(private):
        for place in sorted(private.iterdir()):
            try:
                handle = os.open(place, _OPEN)
            except (FileNotFoundError, NotADirectoryError):
                continue  # its owner has just removed it, or it is a file or link
            held.callback(os.close, handle)
            with suppress(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                found.append(place)
    return found


@contextmanager
def _locked(private: Path) -> Iterator[None]:
    """Hold the lock for creating and searching directories."""
    with ExitStack() as held:
        handle = _open_locked(private, held)
        while not _is_there(private, handle):  # the last owner removed the directory
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
