"""Find the only place of searched lines in a text, and the lines that replace them.

Exactly; else without trailing blanks; else with another indentation, uniformly; else with other Unicode
punctuation. Nothing that is merely similar is found, and never the first of several places.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from tideate_core.edits.indentation import (
    indent_of,
    indentation_between,
    refuse_other_blanks,
    strip_edges,
)
from tideate_core.edits.matching.places import Scope, nearest_lines, only_place, starts_of
from tideate_core.edits.matching.preservation import (
    Quotation,
    has_other_blanks,
    keep_repeated,
    plain_line,
    with_plain_indent,
    without_trailing_blanks,
)
from tideate_core.edits.placeholders import find_placeholder
from tideate_core.errors import UnusableAnswer
from tideate_core.workspace import matching_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Match", "Tolerance", "find_lines"]

_LEAST_TO_GO_BY = 4
"""Letters and digits; a bracket or an ``end`` stands at many depths, and the one meant may be gone."""

Tolerance: TypeAlias = Literal["exact", "trailing blanks", "indentation", "punctuation"]
"""Exact, or the difference that was ignored, with all those before it."""


@dataclass(frozen=True, slots=True)
class Match:
    """The place of searched lines: `start` to `end` (0-based, half open), and how it was found."""

    start: int
    end: int
    tolerance: Tolerance
    new: tuple[str, ...]
    """The lines for it, indented as the place is."""
    stray_blanks: bool = False
    """The searched lines have trailing blanks that the file has not."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    search: list[str]
    replace: list[str]
    stray_blanks: bool = False
    """Trailing blanks of its new lines mean nothing."""


@dataclass(frozen=True, slots=True)
class _Place:
    start: int
    end: int
    rule: Callable[[Sequence[str]], list[str]]


def find_lines(
    lines: Sequence[str],
    search: Sequence[str],
    replace: Sequence[str] = (),
    *,
    scope: Scope | None = None,
    language: str = "",
    stray_blanks: bool = False,
) -> Match:
    r"""Return the only place of `search`, and the lines for it.

    A ``\r`` at the end of a line is its line end: it is not compared, and new lines have it where all
    lines of the place do. Lines that the answer only repeats stay as the file has them.

    :param scope: other statements about the place; they decide between several and must hold for one.
    :param stray_blanks: trailing blanks of new lines mean nothing, as where those of `search` are wrong.
    :raises UnusableAnswer: there is no such place, or more than one; the message shows the nearest lines.
    """
    bare = [line.removesuffix("\r") for line in lines]
    scope = scope or Scope()
    if not any(line.strip() for line in search):
        return _match_without_search(lines, bare, _Wanted(list(search), list(replace)), scope)
    exact = starts_of(search, bare)
    if not exact:
        return _find_loosely(lines, bare, _Wanted(list(search), list(replace), stray_blanks), scope, language)
    start = only_place(exact, len(search), bare, scope)
    refuse_other_blanks(bare, search, replace)
    there = bare[start : start + len(search)]
    new = list(replace)
    if stray_blanks:
        new = keep_repeated(
            there, search, replace, replace, lambda _, each: without_trailing_blanks(each, language)
        )
    return _make_match(lines, start, start + len(search), "exact", new)


def _make_match(
    lines: Sequence[str], start: int, end: int, tolerance: Tolerance, new: Sequence[str]
) -> Match:
    there = lines[start:end]
    if not any(line.endswith("\r") for line in there):
        return Match(start, end, tolerance, tuple(new))
    line_end = "\r" if all(line.endswith("\r") for line in there) else ""
    ended = [f"{line}{line_end}" for line in new]
    for at, to, size in matching_blocks([line.removesuffix("\r") for line in there], new):
        ended[to : to + size] = there[at : at + size]
    return Match(start, end, tolerance, tuple(ended))


def _match_without_search(lines: Sequence[str], bare: list[str], wanted: _Wanted, scope: Scope) -> Match:
    if not any(line.strip() for line in bare):
        return Match(0, len(bare), "exact", tuple(wanted.replace))
    if scope.at_end and not wanted.search:
        refuse_other_blanks(bare, (), wanted.replace)
        at = strip_edges(bare)[1]
        crlf = lines[at - 1].endswith("\r")
        return Match(at, at, "exact", tuple(f"{line}\r" if crlf else line for line in wanted.replace))
    raise UnusableAnswer("it has no lines to search; repeat some lines of the file that are to be changed")


