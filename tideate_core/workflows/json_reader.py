"""JSON parser that keeps the position of every value and explains mistakes."""

from __future__ import annotations

import re
from json import JSONDecodeError, JSONDecoder
from typing import Any, Final

from tideate_core.workflows.mistakes import Located, Problem

__all__ = ["DEEPEST", "read_json", "text_problem"]

DEEPEST: Final = 60
"""Maximum nesting of lists and mappings in a definition."""
LARGEST_INTEGER: Final = 2**63 - 1

DECODER: Final = JSONDecoder()
SPACE: Final = re.compile(r"[ \t\r\n]*")
WORD: Final = re.compile(r"[-+.\w]+")
NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
CONSTANTS: Final = {"true": True, "false": False, "null": None}
INSTEAD: Final = {"True": "true", "False": "false", "None": "null", "nil": "null", "undefined": "null"}


class _Stop(Exception):
    """A syntax error; the first one ends the reading."""

    def __init__(self, start: int, message: str, hint: str = "", length: int = 1) -> None:
        super().__init__(message)
        self.problem = Problem(start, start + length, message, hint)


def read_json(text: str) -> tuple[Located | None, list[Problem]]:
    """Return the value of a text, None if it is invalid JSON, and its mistakes."""
    reader = _Reader(text)
    try:
        return reader.document(), reader.problems
    except _Stop as stop:
        return None, [*reader.problems, stop.problem]


def text_problem(text: str) -> str:
    """Return why a text cannot be stored (half of a surrogate pair), empty if it can."""
    if text.isascii():
        return ""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"the text has half a character, \\u{ord(text[error.start]):04x}, without its other half"
    return ""


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self.problems: list[Problem] = []

    def document(self) -> Located:
        start = self._skip(0)
        if start == len(self._text):
            raise _Stop(start, "the file is empty", "a workflow has at least one step, in `steps`", 0)
        root = self._value(start, 0)
        end = self._skip(root.end)
        if end < len(self._text):
            raise _Stop(
                end, "more follows after the end of the workflow", "remove it; a file has one workflow"
            )
        return root

    def _skip(self, at: int) -> int:
        match = SPACE.match(self._text, at)
        end = match.end() if match else at
        if self._text.startswith(("//", "/*", "#"), end):
            raise _Stop(end, "JSON has no comments", "remove it, or make the file a .yaml one", 2)
        return end

    def _value(self, at: int, depth: int) -> Located:
        if depth > DEEPEST:
            raise _Stop(at, f"lists and mappings are more than {DEEPEST} levels deep", "keep them flatter")
        match self._text[at : at + 1]:
            case '"':
                value, end = self._string(at)
                return Located(value, at, end)
            case "{":
                return self._object(at, depth)
            case "[":
                return self._array(at, depth)
            case "":
                raise _Stop(at, "the text ends where a value should be", "", 0)
            case _:
                return self._scalar(at)

    def _string(self, at: int) -> tuple[str, int]:
        try:
            value, end = DECODER.raw_decode(self._text, at)
            return self._whole(value, at, end), end
        except JSONDecodeError as error:
            if error.msg.startswith("Unterminated"):
                raise _Stop(at, 'this text has no closing `"`', 'close it with a `"`') from error
            if "control character" in error.msg:
                hint = r"write a line end as \n and a tab as \t"
                raise _Stop(error.pos, "a text goes over the end of its line", hint) from error
            hint = r"a backslash is written twice, as \\"
            raise _Stop(error.pos, "this escape is none of JSON's", hint) from error

    def _whole(self, value: str, at: int, end: int) -> str:
        if problem := text_problem(value):
            self.problems.append(Problem(at, end, problem, "write both halves"))
            return value.encode(errors="replace").decode()
        return value

    def _object(self, at: int, depth: int) -> Located:
        items: dict[str, Located] = {}
        keys: dict[str, tuple[int, int]] = {}
        end = self._skip(at + 1)
        while self._text[end : end + 1] != "}":
            if items:
                end = self._comma(end, "}", at)
            start = end
            if self._text[start : start + 1] != '"':
                raise self._no_key(start)
            key, end = self._string(start)
            if key in items:
                message = f"the key {key!r} is given twice"
                self.problems.append(Problem(start, end, message, "keep one of them"))
            colon = self._skip(end)
            if self._text[colon : colon + 1] != ":":
                raise _Stop(colon, f"a `:` is missing after the key {key!r}", "")
            value = self._value(self._skip(colon + 1), depth + 1)
            items[key], keys[key] = value, (start, end)
            end = self._skip(value.end)
        plain = {key: item.value for key, item in items.items()}
        return Located(plain, at, end + 1, items, keys)

    def _array(self, at: int, depth: int) -> Located:
        items: list[Located] = []
        end = self._skip(at + 1)
        while self._text[end : end + 1] != "]":
            if items:
                end = self._comma(end, "]", at)
            items.append(self._value(end, depth + 1))
            end = self._skip(items[-1].end)
        return Located([item.value for item in items], at, end + 1, items)

    def _comma(self, at: int, close: str, opened: int) -> int:
        found = self._text[at : at + 1]
        if not found:
            raise _Stop(opened, f"this `{self._text[opened]}` is never closed", f"close it with a `{close}`")
        if found != ",":
            raise _Stop(at, f"a `,` or `{close}` is missing before {found!r}", "")
        following = self._skip(at + 1)
        if self._text[following : following + 1] == close:
            raise _Stop(at, f"a `,` before the closing `{close}`", "remove it; in JSON nothing may follow it")
        return following

    def _no_key(self, at: int) -> _Stop:
        word = WORD.match(self._text, at)
        if word:
            return _Stop(at, f"the key {word[0]!r} is not in quotes", f'write "{word[0]}"', len(word[0]))
        if self._text[at : at + 1] == "'":
            return _Stop(at, "a text is in single quotes", "JSON's are double")
        if at >= len(self._text):
            return _Stop(at, "the text ends where a key should be", "", 0)
        return _Stop(at, f"a key in double quotes should be here, not {self._text[at]!r}", "")

    def _scalar(self, at: int) -> Located:
        word = WORD.match(self._text, at)
        if not word:
            if self._text[at] == "'":
                raise _Stop(at, "a text is in single quotes", "JSON's are double")
            raise _Stop(at, f"a value should be here, not {self._text[at]!r}", "")
        if word[0] in CONSTANTS:
            return Located(CONSTANTS[word[0]], at, word.end())
        if number := NUMBER.fullmatch(word[0]):
            return Located(self._number(number, at), at, word.end())
        hint = f"write {INSTEAD[word[0]]}" if word[0] in INSTEAD else "a text stands in double quotes"
        raise _Stop(at, f"{word[0]!r} is not a value of JSON", hint, len(word[0]))

    def _number(self, number: re.Match[str], at: int) -> Any:
        if number[1] or number[2]:
            real = float(number[0])
            if abs(real) != float("inf"):
                return real
        # longer numbers are never converted: that takes long
        elif len(number[0]) < 25 and abs(whole := int(number[0])) <= LARGEST_INTEGER:
            return whole
        self.problems.append(Problem(at, at + len(number[0]), "the number is too large", "put it in quotes"))
        return 0
