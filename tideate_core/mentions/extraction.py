"""Extract mentions from a text and parse their paths."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

NAME: Final = re.compile(r"@\w+")
"""A mention in a text or in `context.json`."""

BUILT_IN: Final = {
    "@buffer": "the buffer, saved or not",
    "@diagnostics": "the editor's diagnostics of the buffer",
    "@diff": "changes since the last commit, saved files only",
    "@file": "a file: @file:PATH, lines of it: @file:PATH:10-40",
    "@last": "the prompt and the answer of the last run",
    "@run": "an earlier run, with its prompt and its answer: @run:ID",
    "@selection": "the selected lines",
    "@symbol": "the definition of a name: @symbol:NAME, or @symbol:CLASS.NAME",
    "@symbols": "the definitions in the buffer, or in the project; of a file or folder: @symbols:PATH",
    "@tree": "the project's files; of a folder: @tree:PATH",
}
"""Built-in mentions and their descriptions."""

_PATH = (
    r'(?P<mention>@(?P<kind>diff|file|run|symbols?|tree):(?:"(?P<quoted>[^"\n]+)"(?P<behind>:\d+(?:-\d+)?)?'
    r'|(?P<bare>[^\s"`]+)))'
)
_MENTION: Final = re.compile(rf"{_PATH}|(?P<name>@\w+)")
_REFERENCE: Final = re.compile(_PATH)
_RANGE: Final = re.compile(r"(?P<path>.+):(?P<first>[1-9]\d*)(?:-(?P<last>[1-9]\d*))?", re.DOTALL)
_FENCE: Final = re.compile(r"^ {0,3}(?P<ticks>`{3,}|~{3,})(?P<info>[^\n]*)$", re.MULTILINE)
_TICKS: Final = re.compile(r"`+")
_BLANK_LINE: Final = re.compile(r"\n[ \t]*\n")
_CLOSERS: Final = {")": "(", "]": "[", "}": "{", ">": "<"}
_LOCAL_PART: Final = frozenset(".-+%")
_JOINED: Final = frozenset("_\\/@")
_DEFINED_BELOW: Final = re.compile(
    r"[ \t]*\n(?:[ \t]*@[^\n]*\n){0,20}[ \t]*"
    r"(?:(?:async[ \t]+)?def\b|(?:export[ \t]+|abstract[ \t]+)*class\b)"
)


@dataclass(frozen=True, slots=True)
class Reference:
    """A mention with a path: `@file:src/a.py:10-40`."""

    kind: str
    """Including the `@`."""
    path: str
    lines: tuple[int, int] | None = None
    """1-based, both included."""
    whole: str = ""
    """The path including the range, for a file with such a name."""


def extract(text: str, configured: Collection[str] = ()) -> list[str]:
    """Return the distinct mentions in a text, in order.

    A configured name is a mention anywhere except in an address with a domain (`me@host.org`). Other words
    are not
    mentions in code (between fences or backticks), after a backslash, within a word, an address or a URL
    (`user@host`), or as decorators or package names (`@app.route`, `@scope/package`).

    :param configured: names from `context.json`, including the `@`.
    """
    return list(dict.fromkeys(_candidates(text, _code_spans(text), configured)))


def parse_reference(mention: str) -> Reference | None:
    """Parse a mention with a path; None for other mentions."""
    match = _REFERENCE.fullmatch(mention)
    if match is None:
        return None
    path = match["bare"] or match["quoted"] + (match["behind"] or "")
    kind = f"@{match['kind']}"
    ranged = _RANGE.fullmatch(path) if kind == "@file" else None
    if ranged is None:
        return Reference(kind, path)
    first = int(ranged["first"])
    return Reference(kind, ranged["path"], (first, int(ranged["last"] or first)), path)


def _candidates(text: str, code: list[tuple[int, int]], configured: Collection[str]) -> Iterator[str]:
    at = 0
    while match := _MENTION.search(text, at):
        start, at = match.start(), match.end()
        if match["name"] is None:
            bare = match["bare"]
            mention = match["mention"] if bare is None else f"@{match['kind']}:{_without_punctuation(bare)}"
            if mention.endswith(":"):
                at = start + len(mention)
                mention = mention[:-1]
            named = mention in configured
        else:
            mention, named = match["name"], match["name"] in configured
        if named:
            if not _is_address(text, start, start + len(mention)):
                yield mention
        elif not _is_in(code, start) and not _follows_word(text, start) and not _is_decorator(text, match):
            yield mention


def _without_punctuation(path: str) -> str:
    """Remove the punctuation of the surrounding sentence from a path."""
    while path:
        last = path[-1]
        opener = _CLOSERS.get(last)
        if last in ".,;:!?'*" or (opener is not None and path.count(opener) <= path[:-1].count(last)):
            path = path[:-1]
        else:
            break
    return path


def _follows_word(text: str, start: int) -> bool:
    before = text[start - 1] if start else " "
    if before in _LOCAL_PART and start > 1:
        before = text[start - 2]
        return before == "_" or before.isalnum()
    return before in _JOINED or before.isalnum()


def _is_address(text: str, start: int, end: int) -> bool:
    return _follows_word(text, start) and re.match(r"(?:[-\w]*\.)\w", text[end : end + 255]) is not None


def _is_decorator(text: str, match: re.Match[str]) -> bool:
    """Tell whether a word is unmarked code: dotted, called, or above a definition."""
    if match["name"] is None:
        return False
    end = match.end()
    behind = text[end : end + 2]
    if behind[:1] in ("/", ".", "-") and (behind[1:].isalnum() or behind[1:] == "_"):
        return True
    line = text.rfind("\n", 0, match.start()) + 1
    if text[line : match.start()].strip(" \t"):
        return False
    if behind[:1] == "(":
        return True
    return _DEFINED_BELOW.match(text, end) is not None


def _code_spans(text: str) -> list[tuple[int, int]]:
    """Return the half-open spans of code: fenced blocks, and text between backticks."""
    fenced = _fenced_spans(text)
    spans = list(fenced)
    begin = 0
    for start, end in [*fenced, (len(text), len(text))]:
        spans += _inline_spans(text, begin, start)
        begin = end
    return sorted(spans)


def _fenced_spans(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    opening: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        if opening is None:
            if match["ticks"][0] != "`" or "`" not in match["info"]:
                opening = match
        elif match["ticks"].startswith(opening["ticks"]) and not match["info"].strip():
            spans.append((opening.start(), match.end()))
            opening = None
    if opening is not None:
        spans.append((opening.start(), len(text)))
    return spans


def _inline_spans(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans between two equally long runs of backticks in one paragraph."""
    while begin < end:
        blank = _BLANK_LINE.search(text, begin, end)
        until = blank.start() if blank else end
        yield from _pair_runs([(run.start(), run.end()) for run in _TICKS.finditer(text, begin, until)])
        begin = blank.end() if blank else end


def _pair_runs(runs: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    last = {end - start: place for place, (start, end) in enumerate(runs)}
    place = 0
    while place < len(runs):
        start, end = runs[place]
        length = end - start
        other = place + 1
        if last[length] > place:
            while runs[other][1] - runs[other][0] != length:
                other += 1
            yield start, runs[other][1]
            other += 1
        place = other


def _is_in(spans: list[tuple[int, int]], at: int) -> bool:
    place = bisect_right(spans, (at, math.inf)) - 1
    return place >= 0 and at < spans[place][1]
