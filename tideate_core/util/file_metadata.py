"""Read and set a file's owner, mode, access control list and attributes, for its replacement."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from dataclasses import dataclass
from typing import Final

_GIVES_RIGHTS: Final = stat.S_ISUID, stat.S_ISGID
_WHERE_PERMITTED: Final = ("security.", "trusted.")
"""Attributes that the system or only an administrator sets."""
_OF_OVERLAYS: Final = "user.overlay."
"""Internal attributes of overlayfs in its upper directory."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """Owner and extended attributes of a file or directory; access control lists are attributes."""

    owner: tuple[int, int]
    """User and group id."""
    attributes: tuple[tuple[str, bytes], ...] = ()


def read_metadata(handle: int) -> Metadata:
    """Read owner and attributes of an open file or directory.

    :raises OSError: an attribute cannot be read.
    """
    found = os.fstat(handle)
    return Metadata((found.st_uid, found.st_gid), tuple(read_attributes(handle).items()))


def read_attributes(handle: int) -> dict[str, bytes]:
    """Return the extended attributes; empty without support for them."""
    if sys.platform != "linux":
        return {}
    try:
        names = sorted(os.listxattr(handle))
    except OSError as error:
        if error.errno in {errno.ENOTSUP, errno.ENOSYS}:
            return {}
        raise
    found: dict[str, bytes] = {}
    for name in names:
        if name.startswith(_OF_OVERLAYS):
            continue
        try:
            found[name] = os.getxattr(handle, name)
        except OSError as error:
            # removed meanwhile, or a label readable only by an administrator
            if error.errno != errno.ENODATA and not name.startswith(_WHERE_PERMITTED):
                raise
    return found


def replaced_metadata(name: str, directory: int) -> tuple[Metadata, int] | None:
    """Read the metadata and mode for a file's replacement; None if it is not a regular file.

    :param directory: descriptor of its directory.
    :raises OSError: it cannot be read.
    """
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO}:
            return None  # a link or a socket passes nothing on
        raise
    try:
        mode = os.fstat(handle).st_mode
        return (read_metadata(handle), stat.S_IMODE(mode)) if stat.S_ISREG(mode) else None
    finally:
        os.close(handle)


def give_metadata(handle: int, metadata: Metadata | None, mode: int) -> None:
    """Set owner, attributes and mode of an open file or directory.

    :raises OSError: an attribute cannot be set; the message names it.
    """
    if metadata is not None:
        owned = _give_owner(handle, metadata.owner)
        for bit, kept in zip(_GIVES_RIGHTS, owned, strict=True):
            if not kept:
                mode &= ~bit  # the bit would grant another user's rights
        _give_attributes(handle, dict(metadata.attributes))
    os.fchmod(handle, mode)


def _give_owner(handle: int, owner: tuple[int, int]) -> tuple[bool, bool]:
    """Set a file's user and group as far as permitted; return which were set."""
    now = os.fstat(handle)
    for at, wanted in enumerate(owner):
        if wanted != (now.st_uid, now.st_gid)[at]:
            # another user's file in a shared directory becomes ours, as in any editor
            with contextlib.suppress(PermissionError):
                os.fchown(handle, *((wanted, -1), (-1, wanted))[at])
    now = os.fstat(handle)
    return now.st_uid == owner[0], now.st_gid == owner[1]


def _give_attributes(handle: int, wanted: dict[str, bytes]) -> None:
    if sys.platform != "linux":
        return
    now = read_attributes(handle)
    changes = {name: wanted.get(name) for name in (*now, *wanted) if now.get(name) != wanted.get(name)}
    for name, value in changes.items():
        try:
            if value is None:  # such as entries of the directory's default list
                os.removexattr(handle, name)
            else:
                os.setxattr(handle, name, value)
        except OSError as error:
            if not name.startswith(_WHERE_PERMITTED):
                why = f"its attribute {name} cannot be kept ({error.strerror})"
                raise OSError(error.errno, why) from error
