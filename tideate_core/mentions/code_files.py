"""Read code files for the symbol index: hashed words and definitions, as JSON rows."""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING, Final

from tideate_core.errors import NotParsed
from tideate_core.mentions.definitions import definitions_in, may_define, word_hashes
from tideate_core.mentions.secrets import hide_lines
from tideate_core.mentions.symbols import LARGEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Any

NOT_PARSED: Final = ("", 1, "")
"""Marker definition of a file that takes too long to parse; no real name is empty."""
MOST_NOT_PARSED: Final = 6
"""Slow files, which take seconds each, after which a call stops reading."""
_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_files(root: Path, names: Sequence[str], wanted: str, most: int) -> Iterator[list[Any]]:
    """Yield each file's name with its words, or with its definitions if a name is wanted; blocking.

    :param most: slow files after which reading stops.
    """
    for name in names:
        row = [name, *(read_definitions(root, name, wanted) if wanted else read_words(root, name))]
        yield row
        most -= row[1] == [NOT_PARSED]
        if most <= 0:
            return


def read_words(root: Path, name: str) -> tuple[str, str]:
    """Return a file's digest and the hashes of its words, in hexadecimal; blocking."""
    data = _read(root, name)
    text = _text_of(data)
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    return digest, word_hashes(text).hex() if text else ""


def read_definitions(root: Path, name: str, wanted: str) -> tuple[list[tuple[str, int, str]] | None]:
    """Return name, line and container of each definition in a file; blocking.

    :param wanted: a name; the result is None if the file does not define it.
    :returns: only `NOT_PARSED` for a file that takes too long to parse.
    """
    text = _text_of(_read(root, name))
    if not may_define(text, name, wanted):
        return (None,)
    try:
        return ([(one.name, one.line, one.container) for one in definitions_in(text, name)],)
    except NotParsed:
        return ([NOT_PARSED],)


def _read(root: Path, name: str) -> bytes:
    """Return a file's bytes; empty if it is missing, not a regular file, or too large to parse."""
    try:
        descriptor = os.open(root / name, _FLAGS)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
            return b""
        return file.read()


def _text_of(data: bytes) -> str:
    """Decode a file and blank the lines with probable secrets."""
    if b"\0" in data:
        return ""
    try:
        text = data.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return ""
    return hide_lines(text, "")
