"""Layers of overlays: copies of paths with their metadata, whiteouts, and lookups through several layers."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.util.file_metadata import give_metadata, read_attributes, read_metadata

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tideate_core.snapshots.scratch.cloning import Cloner

_OPAQUE: Final = "user.overlay.opaque"
_WHITEOUT: Final = "user.overlay.whiteout"
_BITS: Final = 0o7777
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_FILE: Final = frozenset({errno.ELOOP, errno.ENXIO, errno.EMLINK})
"""A link, or on some systems a socket."""
_ATTEMPTS: Final = 3
"""Maximum number of attempts to copy a file that is being written."""


def copy_path(source: str, target: str, cloner: Cloner) -> os.stat_result | None:
    """Copy a file or link with its mode, times, owner and attributes; blocking.

    :param target: a free path.
    :returns: the source's status before the copy; None if it is neither a file nor a link.
    :raises OSError: it is gone, cannot be read, or the copy cannot be written.
    """
    try:
        return _copy_file(source, target, cloner)
    except OSError as error:
        if error.errno not in _NO_FILE:
            raise
    found = os.lstat(source)
    if stat.S_ISLNK(found.st_mode):
        Path(target).symlink_to(Path(source).readlink())
        os.utime(target, ns=(found.st_mtime_ns, found.st_mtime_ns), follow_symlinks=False)
        if found.st_uid != os.geteuid():
            with suppress(PermissionError):
                os.chown(target, found.st_uid, found.st_gid, follow_symlinks=False)
        return found
    return None


def _copy_file(source: str, target: str, cloner: Cloner) -> os.stat_result | None:
    for attempt in range(1, _ATTEMPTS + 1):
        read = os.open(source, _READ)
        try:
            found = os.fstat(read)
            if not stat.S_ISREG(found.st_mode):
                return None
            _copy_open(read, found, target, cloner)
            after = os.fstat(read)
        finally:
            os.close(read)
        if (after.st_mtime_ns, after.st_size) == (found.st_mtime_ns, found.st_size) or attempt == _ATTEMPTS:
            break
        Path(target).unlink()
    return found


def _copy_open(read: int, found: os.stat_result, target: str, cloner: Cloner) -> None:
    write = os.open(target, _NEW, 0o600)
    try:
        if found.st_size:
            cloner.copy_open(read, write)
        if found.st_uid != os.geteuid() or found.st_gid != os.getegid() or read_attributes(read):
            give_metadata(write, read_metadata(read), found.st_mode & _BITS)
        else:
            os.fchmod(write, found.st_mode & _BITS)
        os.utime(write, ns=(found.st_mtime_ns, found.st_mtime_ns))
    finally:
        os.close(write)


def finish_directory(source: str, target: str) -> None:
    """Give a directory the mode, times, owner and attributes of another one; blocking.

    Call this when the content is complete: the directory may become read-only, and writing changes its times.

    :raises OSError: they cannot be read or given.
    """
    read = os.open(source, _READ | os.O_DIRECTORY)
    try:
        found = os.fstat(read)
        write = os.open(target, _READ | os.O_DIRECTORY)
        try:
            give_metadata(write, read_metadata(read), found.st_mode & _BITS)
            os.utime(write, ns=(found.st_mtime_ns, found.st_mtime_ns))
        finally:
            os.close(write)
    finally:
        os.close(read)


def whiteout(target: str) -> None:
    """Create a whiteout, which hides a name of lower layers.

    :raises OSError: the system does not permit it.
    """
    os.mknod(target, stat.S_IFCHR | 0o600, os.makedev(0, 0))


def is_whiteout(path: str, status: os.stat_result) -> bool:
    """Return whether a path of a layer hides the name in lower layers."""
    if stat.S_ISCHR(status.st_mode):
        return status.st_rdev == 0
    return stat.S_ISREG(status.st_mode) and not status.st_size and _attribute(path, _WHITEOUT) is not None


def is_opaque(path: str) -> bool:
    """Return whether a directory hides directories of lower layers at the same path."""
    return _attribute(path, _OPAQUE) == b"y"  # `x` only marks that whiteouts have attributes


def find_in_layers(layers: Sequence[str], path: str) -> str | None:
    """Return the path that an overlay shows for a path, following no link; None if it shows none.

    :param layers: the uppermost first.
    """
    return next((where for where, _ in _visible(layers, path)), None)


def names_in_layers(layers: Sequence[str], path: str) -> set[str]:
    """Return the names that an overlay shows in a directory; empty if the path is no directory.

    :raises OSError: a layer cannot be read.
    """
    hidden: set[str] = set()
    found: set[str] = set()
    for where, status in _visible(layers, path):
        if not stat.S_ISDIR(status.st_mode):
            break
        with os.scandir(where) as entries:
            for entry in entries:
                if entry.name in hidden:
                    continue
                hidden.add(entry.name)
                if not is_whiteout(entry.path, entry.stat(follow_symlinks=False)):
                    found.add(entry.name)
    return found


def _visible(layers: Sequence[str], path: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield a path in each layer that contributes to it: one file, or the directories to merge."""
    parts = path.split("/") if path else []
    for layer in layers:
        where, hides = layer, False
        status = os.lstat(where)
        for part in parts:
            if not stat.S_ISDIR(status.st_mode):
                return
            hides = hides or is_opaque(where)
            where = f"{where}/{part}"
            try:
                status = os.lstat(where)
            except FileNotFoundError:
                break
            if is_whiteout(where, status):
                return
        else:
            yield where, status
            hides = hides or not stat.S_ISDIR(status.st_mode) or is_opaque(where)
        if hides:
            return


def _attribute(path: str, name: str) -> bytes | None:
    with suppress(OSError):  # none, or a link or device without attributes
        return os.getxattr(path, name, follow_symlinks=False)
    return None
