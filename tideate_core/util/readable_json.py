"""Streaming conversion of JSON into a list that a person can read as it arrives."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

DEPTH: Final = 40
"""Nesting from which JSON is shown unchanged."""

_CODE_UNIT: Final = r"u[0-9a-fA-F]{4}"
_HALF: Final = r"\\u[dD][89abAB][0-9a-fA-F]{2}"
_CUT: Final = r"\\(?:u[0-9a-fA-F]{0,3})?"
_PLAIN: Final = re.compile(r'[^"\\\x00-\x1f]+')
_ESCAPE: Final = re.compile(rf'{_HALF}\\u[dD][c-fC-F][0-9a-fA-F]{{2}}|\\(?:["\\/bfnrt]|{_CODE_UNIT})')
_CUT_ESCAPE: Final = re.compile(rf"(?:{_CUT}|{_HALF}(?:{_CUT})?)\Z")
_SCALAR: Final = re.compile(r"[-+.0-9A-Za-z]+")
_BLANK: Final = re.compile(r"[ \t\r\n]+")
# bounded repetitions, so that an incomplete line start stays short
_BEGINNING: Final = re.compile(
    r"[ \t\r]{0,80}(?P<fence>```(?:json)?[ \t\r]{0,9}\n\s{0,80})?\{", re.IGNORECASE
)
_CUT_BEGINNING: Final = re.compile(r"[ \t\r]{0,80}(?:`{0,2}|```\w{0,4}[ \t\r]{0,9}(?:\n\s{0,80})?)\Z")
_SPACE: Final = re.compile(r"\s+")
_END_OF_FENCE: Final = re.compile(r"```[ \t\r]{0,9}\n")
_CUT_END_OF_FENCE: Final = re.compile(r"(?:`{1,2}|```[ \t\r]{0,9})\Z")
_LINE: Final = re.compile(r"[^\n]*\n?")
_BREAK: Final = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
"""Characters that some terminal treats as a line break."""
_PLAIN_KEY: Final = re.compile(r"\w[\w .()/-]*")
"""A key that cannot be mistaken for an item or for a key with a text."""

SEPARATORS: Final = {
    "action": " ", "type": " ", "path": " ", "move_to": " → ", "why": ": ", "description": ": "
}  # fmt: skip
"""Keys with self-explanatory values, and the separators before them."""


class _Unexpected(Exception):
    """The text is not JSON."""


@dataclass(slots=True)
class _Level:
    """Unclosed object or list."""

    is_list: bool
    indent: int
    """Columns before its content."""
    head: str | None
    """First line, until it is shown; an empty object or list shows none."""
    expects: str
    """Expected tokens: `"` for a key, `v` for a value, or a sign."""
    is_item: bool = False
    """Object in a list: its first values share one line."""
    key: str = ""
    """Key of the next value."""
    on_one_line: bool = False


class ReadableJson:
    """Converts JSON in a streamed text into a list of keys and texts, in linear time.

    Text around an object and malformed JSON are passed through. Nulls and empty texts, lists and objects next
    to others are left out. No text or key can imitate a key or an item: continuation lines of a text are
    indented deeper than its key, and odd keys are quoted.
    """

    def __init__(self) -> None:
        self._left = ""
        self._levels: list[_Level] = []
        self._out: list[str] = []
        self._unshown: list[str] | None = None
        """The raw object until a part of it is shown."""
        self._key: list[str] | None = None
        """Key that is being read."""
        self._in_text = self._text_shown = self._after_return = self._is_raw = False
        self._fenced = self._begins_fence = False
        self._space: list[str] = []
        """Blanks in a fence, before its possible end."""
        self._scalar: list[str] = []
        self._at_line_start = True

    def feed(self, piece: str) -> str:
        """Return the readable part of a piece, possibly empty."""
        if self._is_raw:
            return piece
        text, at = self._left + piece, 0
        try:
            while at < len(text) and (end := self._take(text, at)) > at:
                if self._unshown is not None:
                    self._unshown.append(text[at:end])
                at = end
            self._left = text[at:]
        except _Unexpected:
            self._show_raw(text[at:])
        return self._taken()

    def end(self) -> str:
        """Return the rest; the stream has ended."""
        left, self._left = self._left, ""
        if self._unshown:
            self._out += [*self._unshown, left]
        elif self._levels or not (self._fenced and _END_OF_FENCE.fullmatch(f"{left}\n")):
            self._out += [*self._space, *self._scalar, left]
        return self._taken()

    def _taken(self) -> str:
        shown, self._out = "".join(self._out), []
        return shown

    def _show_raw(self, rest: str) -> None:
        if self._unshown is not None:
            self._out += self._unshown
        else:
            self._out += ["\n", *self._scalar, *(['"', *self._key] if self._key is not None else ())]
        self._out.append(rest)
        self._is_raw, self._left, self._unshown, self._scalar = True, "", None, []

    def _take(self, text: str, at: int) -> int:
        """Consume a token; return its end, or `at` if it is incomplete."""
        if not self._levels:
            return self._take_outside(text, at)
        if self._in_text or self._key is not None:
            return self._take_characters(text, at)
        if found := _SCALAR.match(text, at):
            if not self._scalar:
                self._expect("v")
            self._scalar.append(found[0])
            return found.end()
        self._end_scalar()
        if found := _BLANK.match(text, at):
            return found.end()
        return self._take_sign(text, at)

    def _take_outside(self, text: str, at: int) -> int:
        if self._at_line_start:
            if self._fenced and (found := _SPACE.match(text, at)):
                self._space.append(found[0])
                return found.end()
            if self._fenced and (found := _END_OF_FENCE.match(text, at)):
                self._fenced, self._space = False, []
                return found.end()
            if self._fenced and _CUT_END_OF_FENCE.match(text, at):
                return at
            self._out += self._space
            self._space = []
            if found := _BEGINNING.match(text, at):
                self._begins_fence = found["fence"] is not None
                self._levels.append(_Level(is_list=False, indent=0, head=None, expects='"}'))
                self._unshown = []
                return found.end()
            if _CUT_BEGINNING.match(text, at):
                return at
        found = _LINE.match(text, at)
        assert found is not None  # noqa: S101 it matches everything
        self._at_line_start = found[0].endswith("\n")
        self._out.append(found[0])
        return found.end()

    def _take_characters(self, text: str, at: int) -> int:
        if found := _PLAIN.match(text, at):
            self._add(found[0])
            return found.end()
        if text[at] == '"':
            self._end_string()
            return at + 1
        if _CUT_ESCAPE.match(text, at):
            return at
        if found := _ESCAPE.match(text, at):
            self._add(json.loads(f'"{found[0]}"'))
            return found.end()
        raise _Unexpected

    def _take_sign(self, text: str, at: int) -> int:
        level, sign = self._levels[-1], text[at]
        if sign == '"' and '"' in level.expects:
            self._key = []
        elif sign == '"':
            self._expect("v")
            self._in_text, self._text_shown, self._after_return = True, False, False
        elif sign in "{[":
            self._expect("v")
            self._open(level, is_list=sign == "[")
        elif sign not in level.expects:
            raise _Unexpected
        elif sign in "}]":
            self._close()
        else:
            level.expects = "v" if sign == ":" or level.is_list else '"'
        return at + 1

    def _expect(self, what: str) -> None:
        if what not in self._levels[-1].expects:
            raise _Unexpected

    def _open(self, level: _Level, *, is_list: bool) -> None:
        if len(self._levels) == DEPTH:
            raise _Unexpected
        deeper = level.is_list or level.is_item or not is_list
        head = "-" if level.is_list and is_list else "- " if level.is_list else f"{_words(level.key)}:"
        inner = _Level(is_list, level.indent + 2 * deeper, head, "v]" if is_list else '"}')
        inner.is_item = inner.on_one_line = level.is_list and not is_list
        inner.key = level.key if is_list else ""
        self._levels.append(inner)

    def _close(self) -> None:
        self._levels.pop()
        if self._levels:
            self._after_value()
            return
        self._out += self._unshown + ["}"] if self._unshown is not None else ["\n"]  # noqa: RUF005
        self._unshown, self._at_line_start = None, True

    def _end_string(self) -> None:
        level = self._levels[-1]
        if self._key is not None:
            level.key, level.expects, self._key = "".join(self._key), ":", None
        else:
            self._out.append("`" if self._text_shown and _is_path(level.key) else "")
            self._in_text = False
            self._after_value()

    def _end_scalar(self) -> None:
        if not self._scalar:
            return
        try:
            value = json.loads("".join(self._scalar))
        except ValueError:
            raise _Unexpected from None
        if value is not None:
            self._begin_value(self._levels[-1])
            self._out += self._scalar
        self._scalar = []
        self._after_value()

    def _after_value(self) -> None:
        level = self._levels[-1]
        level.expects = ",]" if level.is_list else ",}"

    def _add(self, text: str) -> None:
        """Add characters to a key or a text."""
        if self._key is not None:
            self._key.append(text)
            return
        if not self._text_shown:
            text = text.lstrip()  # a key without a text has an object or a list below it
            if not text:
                return
            self._text_shown = True
            self._begin_value(self._levels[-1])
            self._out.append("`" if _is_path(self._levels[-1].key) else "")
        self._add_shown(text)

    def _add_shown(self, text: str) -> None:
        if self._after_return and text.startswith("\n"):  # each escape arrives separately
            text = text[1:]
        self._after_return = text == "\r"
        self._out.append(_BREAK.sub("\n" + " " * (self._levels[-1].indent + 2), text))

    def _begin_value(self, level: _Level) -> None:
        """Write the pending heads and the value's own key."""
        marked = False  # the line has only an item's mark
        for above, inner in pairwise(self._levels):
            if inner.head is not None:
                if not marked:
                    self._new_line(above.indent)
                self._out.append(inner.head)
                above.on_one_line, inner.head, marked = False, None, inner.is_item
        separator = SEPARATORS.get(level.key) if level.on_one_line else None
        if not marked and (level.is_list or separator is None):
            self._new_line(level.indent)
        if level.is_list:
            self._out.append("- ")
        elif separator is None:
            level.on_one_line = False
            self._out.append(f"{_words(level.key)}: ")
        elif not marked:
            self._out.append(separator)

    def _new_line(self, indent: int) -> None:
        if self._unshown is not None:
            self._fenced = self._fenced or self._begins_fence
        self._out.append(("\n" if self._unshown is None else "") + " " * indent)
        self._unshown = None


def _is_path(key: str) -> bool:
    return key in {"files", "path", "move_to"}


def _words(key: str) -> str:
    words = " ".join(key.replace("_", " ").split())
    return words if _PLAIN_KEY.fullmatch(words) else json.dumps(key)
