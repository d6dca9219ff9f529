"""Reads the text of a machine: bounded, without waiting for a writer, and only what is text."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import InvalidDefinition, UnusableFile
from tideate_core.project import read_document

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = ["BOM", "LARGEST_FILE", "read_machine_stream", "read_machine_text"]

LARGEST_FILE: Final = 1024 * 1024
"""Bytes of a machine's text."""
BOM: Final = "\ufeff"
TIDEATE: Final = ".tideate"


def read_machine_text(path: Path, root: Path | None = None) -> str:
    """Return all of a file's text, a byte order mark and `\\r\\n` included.

    No link below a `.tideate/` is followed, whoever named the file.

    :param root: of the project that it came with: no link on the way from there is followed.
    :raises InvalidDefinition: it cannot be used; the message begins after the file's name.
    """
    if root is not None:
        return _of_project(path, root)
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 links have to be seen
    if TIDEATE in absolute.parts[:-1]:
        return _of_project(absolute, Path(*absolute.parts[: absolute.parts.index(TIDEATE)]))
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InvalidDefinition("is no regular file")
            return read_machine_stream(file)
    except OSError as error:
        raise InvalidDefinition(f"cannot be read: {error.strerror}") from error
    except ValueError as error:  # a NUL in the name
        raise InvalidDefinition(f"cannot be read: {error}") from error


def read_machine_stream(stream: BinaryIO) -> str:
    """Return all of a stream's text.

    :raises InvalidDefinition: it cannot be used; the message begins after the stream's name.
    """
    try:
        content = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InvalidDefinition(f"cannot be read: {error.strerror}") from error
    if len(content) > LARGEST_FILE:
        raise InvalidDefinition(f"is larger than {LARGEST_FILE >> 20} MiB; that is no workflow")
    return _text(content)


def _of_project(path: Path, root: Path) -> str:
    try:
        return _text(read_document(root, path.relative_to(root).as_posix(), LARGEST_FILE))
    except UnusableFile as error:
        raise InvalidDefinition(f"was not used: {error.reason}") from error
    except OSError as error:
        raise InvalidDefinition(f"cannot be read: {error.strerror}") from error


def _text(content: bytes) -> str:
    if b"\0" in content:
        raise InvalidDefinition("is binary, not text")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidDefinition(
            f"is not UTF-8 at byte {error.start}, in line {line}; save it as UTF-8"
        ) from error


def _open_at_once(path: str, flags: int) -> int:
    # a pipe under this name would block until somebody writes
    return os.open(path, flags | os.O_NONBLOCK)
