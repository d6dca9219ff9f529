"""Find the unique place of an edit's searched lines, even if inexact, and fit its new lines to it.

Tried in order: exact, ignoring trailing blanks, with a uniform indentation change, ignoring Unicode
punctuation. Similar lines never match, and several matches are an error.
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
from tideate_core.edits.matching.places import Scope, nearest_lines, only_place, quoted_lines, starts_of
from tideate_core.edits.matching.preservation import (
    Quotation,
    has_other_blanks,
    keep_repeated,
    plain_lines,
    with_plain_indent,
    without_trailing_blanks,
)
from tideate_core.edits.matching.readings import (
    Reading,
    is_line_without_indent,
    readings_of,
    trim_blank_edges,
    with_first_indent,
    with_plain_blanks,
)
from tideate_core.edits.placeholders import find_placeholder
from tideate_core.errors import UnusableAnswer
from tideate_core.workspace import matching_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.edits.indentation import Rule

_LEAST_TO_GO_BY = 4
"""Letters and digits of the shortest inexact match; a bracket or an ``end`` occurs at many depths."""

Tolerance: TypeAlias = (
    Literal["exact", "trailing blanks", "indentation", "punctuation"]
    | Literal["line numbers", "code fences", "blank lines around it", "non-breaking blanks"]
)
"""Exact, or the loosest difference that was ignored."""


@dataclass(frozen=True, slots=True)
class Match:
    """Place of the searched lines, `start` to `end` (0-based, half open), with its tolerance."""

    start: int
    end: int
    tolerance: Tolerance
    new: tuple[str, ...]
    """Replacement lines, indented for the place."""
    stray_blanks: bool = False
    """The searched lines have trailing blanks that the file lacks."""


@dataclass(frozen=True, slots=True)
class _Place:
    start: int
    wanted: Reading
    """Reading with exactly the searched lines that match the place."""
    rule: Rule | None
    """Maps the answer's indentation to the file's; None if they differ irregularly."""

    @property
    def length(self) -> int:
        return len(self.wanted.search)

    @property
    def end(self) -> int:
        return self.start + self.length


def find_lines(
    lines: Sequence[str],
    search: Sequence[str],
    replace: Sequence[str] = (),
    *,
    scope: Scope | None = None,
    language: str = "",
    stray_blanks: bool = False,
) -> Match:
    r"""Return the unique place of `search`, with its replacement.

    A trailing ``\r`` is not compared, and new lines get it if all lines of the place have it. Lines that
    the answer only repeats keep the file's text.

    :param scope: further conditions that the place must meet.
    :param stray_blanks: remove trailing blanks from new lines, because those of `search` are wrong.
    :raises UnusableAnswer: the place is missing or not unique; the message shows the nearest lines.
    """
    crlf = "\r" in "".join(lines)
    bare = [line.removesuffix("\r") for line in lines] if crlf else list(lines)
    scope = scope or Scope()
    if not any(line.strip() for line in search):
        return _match_without_search(lines, bare, Reading(list(search), list(replace)), scope)
    exact = starts_of(search, bare)
    if not exact:
        return _find_loosely(lines, bare, Reading(list(search), list(replace), stray_blanks), scope, language)
    start = only_place(exact, len(search), bare, scope)
    _refuse_twins(search, bare, scope, start)
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


def _match_without_search(lines: Sequence[str], bare: list[str], wanted: Reading, scope: Scope) -> Match:
    if not any(line.strip() for line in bare):
        return Match(0, len(bare), "exact", tuple(wanted.replace))
    if scope.at_end and not wanted.search:
        refuse_other_blanks(bare, (), wanted.replace)
        at = strip_edges(bare)[1]
        crlf = lines[at - 1].endswith("\r")
        return Match(at, at, "exact", tuple(f"{line}\r" if crlf else line for line in wanted.replace))
    raise UnusableAnswer("it has no lines to search; repeat some lines of the file that are to be changed")


def _find_loosely(
    lines: Sequence[str], bare: list[str], wanted: Reading, scope: Scope, language: str
) -> Match:
    """Match ignoring blanks and punctuation, and determine the tolerance.

    The match must be unique under the loosest comparison: with wrong blanks any candidate may be meant.
    """
    place, rule = _only_loose_place(lines, bare, with_plain_blanks(wanted, bare), scope, language)
    try:
        return _fit_loosely(lines, bare[place.start : place.end], place, rule, language)
    except UnusableAnswer as error:
        raise UnusableAnswer(f"{error}{quoted_lines(bare, place.start, place.length)}") from error


def _fit_loosely(lines: Sequence[str], there: list[str], place: _Place, rule: Rule, language: str) -> Match:
    wanted = place.wanted
    tolerance = _tolerance_of(there, wanted.search)
    added = wanted.added not in {"", "non-breaking blanks"}
    letters = sum(char.isalnum() for line in there for char in line)
    if (tolerance != "trailing blanks" or added) and letters < _LEAST_TO_GO_BY:
        raise UnusableAnswer(
            f"its lines to search stand at line {place.start + 1} with other blanks or signs, and are too "
            "few to tell that these are meant; copy them exactly, with lines around them"
        )
    _refuse_own_indentation(there, wanted)
    new = _new_lines(there, wanted, rule, tolerance, language)
    if new == there and wanted.search != wanted.replace:
        raise UnusableAnswer("its old and new lines differ only in blanks that the file has otherwise")
    match = _make_match(lines, place.start, place.end, wanted.added or tolerance, new)
    return dataclasses.replace(
        match, stray_blanks=wanted.stray_blanks or has_other_blanks(there, wanted.search)
    )


def _refuse_twins(search: Sequence[str], bare: Sequence[str], scope: Scope, start: int) -> None:
    """Reject an exact match if other places differ from it only in blanks, which models often lose."""
    core = [line.strip() for line in search]
    longest = max(core, key=len)
    if "\n".join(bare).count(longest) < core.count(longest) * 2:
        return
    twins = starts_of(core, [line.strip() for line in bare])
    others = [at for at in scope.allowed(twins, len(core), bare) if at != start]
    if others:
        raise UnusableAnswer(
            f"its lines to search stand at line {start + 1} and, with other blanks, at line "
            f"{others[0] + 1}; add lines before or after them until only one place fits"
            f"{quoted_lines(bare, others[0], len(core))}"
        )


def _only_loose_place(
    lines: Sequence[str], bare: list[str], wanted: Reading, scope: Scope, language: str
) -> tuple[_Place, Rule]:
    """Return the unique place of the first reading that matches."""
    plain = plain_lines(bare)
    for reading in readings_of(wanted):
        places = _places(bare, plain, reading)
        if not any(place.rule for place in places):
            continue
        # places with irregular differences count too: any of them may be meant
        start = only_place([place.start for place in places], places[0].length, bare, scope)
        place = next(place for place in places if place.start == start)
        if place.rule:
            return place, place.rule
    raise UnusableAnswer(_not_found_message(lines, wanted.search, language))


def _places(bare: Sequence[str], plain: Sequence[str], wanted: Reading) -> list[_Place]:
    """Return the matching places, ignoring blank edge lines that the file lacks.

    If no place matches with a uniform indentation, the first line alone may have lost its indentation.
    """
    first, last = strip_edges(wanted.search)
    if first == last:
        return []
    keys = plain_lines(wanted.search[first:last])
    found = [_with_blank_edges(plain, at, len(keys), wanted) for at in starts_of(keys, plain)]
    places = [_place_of(bare, *each) for each in found]
    if any(place.rule for place in places):
        return places
    restored = [with_first_indent(place.wanted, bare[place.start : place.end]) for place in places]
    return [
        place if reading is None else _place_of(bare, place.start, reading, clear)
        for place, reading, (*_, clear) in zip(places, restored, found, strict=True)
    ]


def _with_blank_edges(
    plain: Sequence[str], at: int, count: int, wanted: Reading
) -> tuple[int, Reading, bool]:
    """Return start, reading and certainty of a place with its blank edge lines.

    It is uncertain if the file has such a blank line one line further: the line between may be missing. If
    both sides have the same blank edges, they are the answer's style.
    """
    first, last = strip_edges(wanted.search)
    end, tail = at + count, len(wanted.search) - last
    before = _blanks_in_a_row(plain[max(0, at - first) : at][::-1])
    after = _blanks_in_a_row(plain[end : end + tail])
    near = [at - before - 2] if before < first else []
    near += [end + after + 1] if after < tail else []
    start, stop = strip_edges(wanted.replace)
    around = (first, tail) == (start, len(wanted.replace) - stop) and before < first and after < tail
    clear = around or all(not 0 <= line < len(plain) or plain[line] for line in near)
    return at - before, trim_blank_edges(wanted, before, after), clear


def _blanks_in_a_row(lines: Sequence[str]) -> int:
    return next((at for at, line in enumerate(lines) if line), len(lines))


def _place_of(bare: Sequence[str], start: int, wanted: Reading, clear: bool) -> _Place:
    if is_line_without_indent(wanted):
        wanted = with_first_indent(wanted, bare[start : start + 1]) or wanted
    search, replace = _plainly_indented(wanted)
    there = [with_plain_indent(line) for line in bare[start : start + len(search)]]
    return _Place(start, wanted, indentation_between(search, there, replace) if clear else None)


def _plainly_indented(wanted: Reading) -> tuple[list[str], list[str]]:
    search, replace = ([with_plain_indent(line) for line in each] for each in (wanted.search, wanted.replace))
    return search, replace


def _tolerance_of(there: Sequence[str], search: Sequence[str]) -> Tolerance:
    pairs = list(zip(there, search, strict=True))
    if all(own.rstrip() == given.rstrip() for own, given in pairs):
        return "trailing blanks"
    return "indentation" if all(own.strip() == given.strip() for own, given in pairs) else "punctuation"


def _new_lines(
    there: list[str], wanted: Reading, rule: Rule, tolerance: Tolerance, language: str
) -> list[str]:
    """Return the replacement lines; lines that the answer only repeats keep the file's text."""
    search, replace = (rule(side) for side in _plainly_indented(wanted))
    refuse_other_blanks(there, search, replace)
    stray_blanks = wanted.stray_blanks or has_other_blanks(there, search)
    quotation = Quotation(there, search)

    def changed(where: range, lines: list[str]) -> list[str]:
        new = without_trailing_blanks(lines, language) if stray_blanks else lines
        return quotation.replace_lines(where.start, where.stop, new) if tolerance == "punctuation" else new

    keys, then = ([line.rstrip() for line in side] for side in (search, replace))
    return keep_repeated(there, keys, replace, then, changed)


def _refuse_own_indentation(there: Sequence[str], wanted: Reading) -> None:
    """Reject new lines in the file's indentation if the searched lines have another one.

    The rule for the searched lines would indent these new lines too far.
    """
    own, given, new = (_least_indent(lines) for lines in (there, wanted.search, wanted.replace))
    if new is not None and new == own != given:
        raise UnusableAnswer(
            "its lines to search are indented otherwise than in the file and its new lines are not; "
            "copy the lines to search with their indentation"
        )


def _least_indent(lines: Sequence[str]) -> str | None:
    return min((indent_of(line) for line in lines if line.strip()), key=len, default=None)


def _not_found_message(lines: Sequence[str], search: Sequence[str], language: str) -> str:
    left_out = find_placeholder(search, lines, language)
    if left_out is not None:
        return (
            f"its lines to search have {search[left_out].strip()!r}, which stands for lines that you left "
            "out; copy whole lines of the file, or make two edits of it"
        )
    return f"its lines to search are not in the file{nearest_lines(lines, search)}"
