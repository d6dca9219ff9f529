"""JSON parser that keeps the position of every value and explains mistakes.

Python's parser finds the first mistake. A valid text is read again, token by token, for the positions.
"""

from __future__ import annotations

import json
import re
from sys import intern
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tideate_core.workflows.mistakes import Problem
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
    from collections.abc import Iterator

    from tideate_core.workflows.mistakes import Located

TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[^\s,:"\[\]{}]++|[\[\]{}]')
NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
CONSTANTS: Final = {"true": "bool", "false": "bool", "null": "null"}
TABLE: Final[tuple[tuple[str, str, str, str], ...]] = (
    ("", r"//|/\*|#", "JSON has no comments", "remove it, or make the file a .yaml one"),
    ("Extra data", "", "more follows after the end of the workflow", "remove it; a file has one workflow"),
    ("Unterminated", "", 'this text has no closing `"`', 'close it with a `"`'),
    ("Invalid control", "", "a text continues on the next line", r"write a line end as \n and a tab as \t"),
    ("Invalid", "", "JSON has no such escape", r"a backslash is written twice, as \\"),
    ("", "'", "a text is in single quotes", "JSON's are double"),
    ("Expecting", r"\Z", "the text ends too early", "close all brackets"),
    ("Expecting ','", "", "a `,` or a closing bracket is missing before {0!r}", ""),
    ("Expecting ':'", "", "a `:` is missing after this key", ""),
    ("Expecting property", r"[-+.\w]+", "the key {0!r} is not in quotes", 'write "{0}"'),
    ("", r"[\]}]", "{0!r} should not be here", "remove the `,` before it"),
    ("", r"[-+.\w]+", "{0!r} is not a JSON value", "put a text in double quotes"),
    ("", "", "{0!r} should not be here", ""),
)
"""Beginnings of the messages of Python's parser, patterns of the text there; our message and hint. The first
match counts."""


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
        if not text.strip():
            raise empty_file(len(text))
        if text.count(",") > HEAVIEST:
            raise too_much(0, 1)
        json.loads(text, parse_int=str, parse_float=str)
        tokens = TOKEN.finditer(text)
        return Builder(text, problems).build(_node(next(tokens), tokens, 0)), problems
    except Stop as stop:
        return None, [*problems, stop.problem]
    except json.JSONDecodeError as error:
        return None, [_explained(error)]
    except RecursionError:
        return None, [too_deep(0, 1).problem]


def _node(token: re.Match[str], tokens: Iterator[re.Match[str]], depth: int) -> _Node:
    """Return the value that begins with a token of a valid text."""
    start, word = token.span()[0], token[0]
    if depth > DEEPEST:
        raise too_deep(start, start + 1)
    kind, tag = "scalar", "str"
    value: Any = word
    if word == "[":
        kind, tag, value = "sequence", "seq", []
        while (token := next(tokens))[0] != "]":
            value.append(_node(token, tokens, depth + 1))
    elif word == "{":
        kind, tag, value = "mapping", "map", []
        while (token := next(tokens))[0] != "}":
            value.append((_node(token, tokens, depth + 1), _node(next(tokens), tokens, depth + 1)))
    elif word[0] == '"':
        value = json.loads(word)
    elif number := NUMBER.fullmatch(word):
        tag = "float" if number[1] or number[2] else "int"
    elif word in CONSTANTS:
        tag = CONSTANTS[word]
    else:  # `NaN`, which Python reads
        raise Stop(start, token.end(), f"{word!r} is not a JSON value", "put a text in double quotes")
    return _Node(kind, intern(STANDARD + tag), value, _Mark(start), _Mark(token.end()))


def _explained(error: json.JSONDecodeError) -> Problem:
    at = error.pos
    for beginning, pattern, message, hint in TABLE:
        match = re.compile(pattern).match(error.doc, at)
        if match and error.msg.startswith(beginning):
            word = match[0] or error.doc[at : at + 1]
            return Problem(at, at + len(word), message.format(word), hint.format(word))
    raise error  # the last row matches everything
