"""Values of JSON columns; the big ones are files beside the database, each content once.

A column holds JSON text, or `@` and the blake3 of a file under `objects/` that holds it: no JSON begins with
`@`.
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

__all__ = [
    "BIG",
    "DEEPEST",
    "DEPTH",
    "Objects",
    "Packed",
    "definition_hash",
    "is_deeper",
    "is_storable",
    "pack",
    "plain",
]

BIG: Final = 16 * 1024
"""Characters of JSON from which a value becomes a file."""

DEPTH: Final = 200
"""Levels of lists and objects that a step's result may have."""

DEEPEST: Final = DEPTH + 300
"""Levels of any column: responses and memos have results in them. Much deeper, Python fails to read it."""


def _encoder(escape: Callable[[str], str]) -> Callable[[Any], str]:
    """Return a `JSONEncoder.encode` that does not make its encoder anew for every value: half the time."""
    make: Any = json.encoder.c_make_encoder  # type: ignore[attr-defined] # CPython's
    refuse = json.JSONEncoder().default
    encode = make(None, refuse, escape, None, ":", ",", False, False, True)
    return lambda value: "".join(encode(value, 0))


_encode = _encoder(json.encoder.encode_basestring)
_encode_ascii = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Packed:
    """A big value on its way into a column: `content` is to be saved under `hash`."""

    hash: str
    content: bytes

    @property
    def text(self) -> str:
        return "@" + self.hash


def definition_hash(text: str) -> str:
    """Return what the store keeps a definition's text under: its blake3, 64 hexadecimal digits."""
    return _blake3(plain(text).encode())


def pack(value: Any) -> str | Packed:
    """Return a JSON value as a column holds it.

    :raises StoreError: it is not JSON.
    """
    try:
        text = _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"a value cannot be kept, it is not JSON: {error}") from error
    if len(text) <= DEEPEST and text.isascii():  # no deeper than it is long
        return text
    if text.count("[") + text.count("{") > DEEPEST and is_deeper(value, DEEPEST):
        raise StoreError(f"a value cannot be kept, it is nested deeper than {DEEPEST} levels; flatten it")
    if not is_storable(text):
        text = _encode_ascii(value)  # as \udc80: a name of a file that is no UTF-8
    if len(text) <= BIG:
        return text
    content = text.encode()
    return Packed(_blake3(content), content)


def is_deeper(value: Any, levels: int) -> bool:
    """Tell whether a JSON value has more levels of lists and objects; of one that contains itself, it has."""
    inner = [value]
    for _ in range(levels + 1):
        # what contains itself many times would grow without end
        inner = list({id(item): item for item in inner if isinstance(item, dict | list | tuple)}.values())
        if not inner:
            return False
        inner = [child for item in inner for child in (item.values() if isinstance(item, dict) else item)]
    return True


def plain(text: str) -> str:
    """Return a text that SQLite can hold: what UTF-8 cannot say becomes `?`."""
    return text if is_storable(text) else text.encode("utf-8", "replace").decode()


class Objects:
    """The files under `objects/` of a private directory.

    `save` and `remove` are called under the database's write lock: a file that nothing names yet is never
    taken away while a row that names it is being written.
    """

    def __init__(self, private: Path) -> None:
        self._directory = private / "objects"

    def path(self, digest: str) -> Path:
        """Return where a content is; it may not exist."""
        return self._directory / digest[:2] / digest

    def load(self, text: str) -> Any:
        """Return the value of a JSON column.

        :raises StoreError: its file is gone or damaged, or the text is not JSON.
        """
        try:
            return json.loads(self._content(text[1:]) if text.startswith("@") else text)
        except (ValueError, RecursionError) as error:
            raise StoreError(f"a value in {self._directory.parent} is damaged: {error}") from error

    def save(self, packed: Packed) -> None:
        """Write a content, durable when it returns; one that is there already is left.

        :raises OSError: it cannot be written; nothing is left of it.
        """
        path = self.path(packed.hash)
        if path.is_file() and path.stat().st_size == len(packed.content):
            return
        if not path.parent.is_dir():
            make_private_directory(path.parent)
            fsync_directory(self._directory.parent)
            fsync_directory(self._directory)
        write_atomic(path, packed.content, prefix=".new-")

    def remove(self, digest: str) -> int:
        """Delete a content that no row names any more; returns its bytes, 0 if it was not there."""
        path = self.path(digest)
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            return 0
        path.unlink(missing_ok=True)
        return size

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
    """Tell whether SQLite can hold a text."""
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
