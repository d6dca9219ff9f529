"""What stands at a path, and replacing it in one step."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tideate_core.errors import EditConflict

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ABSENT", "FileState", "Snapshot", "fsync_directory", "holds", "put", "snapshot", "text_digest"]

_MODE_BITS = 0o7777
_replacing = threading.Lock()
"""Two runs of one host may write the same file: none comes between the other's look and its write."""


@dataclass(frozen=True, slots=True)
class FileState:
    """What stood at a path; two of the same kind and digest hold the same."""

    kind: Literal["absent", "file", "link", "other"]
    digest: str = ""
    """Of a file's bytes, or of where a link points."""
    mode: int = 0
    """Permission bits of a file."""

    def holds_same_as(self, other: FileState) -> bool:
        return (self.kind, self.digest) == (other.kind, other.digest)


ABSENT = FileState("absent")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state with what it takes to bring it back."""

    state: FileState
    data: bytes = b""
    """A file's bytes, or where a link points."""

    @classmethod
    def of_file(cls, data: bytes, mode: int) -> Snapshot:
        return cls(FileState("file", _digest(data), mode), data)

    @classmethod
    def of_link(cls, target: bytes) -> Snapshot:
        return cls(FileState("link", _digest(target)), target)


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=20).hexdigest()


def holds(data: bytes, digest: str) -> bool:
    """Whether a digest is the one of these bytes."""
    return _digest(data) == digest


def text_digest(text: str) -> str:
    """Return what a buffer's text is recognised by; bytes that are no UTF-8 count as they are."""
    return _digest(text.encode("utf-8", "surrogatepass"))


def snapshot(path: Path) -> Snapshot:
    """Read what stands at a path without following it.

    :raises OSError: it stands there and cannot be read.
    """
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return Snapshot(ABSENT)
    if stat.S_ISLNK(found.st_mode):
        target = os.fsencode(path.readlink())
        return Snapshot.of_link(target)
    if stat.S_ISREG(found.st_mode):
        return Snapshot.of_file(path.read_bytes(), found.st_mode & _MODE_BITS)
    return Snapshot(FileState("other"))


def put(path: Path, wanted: Snapshot, *, expected: FileState, temp: Path, new_mode: bool = False) -> None:
    """Make `path` hold `wanted` in one step that others see whole or not at all, and durable.

    The containing directories are made where they are missing.

    :param temp: a path in the same directory that is written first.
    :param new_mode: the file's mode is the one that new files get, not the one of `wanted`.
    :raises EditConflict: something else than `expected` stands there; nothing was written.
    """
    if wanted.state.kind == "absent":
        with _replacing:
            _refuse_changed(path, expected)
            path.unlink(missing_ok=True)
        fsync_directory(path.parent)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temp.unlink(missing_ok=True)
    try:
        if wanted.state.kind == "link":
            temp.symlink_to(os.fsdecode(wanted.data))
        else:
            _write(temp, wanted, like=path, new_mode=new_mode)
        with _replacing:
            _refuse_changed(path, expected)
            temp.replace(path)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
    fsync_directory(path.parent)


def _write(temp: Path, wanted: Snapshot, *, like: Path, new_mode: bool) -> None:
    handle = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666 if new_mode else 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(wanted.data)
        file.flush()
        if not new_mode:
            _keep_owner(handle, like)
            os.fchmod(handle, wanted.state.mode)
        os.fsync(handle)


def _keep_owner(handle: int, like: Path) -> None:
    try:
        owner, ours = like.lstat(), os.fstat(handle)
        if (owner.st_uid, owner.st_gid) != (ours.st_uid, ours.st_gid):
            os.fchown(handle, owner.st_uid, owner.st_gid)
    except (FileNotFoundError, PermissionError):
        return  # a new file, or another's file in a shared directory: it becomes ours, as in any editor


def _refuse_changed(path: Path, expected: FileState) -> None:
    if not snapshot(path).state.holds_same_as(expected):
        raise EditConflict("it changed on disk meanwhile")


def fsync_directory(path: Path) -> None:
    """Make names that were created, replaced or removed in a directory survive a power loss."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
