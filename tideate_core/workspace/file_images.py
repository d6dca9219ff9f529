"""File images: kind, mode and content of a path; read without following links, written atomically."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import stat
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tideate_core.errors import EditConflict
from tideate_core.project import open_directory, open_directory_fd
from tideate_core.util.file_metadata import give_metadata, read_metadata, replaced_metadata

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.util.file_metadata import Metadata


_MODE_BITS = 0o7777
_TEMPORARY = re.compile(r"\.tideate-[0-9a-f]{16}\.tmp")
_replacing = threading.Lock()
"""Serializes checks and writes, so that two runs of one host cannot overwrite each other."""


@dataclass(frozen=True, slots=True)
class FileState:
    """State of a path; equal kind and digest mean equal content."""

    kind: Literal["absent", "file", "link", "directory", "other"]
    digest: str = ""
    """Of a file's bytes or a link's target."""
    mode: int = 0
    """Permission bits of a file."""

    def holds_same_as(self, other: FileState) -> bool:
        return (self.kind, self.digest) == (other.kind, other.digest)


ABSENT = FileState("absent")


@dataclass(frozen=True, slots=True)
class FileImage:
    """State of a path and the bytes to restore it."""

    state: FileState
    data: bytes = b""
    """Bytes of a file or target of a link."""
    metadata: Metadata | None = field(default=None, compare=False)
    """For a path without metadata of its own; a replaced file passes its own on."""

    @classmethod
    def of_file(cls, data: bytes, mode: int, metadata: Metadata | None = None) -> FileImage:
        return cls(FileState("file", _digest(data), mode), data, metadata)

    @classmethod
    def of_link(cls, target: bytes) -> FileImage:
        return cls(FileState("link", _digest(target)), target)


def file_or_link(image: FileImage) -> FileImage:
    """Return the image, or an absent one for a directory."""
    return FileImage(ABSENT) if image.state.kind == "directory" else image


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=20).hexdigest()


def holds(data: bytes, digest: str) -> bool:
    """Return whether the data has this digest."""
    return _digest(data) == digest


def temporary_beside(path: Path) -> Path:
    """Return an unused name in the same directory, for a file that is being written."""
    return path.with_name(f".tideate-{secrets.token_hex(8)}.tmp")


def is_temporary(name: str) -> bool:
    """Return whether a name belongs to an unfinished write, maybe of a killed process."""
    return name.startswith(".tideate-") and _TEMPORARY.fullmatch(name) is not None


def text_digest(text: str) -> str:
    """Return the digest of a buffer's text, including characters that are not valid UTF-8."""
    return _digest(text.encode("utf-8", "surrogatepass"))


def read_image(path: Path | str, directory: int | None = None, largest: int | None = None) -> FileImage:
    """Read the image of a path without following its last component.

    :param directory: descriptor that the path is relative to.
    :param largest: bytes of a file.
    :raises OSError: the path exists and cannot be read, or has more bytes.
    """
    try:
        found = os.stat(path, dir_fd=directory, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return FileImage(ABSENT)
    if stat.S_ISLNK(found.st_mode):
        return FileImage.of_link(os.fsencode(os.readlink(path, dir_fd=directory)))
    if stat.S_ISREG(found.st_mode):
        # a running program may have put a pipe in its place
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return FileImage(FileState("other"))
            data = file.read() if largest is None else file.read(largest + 1)
            if largest is not None and len(data) > largest:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
            return FileImage.of_file(data, found.st_mode & _MODE_BITS, read_metadata(handle))
    return FileImage(FileState("directory" if stat.S_ISDIR(found.st_mode) else "other"))


def read_image_nofollow(path: Path, largest: int | None = None) -> FileImage:
    """Read the image of a resolved path, refusing links placed on the path meanwhile.

    :param largest: bytes of a file.
    :raises OSError: the path exists and cannot be read, or has more bytes.
    """
    try:
        way = open_directory_fd(path.anchor, path.parts[1:-1])
    except (FileNotFoundError, NotADirectoryError):
        return FileImage(ABSENT)
    try:
        return read_image(path.name, way, largest)
    finally:
        os.close(way)


def write_image(
    path: Path, wanted: FileImage, *, expected: FileState, temp: Path, new_mode: bool = False
) -> None:
    """Write an image to a path, atomically and durably.

    Missing directories are created. A link placed among them since the path was resolved is not followed.

    :param path: resolved, except for its last component.
    :param temp: path in the same directory that is written first.
    :param new_mode: use the mode of new files; only the executable bits of `wanted` count.
    :raises EditConflict: the path does not hold `expected`; nothing was written.
    :raises OSError: it cannot be written, or a link is on the path.
    """
    goes = wanted.state.kind == "absent"
    with open_directory(path.parent, make=not goes) as directory:
        if goes:
            _remove(path.name, directory, expected)
        else:
            _replace(path.name, temp.name, directory, wanted, expected, new_mode=new_mode)
        os.fsync(directory)


def _remove(name: str, directory: int, expected: FileState) -> None:
    with _replacing:
        _refuse_changed(name, directory, expected)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=directory)


def _replace(
    name: str, temp: str, directory: int, wanted: FileImage, expected: FileState, *, new_mode: bool
) -> None:
    _discard(temp, directory)
    try:
        if wanted.state.kind == "link":
            os.symlink(os.fsdecode(wanted.data), temp, dir_fd=directory)
        else:
            _write(temp, directory, wanted, like=name, new_mode=new_mode)
        with _replacing:
            _refuse_changed(name, directory, expected)
            os.replace(temp, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        _discard(temp, directory)
        raise


def _discard(name: str, directory: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=directory)


def _write(temp: str, directory: int, wanted: FileImage, *, like: str, new_mode: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    replaced = replaced_metadata(like, directory)
    metadata = replaced[0] if replaced else wanted.metadata
    handle = os.open(temp, flags, 0o666 | wanted.state.mode & 0o111 if new_mode else 0o600, dir_fd=directory)
    with os.fdopen(handle, "wb") as file:
        file.write(wanted.data)
        file.flush()
        if not new_mode:
            give_metadata(handle, metadata, wanted.state.mode)
        os.fsync(handle)


def _refuse_changed(name: str, directory: int, expected: FileState) -> None:
    if not read_image(name, directory).state.holds_same_as(expected):
        raise EditConflict("it changed on disk meanwhile")


def set_mode(path: Path, mode: int) -> None:
    """Set the permissions of a file or directory, following no link.

    :raises OSError: the path does not exist, or the mode cannot be set.
    """
    with open_directory(path.parent) as directory:
        found = os.stat(path.name, dir_fd=directory, follow_symlinks=False)
        if not stat.S_ISLNK(found.st_mode):
            os.chmod(path.name, mode, dir_fd=directory)


def remove_directory(path: Path) -> None:
    """Remove an empty directory, following no link on the path.

    :raises OSError: it is missing, not empty, or cannot be removed.
    """
    with open_directory(path.parent) as above:
        os.rmdir(path.name, dir_fd=above)
        os.fsync(above)