def _find_loosely(
    lines: Sequence[str], bare: list[str], wanted: _Wanted, scope: Scope, language: str
) -> Match:
    """Find the only place that is the same but for blanks and punctuation; then tell its tolerance.

    A place is the only one by the loosest comparison: with wrong blanks any of them may be meant.
    """
    places, wanted = _all_places(bare, wanted)
    if not places:
        raise UnusableAnswer(_not_found_message(lines, wanted.search, language))
    start = only_place([place.start for place in places], len(wanted.search), bare, scope)
    place = next(place for place in places if place.start == start)
    there = bare[place.start : place.end]
    tolerance = _tolerance_of(there, wanted.search)
    if (
        tolerance != "trailing blanks"
        and sum(char.isalnum() for line in there for char in line) < _LEAST_TO_GO_BY
    ):
        raise UnusableAnswer(
            f"its lines to search stand at line {start + 1} with other blanks or signs, and are too few to "
            "tell that these are meant; copy them exactly, with lines around them"
        )
    _refuse_own_indentation(there, wanted)
    new = _new_lines(there, wanted, place, tolerance, language)
    if new == there and wanted.search != wanted.replace:
        raise UnusableAnswer("its old and new lines differ only in blanks that the file has otherwise")
    match = _make_match(lines, place.start, place.end, tolerance, new)
    return dataclasses.replace(
        match, stray_blanks=wanted.stray_blanks or has_other_blanks(there, wanted.search)
    )


def _all_places(bare: Sequence[str], wanted: _Wanted) -> tuple[list[_Place], _Wanted]:
    """Return the places with the wanted lines, without blank ones at their edges if the file has none."""
    places = list(_places(bare, wanted))
    bared = _without_edges(wanted)
    if places or bared is None:
        return places, wanted
    # a blank line on one side only is the file's: then something else is missing between
    places = [place for place in _places(bare, bared) if not _is_blank_beside(bare, place)]
    return places, bared


def _is_blank_beside(bare: Sequence[str], place: _Place) -> bool:
    return any(0 <= at < len(bare) and not bare[at].strip() for at in (place.start - 1, place.end))


def _places(bare: Sequence[str], wanted: _Wanted) -> Iterator[_Place]:
    keys = [plain_line(line) for line in wanted.search]
    search, replace = _plainly_indented(wanted)
    for start in starts_of(keys, [plain_line(line) for line in bare]):
        there = bare[start : start + len(keys)]
        rule = indentation_between(search, [with_plain_indent(line) for line in there], replace)
        if rule is not None:
            yield _Place(start, start + len(keys), rule)


def _plainly_indented(wanted: _Wanted) -> tuple[list[str], list[str]]:
    search, replace = ([with_plain_indent(line) for line in each] for each in (wanted.search, wanted.replace))
    return search, replace


def _tolerance_of(there: Sequence[str], search: Sequence[str]) -> Tolerance:
    pairs = list(zip(there, search, strict=True))
    if all(own.rstrip() == given.rstrip() for own, given in pairs):
        return "trailing blanks"
    return "indentation" if all(own.strip() == given.strip() for own, given in pairs) else "punctuation"


def _new_lines(
    there: list[str], wanted: _Wanted, place: _Place, tolerance: Tolerance, language: str
) -> list[str]:
    """Return the new lines for a place; those that the answer only repeats stay as the file has them."""
    search, replace = (place.rule(side) for side in _plainly_indented(wanted))
    refuse_other_blanks(there, search, replace)
    stray_blanks = wanted.stray_blanks or has_other_blanks(there, search)
    quotation = Quotation(there, search)

    def changed(where: range, lines: list[str]) -> list[str]:
        new = without_trailing_blanks(lines, language) if stray_blanks else lines
        return quotation.replace_lines(where.start, where.stop, new) if tolerance == "punctuation" else new

    keys, then = ([line.rstrip() for line in side] for side in (search, replace))
    return keep_repeated(there, keys, replace, then, changed)


def _refuse_own_indentation(there: Sequence[str], wanted: _Wanted) -> None:
    """Refuse new lines that are indented as the file is where the searched ones are not.

    Both were taken to be moved alike; these new lines would be moved too far.
    """
    own, given, new = (_least_indent(lines) for lines in (there, wanted.search, wanted.replace))
    if new is not None and new == own != given:
        raise UnusableAnswer(
            "its lines to search are indented otherwise than in the file and its new lines are not; "
            "copy the lines to search with their indentation"
        )


def _least_indent(lines: Sequence[str]) -> str | None:
    return min((indent_of(line) for line in lines if line.strip()), key=len, default=None)


def _without_edges(wanted: _Wanted) -> _Wanted | None:
    """Leave out blank lines around the lines to search and around the new ones; None unless all have them."""
    first, last = strip_edges(wanted.search)
    start, end = strip_edges(wanted.replace)
    tail = len(wanted.search) - last
    if not first or not tail or (first, tail) != (start, len(wanted.replace) - end):
        return None
    stray_blanks = wanted.stray_blanks or any(wanted.search[:first]) or any(wanted.search[last:])
    return _Wanted(wanted.search[first:last], wanted.replace[start:end], stray_blanks)


def _not_found_message(lines: Sequence[str], search: Sequence[str], language: str) -> str:
    left_out = find_placeholder(search, lines, language)
    if left_out is not None:
        return (
            f"its lines to search have {search[left_out].strip()!r}, which stands for lines that you left "
            "out; copy whole lines of the file, or make two edits of it"
        )
    return f"its lines to search are not in the file{nearest_lines(lines, search)}"
