"""Reads files as they are: their bytes as text, line ends and byte order mark included."""

from __future__ import annotations

import asyncio
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tideate_core.errors import NotText, WorkspaceError
from tideate_core.mentions.budget import head

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.workspace import Workspace

__all__ = ["Raw", "read_raw"]


@dataclass(frozen=True, slots=True)
class Raw:
    """A text as it stands on disk, or in a buffer that was not saved."""

    path: str
    """Relative to the root, links followed."""
    text: str
    cut: str = ""
    """In words what is not in the text because the file is too large."""
    unsaved: bool = False


async def read_raw(workspace: Workspace, path: str, limit: int) -> Raw:
    """Read a file of the project, as an editor has it where it has unsaved changes.

    :param limit: bytes; of a larger file its beginning is read.
    :raises OutsideRoot: the path is not one of the project's.
    :raises NotText: it is binary or not UTF-8.
    :raises WorkspaceError: there is no such file, or it cannot be read.
    """
    real = workspace.resolve(path)
    name = workspace.name_of(real)
    buffer = await workspace.unsaved(real)
    if buffer is not None:
        text = head(buffer.text, limit)
        return Raw(name, text, _cut(len(buffer.text), len(text), "characters"), unsaved=True)
    data, size = await asyncio.to_thread(_read, real, name, limit)
    text = _decoded(data, name, whole=len(data) == size)
    return Raw(name, text, _cut(size, len(text.encode()), "bytes"))


def _read(path: Path, name: str, limit: int) -> tuple[bytes, int]:
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise WorkspaceError(
                f"{name} is a directory or no regular file; `@tree:{name}` lists a directory"
            )
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except FileNotFoundError as error:
        raise WorkspaceError(f"{name} does not exist") from error
    except OSError as error:
        raise WorkspaceError(f"{name} cannot be read: {error.strerror}") from error
    # it may have grown since it was looked at
    size = max(found.st_size, len(data))
    return (data, len(data)) if len(data) <= limit else (data[:limit], size)


def _decoded(data: bytes, name: str, *, whole: bool) -> str:
    if b"\0" in data:
        raise NotText(f"{name} is binary (it holds a NUL byte); only UTF-8 text can be given to a model")
    try:
        return data.decode("utf-8") if whole else head_of(data)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NotText(
            f"{name} is not UTF-8 (byte {error.start}, in line {line}); convert it, or name another file"
        ) from error


def head_of(data: bytes) -> str:
    """Decode the beginning of a file, as far as its last line end, else its last whole character."""
    lines = data[: data.rfind(b"\n") + 1]
    if lines:
        return lines.decode("utf-8")
    for missing in range(4):
        try:
            return data[: len(data) - missing].decode("utf-8")
        except UnicodeDecodeError as error:
            if error.start < len(data) - 4:
                raise
    return data.decode("utf-8")


def _cut(total: int, kept: int, unit: str) -> str:
    return f"only the first {kept} of {total} {unit} were read" if kept < total else ""
