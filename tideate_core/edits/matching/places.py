"""Exact places of lines in a text, filtered by scope; quotes of the nearest lines for errors."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from tideate_core.edits.indentation import width_of
from tideate_core.edits.matching.preservation import plain_line, plain_lines
from tideate_core.errors import UnusableAnswer

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

_MOST_PLACES = 50
"""Most places among which a scope may still select one."""
_MOST_LINES = 100_000
"""Most lines compared over all places."""
_NAMED = 5
_ADD = "add lines before or after them until only one place fits"
_CLOSERS = ("}", ")", "]", "end", "else", "elif", "except", "finally", "catch", "{")

_SHOWN = 14
_AROUND = 1
_COMMON = 20
"""Occurrences above which a line does not identify a place."""
_LONGEST = 200
"""Characters compared per line."""
_LEAST_ALIKE = 0.35
_ENOUGH = 0.4
"""Share of unchanged letters at a place that ends the search for a better one."""
_CANDIDATES = 10
_COMPARED = 20_000
"""Lines of the file compared by letters; a hint must not take seconds."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Conditions on a place: lines above it, or the end of the file.

    Line numbers do not count: models' numbers are unreliable and would select a wrong place.
    """

    anchors: tuple[str, ...] = ()
    """Lines above the place, outermost first; lines that the file does not have exactly once are ignored."""
    at_end: bool = False

    def allowed(self, starts: Sequence[int], count: int, lines: Sequence[str]) -> list[int]:
        """Return the places, each `count` lines long, within the scope."""
        if not self.anchors and not self.at_end:
            return list(starts)
        first, last = self._block(lines)
        allowed = [start for start in starts if first <= start]
        if len(allowed) > 1:
            allowed = [start for start in allowed if start < last]
        if self.at_end and len(allowed) > 1:
            allowed = [start for start in allowed if not any(line.strip() for line in lines[start + count :])]
        return allowed

    def _block(self, lines: Sequence[str]) -> tuple[int, int]:
        """Return the line range of the innermost unique anchor within the outer ones."""
        keys = plain_lines(lines) if self.anchors else []
        first, last = 0, len(lines)
        for anchor in self.anchors:
            found = [at for at in range(first, last) if keys[at] == plain_line(anchor)]
            if len(found) == 1:
                first, last = found[0], _end_of_block(lines, found[0], last)
        return first, last


def _end_of_block(lines: Sequence[str], head: int, last: int) -> int:
    """Return the line after the block that a line opens, by indentation."""
    width = width_of(lines[head])
    for at in range(head + 1, last):
        text = lines[at].strip()
        if text and width_of(lines[at]) <= width and not text.startswith(_CLOSERS):
            return at
    return last


def only_place(starts: Sequence[int], count: int, bare: Sequence[str], scope: Scope) -> int:
    """Return the single place within the scope.

    :raises UnusableAnswer: no place, or more than one, is within the scope.
    """
    allowed = scope.allowed(starts, count, bare)
    if len(allowed) == 1:
        return allowed[0]
    named = ", ".join(str(start + 1) for start in starts[:_NAMED])
    if not allowed:
        raise UnusableAnswer(f"its lines to search stand at line {named}, which is not where it says")
    raise UnusableAnswer(f"its lines to search stand at {len(starts)} places (lines {named}); {_ADD}")


def starts_of(wanted: Sequence[str], among: Sequence[str]) -> list[int]:
    """Return the places of lines among others.

    :raises UnusableAnswer: there are too many places to compare.
    """
    most = max(2, min(_MOST_PLACES, _MOST_LINES // len(wanted)))
    found = list(islice(places_of(wanted, among), most + 1))
    if len(found) > most:
        raise UnusableAnswer(f"its lines to search stand at more than {most} places; {_ADD}")
    return found


def places_of(wanted: Sequence[Hashable], among: Sequence[Hashable]) -> Iterator[int]:
    """Yield every index of `wanted` in `among`, overlapping ones included (Knuth, Morris, Pratt)."""
    if not wanted:
        return
    borders = _borders(wanted)
    matched = 0
    for index, item in enumerate(among):
        while matched and (matched == len(wanted) or wanted[matched] != item):
            matched = borders[matched - 1]
        if wanted[matched] == item:
            matched += 1
        if matched == len(wanted):
            yield index - matched + 1


def _borders(wanted: Sequence[Hashable]) -> list[int]:
    """Return the length of the longest border (a proper prefix that is also a suffix) of each prefix."""
    borders = [0] * len(wanted)
    matched = 0
    for index in range(1, len(wanted)):
        while matched and wanted[matched] != wanted[index]:
            matched = borders[matched - 1]
        if wanted[matched] == wanted[index]:
            matched += 1
        borders[index] = matched
    return borders


def nearest_lines(lines: Sequence[str], search: Sequence[str]) -> str:
    """Return a message suffix that quotes the nearest lines with their numbers; empty without any."""
    start = _nearest_start(plain_lines(lines), plain_lines(search))
    if start is None:
        return ""
    return f"; the nearest are {_quoted(lines, start, len(search))}"


def quoted_lines(lines: Sequence[str], start: int, count: int) -> str:
    """Return a message suffix that quotes lines of the file and their neighbours."""
    return f"; {_quoted(lines, start, count)}"


def _quoted(lines: Sequence[str], start: int, count: int) -> str:
    first = max(0, start - _AROUND)
    shown = lines[first : min(start + count + _AROUND, first + _SHOWN)]
    text = "\n".join(line.removesuffix("\r") for line in shown)
    return f"its lines {first + 1} to {first + len(shown)}:\n{text}"


def _nearest_start(texts: list[str], keys: list[str]) -> int | None:
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
        starts += _most_alike_start(texts[:_COMPARED], keys)
    if not starts:
        return None
    wanted = [_trigrams(key) for key in keys]
    return max(0, max(starts, key=lambda start: (_shared_letters(texts, wanted, start), -start)))


def _shared_letters(texts: list[str], wanted: list[set[str]], start: int) -> int:
    """Count the trigrams shared with a place; each line may be off by one."""
    around = range(start - 1, start + len(wanted) + 1)
    there = [_trigrams(texts[at]) if 0 <= at < len(texts) else set() for at in around]
    return sum(max(len(one & line) for line in there[at : at + 3]) for at, one in enumerate(wanted))


def _most_alike_start(texts: list[str], keys: list[str]) -> list[int]:
    """Return the place of the line most similar to the longest searched one, if similar enough."""
    offset = max(range(len(keys)), key=lambda index: len(keys[index]), default=0)
    wanted = _trigrams(keys[offset]) if keys else set()
    if not wanted:
        return []
    best, place = 0.0, -1
    for number, text in enumerate(texts):
        triples = _trigrams(text)
        alike = 2 * len(wanted & triples) / (len(wanted) + len(triples))
        if alike > best:
            best, place = alike, number
    return [place - offset] if best >= _LEAST_ALIKE else []


def _trigrams(text: str) -> set[str]:
    short = f" {text[:_LONGEST]} " if text else ""
    return {short[index : index + 3] for index in range(len(short) - 2)}
