"""Atomic file writes that survive a crash or a power loss."""

from __future__ import annotations

import os
import secrets
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.util.file_metadata import give_metadata, replaced_metadata
from tideate_core.util.private_files import make_private_directory, open_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

DRAFT_SUFFIX = ".new"
"""Suffix of an unfinished file of `atomic_writer`."""
_DRAFT = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_atomic(
    path: Path,
    content: bytes,
    *,
    prefix: str | None = None,
) -> None:
    """Write a private file atomically; concurrent processes are safe.

    Missing parent directories are created as private ones.

    :param prefix: of the temporary name.
    :raises OSError: it cannot be written; the file is unchanged.
    """
    make_private_directory(path.parent)
    if prefix is None:
        prefix = f".{path.name[:100]}-"
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=prefix)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o600)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
    fsync_directory(path.parent)


def write_atomic_at(
    directory: int,
    name: str,
    content: bytes,
    *,
    mode: int = 0o600,
    replace: bool = True,
    passes_on: bool = False,
    check: Callable[[], None] | None = None,
) -> None:
    """Write a file in an open directory atomically, following no link.

    :param directory: its descriptor.
    :param mode: of the file, reduced by the umask.
    :param replace: False keeps an existing file.
    :param passes_on: keep the owner, mode, access control list and attributes of a replaced file.
    :param check: called just before the replacement; an exception leaves the file unchanged.
    :raises FileExistsError: the file exists and is kept.
    :raises OSError: it cannot be written; the file is unchanged.
    """
    draft = f".tideate-{secrets.token_hex(8)}.tmp"
    replaced = replaced_metadata(name, directory) if passes_on else None
    try:
        with os.fdopen(os.open(draft, _DRAFT, 0o600 if replaced else mode, dir_fd=directory), "wb") as file:
            file.write(content)
            file.flush()
            if replaced:
                give_metadata(file.fileno(), *replaced)
            os.fsync(file.fileno())
        if check is not None:
            check()
        if replace:
            os.replace(draft, name, src_dir_fd=directory, dst_dir_fd=directory)
        else:
            os.link(draft, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=directory)
    os.fsync(directory)


@contextmanager
def atomic_writer(path: Path, *, to_disk: bool = True) -> Iterator[BinaryIO]:
    """Yield a file to write, for one process at a time; a normal exit gives it its name.

    :param to_disk: False skips fsync: a power loss may truncate the file.
    """
    temp = path.with_name(path.name + DRAFT_SUFFIX)
    try:
        with os.fdopen(create_draft(temp), "wb") as file:
            yield file
            commit_draft(file, path, to_disk=to_disk)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise


def commit_draft(file: BinaryIO, path: Path, *, to_disk: bool = True) -> None:
    """Rename a finished draft to its final path."""
    file.flush()
    if to_disk:
        os.fsync(file.fileno())
    path.with_name(path.name + DRAFT_SUFFIX).replace(path)
    if to_disk:
        fsync_directory(path.parent)


def create_draft(path: Path) -> int:
    """Create or truncate a private draft and return its descriptor."""
    return open_private(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)


def fsync_file(path: Path) -> None:
    """Make a file's content survive a power loss; links are not followed."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def fsync_directory(path: Path) -> None:
    """Make created, replaced or removed names in a directory survive a power loss."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
