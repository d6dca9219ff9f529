"""JSON parser that keeps the position of every value and explains mistakes."""

from __future__ import annotations

import re
from json import JSONDecodeError, JSONDecoder
from sys import intern
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tideate_core.workflows.reading import (
    DEEPEST,
    HEAVIEST,
    STANDARD,
    Builder,
    Stop,
    empty_file,
    too_deep,
    too_much,
)

if TYPE_CHECKING:
    from tideate_core.workflows.mistakes import Located, Problem

DECODER: Final = JSONDecoder()
SPACE: Final = re.compile(r"[ \t\r\n]*")
WORD: Final = re.compile(r"[-+.\w]+")
NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
CONSTANTS: Final = {"true": "bool", "false": "bool", "null": "null"}
INSTEAD: Final = {"True": "true", "False": "false", "None": "null", "nil": "null", "undefined": "null"}
SINGLE_QUOTES: Final = ("a text is in single quotes", "JSON's are double")


class _Mark(int):
    """A position, with the attribute of ruamel.yaml's marks."""

    __slots__ = ()

    @property
    def index(self) -> int:
        return self


class _Node(NamedTuple):
    """A value, with the attributes of ruamel.yaml's nodes."""

    id: str
    tag: str
    value: Any
    start_mark: _Mark
    end_mark: _Mark
    anchor: None = None


def read_json(text: str) -> tuple[Located | None, list[Problem]]:
    """Return the value of a text, None if it is invalid JSON, and its mistakes."""
    problems: list[Problem] = []
    try:
        return Builder(text, problems).build(_Composer(text).document()), problems
    except Stop as stop:
        return None, [*problems, stop.problem]


def _stop(at: int, message: str, hint: str = "", length: int = 1) -> Stop:
    return Stop(at, at + length, message, hint)


def _node(kind: str, tag: str, value: Any, start: int, end: int) -> _Node:
    return _Node(kind, intern(STANDARD + tag), value, _Mark(start), _Mark(end))


class _Composer:
    """Composes the nodes of a JSON text; the first syntax error ends it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._values = 0

    def document(self) -> _Node:
        start = self._skip(0)
        if start == len(self._text):
            raise empty_file(start)
        root = self._value(start, 0)
        end = self._skip(root.end_mark.index)
        if end < len(self._text):
            raise _stop(
                end, "more follows after the end of the workflow", "remove it; a file has one workflow"
            )
        return root

    def _skip(self, at: int) -> int:
        match = SPACE.match(self._text, at)
        end = match.end() if match else at
        if self._text.startswith(("//", "/*", "#"), end):
            raise _stop(end, "JSON has no comments", "remove it, or make the file a .yaml one", 2)
        return end

    def _value(self, at: int, depth: int) -> _Node:
        if depth > DEEPEST:
            raise too_deep(at, at + 1)
        self._values += 1
        if self._values > HEAVIEST:
            raise too_much(at, at + 1)
        match self._text[at : at + 1]:
            case '"':
                return self._string(at)
            case "{":
                return self._object(at, depth)
            case "[":
                return self._array(at, depth)
            case "":
                raise _stop(at, "the text ends where a value should be", "", 0)
            case _:
                return self._scalar(at)

    def _string(self, at: int) -> _Node:
        try:
            value, end = DECODER.raw_decode(self._text, at)
        except JSONDecodeError as error:
            if error.msg.startswith("Unterminated"):
                raise _stop(at, 'this text has no closing `"`', 'close it with a `"`') from error
            if "control character" in error.msg:
                hint = r"write a line end as \n and a tab as \t"
                raise _stop(error.pos, "a text continues on the next line", hint) from error
            hint = r"a backslash is written twice, as \\"
            raise _stop(error.pos, "JSON has no such escape", hint) from error
        return _node("scalar", "str", value, at, end)

    def _object(self, at: int, depth: int) -> _Node:
        items: list[tuple[_Node, _Node]] = []
        end = self._skip(at + 1)
        while self._text[end : end + 1] != "}":
            if items:
                end = self._comma(end, "}", at)
            if self._text[end : end + 1] != '"':
                raise self._no_key(end)
            key = self._string(end)
            colon = self._skip(key.end_mark.index)
            if self._text[colon : colon + 1] != ":":
                raise _stop(colon, f"a `:` is missing after the key {key.value!r}")
            value = self._value(self._skip(colon + 1), depth + 1)
            items.append((key, value))
            end = self._skip(value.end_mark.index)
        return _node("mapping", "map", items, at, end + 1)

    def _array(self, at: int, depth: int) -> _Node:
        items: list[_Node] = []
        end = self._skip(at + 1)
        while self._text[end : end + 1] != "]":
            if items:
                end = self._comma(end, "]", at)
            items.append(self._value(end, depth + 1))
            end = self._skip(items[-1].end_mark.index)
        return _node("sequence", "seq", items, at, end + 1)

    def _comma(self, at: int, close: str, opened: int) -> int:
        found = self._text[at : at + 1]
        if not found:
            raise _stop(opened, f"this `{self._text[opened]}` is never closed", f"close it with a `{close}`")
        if found != ",":
            raise _stop(at, f"a `,` or `{close}` is missing before {found!r}")
        following = self._skip(at + 1)
        if self._text[following : following + 1] == close:
            raise _stop(at, f"a `,` before the closing `{close}`", "remove it; in JSON nothing may follow it")
        return following

    def _no_key(self, at: int) -> Stop:
        if word := WORD.match(self._text, at):
            return _stop(at, f"the key {word[0]!r} is not in quotes", f'write "{word[0]}"', len(word[0]))
        if self._text[at : at + 1] == "'":
            return _stop(at, *SINGLE_QUOTES)
        if at >= len(self._text):
            return _stop(at, "the text ends where a key should be", "", 0)
        return _stop(at, f"a key in double quotes should be here, not {self._text[at]!r}")

    def _scalar(self, at: int) -> _Node:
        word = WORD.match(self._text, at)
        if not word:
            if self._text[at] == "'":
                raise _stop(at, *SINGLE_QUOTES)
            raise _stop(at, f"a value should be here, not {self._text[at]!r}")
        kind = CONSTANTS.get(word[0])
        if number := NUMBER.fullmatch(word[0]):
            kind = "float" if number[1] or number[2] else "int"
        if kind is None:
            hint = f"write {INSTEAD[word[0]]}" if word[0] in INSTEAD else "put a text in double quotes"
            raise _stop(at, f"{word[0]!r} is not a JSON value", hint, len(word[0]))
        return _node("scalar", kind, word[0], at, word.end())
