"""The part of a file that a model probably meant, for it to copy from: only a hint, never a place to edit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.edits.punctuation import plain_line

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["nearest_lines"]

_SHOWN = 14
_AROUND = 1
_COMMON = 20
"""A line that stands more often than this tells no place."""
_LONGEST = 200
"""Characters of a line that are compared."""
_LEAST_ALIKE = 0.35
_ENOUGH = 0.4
"""Part of the letters of all lines that stand at a place as they are: no other is looked for then."""
_CANDIDATES = 10
_COMPARED = 20_000
"""Lines of the file that are compared by their letters: a hint must not take seconds."""


def nearest_lines(lines: Sequence[str], search: Sequence[str]) -> str:
    """Return the end of a message: which lines are nearest, and they themselves; empty if none are."""
    start = _start([plain_line(line) for line in lines], [plain_line(line) for line in search])
    if start is None:
        return ""
    first = max(0, start - _AROUND)
    shown = lines[first : min(start + len(search) + _AROUND, first + _SHOWN)]
    text = "\n".join(line.removesuffix("\r") for line in shown)
    return f"; the nearest are its lines {first + 1} to {first + len(shown)}:\n{text}"


def _start(texts: list[str], keys: list[str]) -> int | None:
    places: dict[str, list[int]] = {}
    for number, text in enumerate(texts):
        places.setdefault(text, []).append(number)
    votes: dict[int, float] = {}
    for offset, key in enumerate(keys):
        found = places.get(key, []) if key else []
        if len(found) > _COMMON:
            continue
        for number in found:
            votes[number - offset] = votes.get(number - offset, 0) + len(key) / len(found)
    starts = sorted(votes, key=lambda start: (-votes[start], start))[:_CANDIDATES]
    if not starts or votes[starts[0]] < _ENOUGH * sum(map(len, keys)):
        starts += _most_alike(texts[:_COMPARED], keys)
    if not starts:
        return None
    wanted = [_triples(key) for key in keys]
    return max(0, max(starts, key=lambda start: (_alike(texts, wanted, start), -start)))


def _alike(texts: list[str], wanted: list[set[str]], start: int) -> int:
    """Return how many letters in a row all lines share with those at a place; each may be off by one line."""
    there = [_triples(texts[at]) if 0 <= at < len(texts) else set() for at in _around(start, len(wanted))]
    return sum(max(len(one & line) for line in there[at : at + 3]) for at, one in enumerate(wanted))


def _around(start: int, count: int) -> range:
    return range(start - 1, start + count + 1)


def _most_alike(texts: list[str], keys: list[str]) -> list[int]:
    """Return where the longest line would stand by the line that shares most of its letters in a row."""
    offset = max(range(len(keys)), key=lambda index: len(keys[index]), default=0)
    wanted = _triples(keys[offset]) if keys else set()
    if not wanted:
        return []
    best, place = 0.0, -1
    for number, text in enumerate(texts):
        triples = _triples(text)
        alike = 2 * len(wanted & triples) / (len(wanted) + len(triples))
        if alike > best:
            best, place = alike, number
    return [place - offset] if best >= _LEAST_ALIKE else []


def _triples(text: str) -> set[str]:
    short = f" {text[:_LONGEST]} " if text else ""
    return {short[index : index + 3] for index in range(len(short) - 2)}
