"""Finding the one place that a search/replace block means, and changing it."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from tideate_core.errors import UnusableAnswer
from tideate_core.workspace.blocks import parse_blocks
from tideate_core.workspace.indent import first_indent, in_style_of, indent_of, shift, strip_edges
from tideate_core.workspace.placeholders import find_placeholder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Match", "Replaced", "Step", "apply_blocks", "find_lines"]

Step = Literal["exact", "trailing blanks", "indentation", "punctuation"]

_PUNCTUATION = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u202f", " "),
        "\u2026": "...",
        "\u200b": "",
        "\ufeff": "",
    }
)
_NEAREST_SHOWN = 12
_NEAREST_SEARCHED = 5_000
"""Lines of the file that are compared for the nearest ones: only a hint, and it must not take seconds."""


@dataclass(frozen=True, slots=True)
class Match:
    """Where searched lines stand: lines `start` to `end` (0-based, half open), and how they were found."""

    start: int
    end: int
    step: Step
    new: tuple[str, ...]
    """What is to stand there, indented as the place is."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """A text after all blocks, and for each block the step that found its place."""

    lines: list[str]
    steps: list[Step]


@dataclass(frozen=True, slots=True)
class _Wanted:
    search: list[str]
    replace: list[str]


def apply_blocks(lines: Sequence[str], answer: str, *, language: str = "") -> Replaced:
    """Apply all search/replace blocks of an answer to a text, or none of them.

    Every block is resolved against the text as it is, so that their order does not matter.

    :raises UnusableAnswer: a block is not complete, is found nowhere or at several places, overlaps
        another one, or leaves lines out.
    """
    crlf = bool(lines) and all(line.endswith("\r") for line in lines)
    plain = [line.removesuffix("\r") for line in lines] if crlf else list(lines)
    matches: list[Match] = []
    for number, block in enumerate(parse_blocks(answer), 1):
        match = _resolve(plain, block.readings, number)
        left_out = find_placeholder(match.new, plain, language)
        if left_out is not None:
            raise UnusableAnswer(
                f"block {number} has the line {match.new[left_out].strip()!r}, which stands for lines that "
                "you left out; write all of them"
            )
        matches.append(match)
    _refuse_overlaps(matches)
    result = list(plain)
    for match in sorted(matches, key=lambda match: match.start, reverse=True):
        result[match.start : match.end] = match.new
    return Replaced([f"{line}\r" for line in result] if crlf else result, [match.step for match in matches])


def find_lines(lines: Sequence[str], search: Sequence[str], replace: Sequence[str] = ()) -> Match:
    """Find the only place of `search`: exactly, else without trailing blanks, else indented otherwise
    (uniformly), else with other Unicode punctuation. Nothing that is merely similar is found.

    :raises UnusableAnswer: there is no such place, or more than one; the message shows the nearest lines.
    """
    wanted = _Wanted(list(search), list(replace))
    if not any(line.strip() for line in search):
        return _whole_of_blank(lines, wanted)
    for step, find in _STEPS.items():
        found = find(lines, wanted)
        if len(found) > 1:
            places = ", ".join(str(start + 1) for start, _, _ in found[:5])
            raise UnusableAnswer(
                f"its lines to search stand at {len(found)} places (lines {places}); "
                "add lines before or after them until only one place fits"
            )
        if found:
            start, end, new = found[0]
            return Match(start, end, step, tuple(new))
    raise UnusableAnswer(f"its lines to search are not in the file{_nearest(lines, wanted.search)}")


def _resolve(lines: list[str], readings: list[tuple[list[str], list[str]]], number: int) -> Match:
    found: list[tuple[Match, bool]] = []
    reasons: list[str] = []
    for place, (search, replace) in enumerate(readings):
        try:
            # the text's own such line stands in the old lines and again in the new ones: the middle divides
            found.append((find_lines(lines, search, replace), place * 2 + 1 == len(readings)))
        except UnusableAnswer as error:
            reasons.append(str(error))
    likely = found if len(found) == 1 else [(match, middle) for match, middle in found if middle]
    if likely:
        return likely[0][0]
    if found:
        raise UnusableAnswer(f"block {number} has several ======= lines; search fewer lines, without them")
    raise UnusableAnswer(f"block {number}: {reasons[0]}")


def _refuse_overlaps(matches: list[Match]) -> None:
    order = sorted(range(len(matches)), key=lambda index: (matches[index].start, matches[index].end))
    for one, other in pairwise(order):
        if matches[one].end > matches[other].start:
            raise UnusableAnswer(
                f"blocks {min(one, other) + 1} and {max(one, other) + 1} change the same lines; "
                "make one of them"
            )


_Found = list[tuple[int, int, list[str]]]


def _exact(lines: Sequence[str], wanted: _Wanted) -> _Found:
    return _at(lines, wanted, wanted, str)


def _trailing(lines: Sequence[str], wanted: _Wanted) -> _Found:
    return _at(lines, wanted, _without_edges(wanted), str.rstrip)


def _indented(lines: Sequence[str], wanted: _Wanted) -> _Found:
    return _at(lines, wanted, _without_edges(wanted), str.strip)


def _punctuated(lines: Sequence[str], wanted: _Wanted) -> _Found:
    return _at(lines, wanted, _without_edges(wanted), lambda line: line.translate(_PUNCTUATION).strip())


_STEPS: dict[Step, Callable[[Sequence[str], _Wanted], _Found]] = {
    "exact": _exact,
    "trailing blanks": _trailing,
    "indentation": _indented,
    "punctuation": _punctuated,
}


def _at(lines: Sequence[str], given: _Wanted, wanted: _Wanted, plain: Callable[[str], str]) -> _Found:
    """Return the places where the lines are the same under `plain`, and differ uniformly in indentation."""
    keys = [plain(line) for line in wanted.search]
    texts = [plain(line) for line in lines]
    count = len(keys)
    found: _Found = []
    for start in range(len(texts) - count + 1):
        if texts[start] != keys[0] or texts[start : start + count] != keys:
            continue
        there = list(lines[start : start + count])
        new = _placed(there, wanted, plain)
        if new is not None:
            found.append((start, start + count, new))
    return found


def _placed(there: list[str], wanted: _Wanted, plain: Callable[[str], str]) -> list[str] | None:
    """Return the new lines for a place; None where its indentation does not differ uniformly.

    Lines that the block only repeats stay as the file has them.
    """
    search, replace = wanted.search, wanted.replace
    moved = _moved(there, search, replace)
    if moved is None:
        return None
    keys = [plain(line) for line in search]
    new: list[str] = []
    matcher = SequenceMatcher(
        None, _keyed(keys, search), _keyed([plain(line) for line in replace], replace), False
    )
    for tag, a, b, c, d in matcher.get_opcodes():
        new += there[a:b] if tag == "equal" else moved[c:d]
    return new


def _keyed(keys: list[str], lines: list[str]) -> list[tuple[str, str]]:
    return [(indent_of(line) if key else "", key) for key, line in zip(keys, lines, strict=True)]


def _moved(there: list[str], search: list[str], replace: list[str]) -> list[str] | None:
    both = [*search, *replace]
    for lines in (both, in_style_of(both, there)):
        have, want = first_indent(lines[: len(search)]), first_indent(there)
        try:
            moved = shift(lines, have, want) if have != want else lines
        except UnusableAnswer:
            continue
        pairs = zip(moved, there, strict=False)
        if all(indent_of(a) == indent_of(b) for a, b in pairs if a.strip()):
            return moved[len(search) :]
    return None


def _without_edges(wanted: _Wanted) -> _Wanted:
    """Leave out blank lines at the edges of the search, and as many at those of the replacement."""
    first, last = strip_edges(wanted.search)
    replace = wanted.replace
    start, end = strip_edges(replace)
    head, tail = min(first, start), min(len(wanted.search) - last, len(replace) - end)
    return _Wanted(wanted.search[first:last], replace[head : len(replace) - tail])


def _whole_of_blank(lines: Sequence[str], wanted: _Wanted) -> Match:
    if any(line.strip() for line in lines):
        raise UnusableAnswer(
            "it has no lines to search; repeat some lines of the file that are to be changed"
        )
    return Match(0, len(lines), "exact", tuple(wanted.replace))


def _nearest(lines: Sequence[str], search: list[str]) -> str:
    """Return the part of the file that the model probably meant, for it to copy from."""
    start = _best_start([line.strip() for line in lines], [line.strip() for line in search])
    if start is None:
        return ""
    shown = lines[start : start + min(len(search) + 2, _NEAREST_SHOWN)]
    return "; the nearest lines of the file are\n" + "\n".join(shown)


def _best_start(texts: list[str], keys: list[str]) -> int | None:
    places: dict[str, list[int]] = {}
    for number, text in enumerate(texts):
        places.setdefault(text, []).append(number)
    votes: dict[int, int] = {}
    for offset, key in enumerate(keys):
        for number in places.get(key, []) if key else []:
            votes[number - offset] = votes.get(number - offset, 0) + len(key)
    if votes:
        return max(0, max(votes, key=lambda start: (votes[start], -start)))
    longest = max(keys, key=len)
    near = get_close_matches(longest, texts[:_NEAREST_SEARCHED], n=1, cutoff=0.6)
    return max(0, places[near[0]][0] - keys.index(longest)) if near else None
