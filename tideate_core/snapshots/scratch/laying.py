"""Write given files over a scratch copy, without following links and with unchanged modes."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from tideate_core.errors import OutsideRoot, WorkspaceError
from tideate_core.project import open_directory_fd
from tideate_core.snapshots.entries import NEVER
from tideate_core.workspace import FileImage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import TypeAlias

    Content: TypeAlias = bytes | FileImage | None
    """Bytes of a file that keeps its mode, a whole image, or None for a deletion."""

_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE: Final = 0o7777


def checked_name(name: str) -> tuple[str, ...]:
    """Return the parts of a path below the root.

    :raises OutsideRoot: it leaves the root, or is in `.git` or `.tideate`.
    """
    parts = tuple(name.split("/"))
    for part in parts:
        if part in ("", ".", "..") or "\0" in part or part.casefold() in NEVER:
            raise OutsideRoot(f"{name!r} is not a path that is written in a scratch copy")
    return parts


def lay_file(view: Path, name: str, content: Content) -> None:
    """Write a path of a scratch copy; blocking.

    :param view: root of the scratch copy as this process sees it.
    :raises OutsideRoot: see `checked_name`.
    :raises WorkspaceError: a link or another non-directory is on the path, or it cannot be written.
    """
    lay_parts(view, checked_name(name), content)


def lay_parts(view: Path, parts: Sequence[str], content: Content) -> None:
    """Write a path of a scratch copy, which may be one of tideate's own files; blocking.

    :raises WorkspaceError: see `lay_file`.
    """
    *above, last = parts
    try:
        directory = _open(view, above, make=content is not None)
        if directory is None:
            return
        try:
            _replace(directory, last, content)
        finally:
            os.close(directory)
    except OSError as error:
        name = "/".join(parts)
        raise WorkspaceError(
            f"{name} cannot be laid over the scratch copy: {error.strerror}; nothing of it is in the project"
        ) from error


def _open(view: Path, above: list[str], *, make: bool) -> int | None:
    """Open the directory of a file; None if it is missing and `make` is false."""
    way = open_directory_fd(view, ())
    try:
        for part in above:
            try:
                inner = os.open(part, _DIRECTORY, dir_fd=way)
            except FileNotFoundError:
                if not make:
                    return None
                os.mkdir(part, dir_fd=way)
                inner = os.open(part, _DIRECTORY, dir_fd=way)
            way, outer = inner, way
            os.close(outer)
        return os.open(".", _DIRECTORY, dir_fd=way)
    finally:
        os.close(way)


def _replace(directory: int, name: str, content: Content) -> None:
    found = read_mode(directory, name)
    if found is not None:
        os.unlink(name, dir_fd=directory)
    if isinstance(content, FileImage):
        if content.state.kind == "link":
            os.symlink(os.fsdecode(content.data), name, dir_fd=directory)
        elif content.state.kind == "file":
            _write(directory, name, content.data, content.state.mode)
    elif content is not None:
        _write(directory, name, content, found if found is not None and stat.S_ISREG(found) else None)


def read_mode(directory: int, name: str) -> int | None:
    """Return the mode of a path, or None if it does not exist."""
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None


def _write(directory: int, name: str, content: bytes, mode: int | None) -> None:
    with os.fdopen(os.open(name, _NEW_FILE, 0o666, dir_fd=directory), "wb") as file:
        file.write(content)
        if mode is not None:
            os.fchmod(file.fileno(), mode & _MODE)
