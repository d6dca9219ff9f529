"""Values of JSON columns; large ones are content-addressed files beside the database.

A column holds JSON text, or `@` and the blake3 hash of a file under `objects/` with that text: no JSON text
begins with `@`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import StoreError
from tideate_core.util.atomic_files import fsync_directory, write_atomic
from tideate_core.util.private_files import make_private_directory
from tideate_core.util.regular_files import read_regular

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BIG: Final = 16 * 1024
"""Characters of JSON above which a value becomes a file."""

DEPTH: Final = 200
"""Maximum nesting of lists and objects in a step's result."""

DEEPEST: Final = DEPTH + 300
"""Maximum nesting in any column: responses and memos contain results. Python fails to read much deeper
JSON."""


def _encoder(escape: Callable[[str], str]) -> Callable[[Any], str]:
    """Return a `JSONEncoder.encode` that reuses its C encoder: half the time."""
    make: Any = json.encoder.c_make_encoder  # type: ignore[attr-defined] # CPython's
    refuse = json.JSONEncoder().default
    encode = make(None, refuse, escape, None, ":", ",", False, False, True)
    return lambda value: "".join(encode(value, 0))


_encode = _encoder(json.encoder.encode_basestring)
_encode_ascii = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Packed:
    """A large value to be stored: `content` is saved as a file under `hash`."""

    hash: str
    content: bytes

    @property
    def text(self) -> str:
        return "@" + self.hash


def definition_hash(text: str) -> str:
    """Return the key of a definition's text: its blake3 hash, 64 hexadecimal digits."""
    return _blake3(plain(text).encode())


def pack(value: Any) -> str | Packed:
    """Return the column value of a JSON value.

    :raises StoreError: it is not JSON, or too deeply nested.
    """
    try:
        text = _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"a value cannot be stored: it is not JSON: {error}") from error
    if len(text) <= DEEPEST and text.isascii():  # its depth is at most its length
        return text
    if text.count("[") + text.count("{") > DEEPEST and is_deeper(value, DEEPEST):
        raise StoreError(f"a value cannot be stored: it is nested deeper than {DEEPEST} levels; flatten it")
    if not is_storable(text):
        text = _encode_ascii(value)  # as \udc80: a file's name that is not UTF-8
    if len(text) <= BIG:
        return text
    content = text.encode()
    return Packed(_blake3(content), content)


def column_text(value: Any) -> str:
    """Return the JSON text of a value of any size.

    :raises StoreError: as `pack`.
    """
    packed = pack(value)
    return packed if isinstance(packed, str) else packed.content.decode()


def is_deeper(value: Any, levels: int) -> bool:
    """Return whether a JSON value has more nested levels; true for a value that contains itself."""
    inner = [value]
    for _ in range(levels + 1):
        # without duplicates: a value that contains itself repeatedly would grow without end
        inner = list({id(item): item for item in inner if isinstance(item, dict | list | tuple)}.values())
        if not inner:
            return False
        inner = [child for item in inner for child in (item.values() if isinstance(item, dict) else item)]
    return True


def plain(text: str) -> str:
    """Return a text that SQLite can store: characters without UTF-8 encoding become `?`."""
    return text if is_storable(text) else text.encode("utf-8", "replace").decode()


class Objects:
    """The files under `objects/` of a private directory.

    `save` needs the database's write lock: it keeps a file that is not yet referenced from being
    deleted while its row is written.
    """

    def __init__(self, private: Path) -> None:
        self.private = private
        self._directory = private / "objects"

    def path(self, digest: str) -> Path:
        """Return the location of a stored value; the file may not exist."""
        return self._directory / digest[:2] / digest

    def load(self, text: str) -> Any:
        """Return the value of a JSON column.

        :raises StoreError: its file is missing or damaged, or the text is not JSON.
        """
        try:
            return json.loads(self._content(text[1:]) if text.startswith("@") else text)
        except (ValueError, RecursionError) as error:
            raise StoreError(f"a value in {self._directory.parent} is damaged: {error}") from error

    def save(self, packed: Packed) -> None:
        """Write a value's file, durable when this returns; an existing file is kept.

        :raises OSError: it cannot be written; nothing is left behind.
        """
        path = self.path(packed.hash)
        if path.is_file() and path.stat().st_size == len(packed.content):
            return
        if not path.parent.is_dir():
            make_private_directory(path.parent)
            fsync_directory(self._directory.parent)
            fsync_directory(self._directory)
        write_atomic(path, packed.content, prefix=".new-")

    def _content(self, digest: str) -> bytes:
        path = self.path(digest)
        try:
            content = read_regular(path)
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror}; a value of a run is in it") from error
        if _blake3(content) != digest:
            raise StoreError(
                f"{path} is damaged: its content is not what was written; a value of a run is in it"
            )
        return content


def is_storable(text: str) -> bool:
    """Return whether SQLite can store a text."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _blake3(content: bytes) -> str:
    from blake3 import blake3

    return blake3(content).hexdigest()
