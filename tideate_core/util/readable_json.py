"""Streaming conversion of JSON into a list that a person can read as it arrives."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from pydantic_core import from_json

_BEGINNING: Final = re.compile(r"^[ \t]{0,80}\{", re.MULTILINE)
_CUT_BEGINNING: Final = re.compile(r"^[ \t]{0,80}\Z", re.MULTILINE)
_BREAK: Final = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
"""Characters that some terminal treats as a line break."""
_PLAIN_KEY: Final = re.compile(r"\w[\w .()/-]*")
"""A key that cannot be mistaken for an item or for a key with a text."""
_CLOSED: Final = re.compile(r'(?<!\\)"[\s,}\]]*\Z')
"""End of a text in which no string goes on."""
_STEPS: Final = 32
"""The object is read again when it has grown by this part, so that its length costs no square."""
_OF_NUMBERS: Final = "+-.0123456789Ee"
"""Characters after which a number may go on, and be another one."""
_DECODER: Final = json.JSONDecoder()

SEPARATORS: Final = {
    "action": " ", "type": " ", "path": " ", "move_to": " → ", "why": ": ", "description": ": "
}  # fmt: skip
"""Keys with self-explanatory values, and the separators before them."""


class ReadableJson:
    """Converts JSON in a streamed text into a list of keys and texts.

    Text around an object and malformed JSON are passed through. Nulls and empty texts, lists and objects next
    to others are left out. No text or key can imitate a key or an item: continuation lines of a text are
    indented deeper than its key, and odd keys are quoted.
    """

    def __init__(self) -> None:
        self._held = ""
        """Blanks that may begin an object."""
        self._at_line_start = True
        self._is_raw = False
        self._begin([])

    def _begin(self, pieces: list[str]) -> None:
        self._pieces = pieces
        """The object."""
        self._size = sum(map(len, pieces))
        self._next = self._read_to = 0
        self._shown = ""

    def feed(self, piece: str) -> str:
        """Return the readable part of a piece, possibly empty."""
        if self._is_raw:
            return piece
        if not self._pieces:
            return self._feed_outside(self._held + piece)
        self._pieces.append(piece)
        self._size += len(piece)
        return self._read() if self._size >= self._next else ""

    def _feed_outside(self, text: str) -> str:
        start = 0 if self._at_line_start else text.find("\n") + 1 or len(text)
        found = _BEGINNING.search(text, start)
        cut = found or _CUT_BEGINNING.search(text, start)
        shown, self._held = (text[: cut.start()], text[cut.start() :]) if cut else (text, "")
        self._at_line_start = shown.endswith("\n") if shown else self._at_line_start
        if not found:
            return shown
        self._begin([self._held])
        self._held = ""
        return shown + self._read()

    def end(self) -> str:
        """Return the rest; the stream has ended."""
        shown = self._read(ended=True) if self._pieces and not self._is_raw else ""
        if self._pieces and not self._is_raw and not self._shown:
            shown = self._pieces[0]
        return shown + self._held

    def _read(self, *, ended: bool = False) -> str:
        """Parse the object so far; return the new part of its list."""
        text = "".join(self._pieces)
        self._pieces, self._next = [text], self._size + self._size // _STEPS + 1
        try:
            value, end = _read_object(text if ended else text.rstrip(_OF_NUMBERS))
            rows = "\n".join(_rows(value))
        except ValueError:
            self._is_raw = True
            return ("\n" if self._shown else "") + text[self._read_to :]
        if end:
            new = rows[len(self._shown) :] if rows.startswith(self._shown) else f"\n{rows}"
            self._begin([])
            self._at_line_start = True
            return (f"{new}\n" if rows else text[:end]) + self.feed(text[end:])
        if not _CLOSED.search(text):
            rows = rows.removesuffix("`")  # of a path that may go on
        if not rows.startswith(self._shown):
            return ""  # a key stands there twice
        new, self._shown = rows[len(self._shown) :], rows
        self._read_to = self._size if rows else 0
        return new


def _read_object(text: str) -> tuple[dict[str, Any], int]:
    """Return an object and its end, or as much of it as there is and 0.

    :raises ValueError: it is not JSON, or has too many levels or digits.
    """
    text, blanks = text.lstrip(), len(text) - len(text.lstrip())
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return from_json(text, allow_partial="trailing-strings"), 0
    return value, blanks + end


def _rows(value: dict[str, Any] | list[Any], key: str = "", *, is_item: bool = False) -> list[str]:
    """Return the lines of an object or a list.

    :param key: the list's key.
    :param is_item: it is an object in a list: its first values share one line.
    """
    rows: list[str] = []
    on_one_line = is_item
    for name, one in value.items() if isinstance(value, dict) else ((key, one) for one in value):
        if isinstance(one, dict | list):
            lines = _rows(one, name, is_item=isinstance(one, dict) and isinstance(value, list))
        else:
            lines = _lines(one, name)
        if not lines:
            continue
        if isinstance(value, list):
            rows += ["-", *_indented(lines)] if isinstance(one, list) else _headed("- ", lines)
        elif isinstance(one, dict | list):
            on_one_line = False
            inner = is_item or isinstance(one, dict)
            rows += [f"{_words(name)}:", *(_indented(lines) if inner else lines)]
        elif on_one_line and name in SEPARATORS:
            before = [rows.pop(), SEPARATORS[name]] if rows else []
            rows += _headed("".join(before), lines)
        else:
            on_one_line = False
            rows += _headed(f"{_words(name)}: ", lines)
    return rows


def _headed(head: str, lines: list[str]) -> list[str]:
    return [head + lines[0], *_indented(lines[1:])]


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _lines(value: Any, key: str) -> list[str]:
    """Return the lines of a text, a number or a word; none for an empty one."""
    if value is None:
        return []
    if not isinstance(value, str):
        return [json.dumps(value)]
    text = value.lstrip()
    quoted = f"`{text}`" if key in {"files", "path", "move_to"} else text
    return _BREAK.split(quoted) if text else []


def _words(key: str) -> str:
    words = " ".join(key.replace("_", " ").split())
    return words if _PLAIN_KEY.fullmatch(words) else json.dumps(key)
