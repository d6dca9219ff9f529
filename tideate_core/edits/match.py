"""Finding the one place that a part of an edit means, and what is to stand there.

Exactly; else without trailing blanks; else with another indentation, uniformly; else with other Unicode
punctuation. Nothing that is merely similar is found, and never the first of several places.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from tideate_core.edits.indent import indent_of, strip_edges
from tideate_core.edits.keeping import has_other_blanks, keep_repeated, without_trailing_blanks
from tideate_core.edits.nearest import nearest_lines
from tideate_core.edits.placeholders import find_placeholder
from tideate_core.edits.punctuation import Quotation, plain_line, with_plain_indent
from tideate_core.edits.reindent import indentation_between, refuse_other_blanks
from tideate_core.edits.scope import Scope
from tideate_core.edits.seek import places_of
from tideate_core.errors import UnusableAnswer
from tideate_core.workspace import matching_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tideate_core.edits.replaced import Step

__all__ = ["Match", "find_lines"]

_MOST_PLACES = 50
"""Places of which one may still be told from the others; the same code indented in other ways."""
_MOST_LINES = 100_000
"""Lines of all these places together that are compared."""
_NAMED = 5
_LEAST_TO_GO_BY = 4
"""Letters and digits; a bracket or an ``end`` stands at many depths, and the one meant may be gone."""
_ADD = "add lines before or after them until only one place fits"


@dataclass(frozen=True, slots=True)
class Match:
    """Where searched lines stand: lines `start` to `end` (0-based, half open), and how they were found."""

    start: int
    end: int
    step: Step
    new: tuple[str, ...]
    """What is to stand there, indented as the place is."""
    careless: bool = False
    """The searched lines have trailing blanks that the file has not."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    search: list[str]
    replace: list[str]
    careless: bool = False
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
    careless: bool = False,
) -> Match:
    r"""Return the only place of `search`, and the lines for it.

    A ``\r`` at the end of a line is its line end: it is not compared, and new lines have it where all
    lines of the place do. Lines that the answer only repeats stay as the file has them.

    :param scope: what else is said about the place; it decides between several and must hold for one.
    :param careless: trailing blanks of new lines mean nothing, as where those of `search` are wrong.
    :raises UnusableAnswer: there is no such place, or more than one; the message shows the nearest lines.
    """
    bare = [line.removesuffix("\r") for line in lines]
    scope = scope or Scope()
    if not any(line.strip() for line in search):
        return _without_search(lines, bare, _Wanted(list(search), list(replace)), scope)
    exact = _starts(search, bare)
    if not exact:
        return _loosely(lines, bare, _Wanted(list(search), list(replace), careless), scope, language)
    start = _only(exact, len(search), bare, scope)
    refuse_other_blanks(bare, search, replace)
    there = bare[start : start + len(search)]
    new = list(replace)
    if careless:
        new = keep_repeated(
            there, search, replace, replace, lambda _, each: without_trailing_blanks(each, language)
        )
    return _match(lines, start, start + len(search), "exact", new)


def _match(lines: Sequence[str], start: int, end: int, step: Step, new: Sequence[str]) -> Match:
    there = lines[start:end]
    if not any(line.endswith("\r") for line in there):
        return Match(start, end, step, tuple(new))
    line_end = "\r" if all(line.endswith("\r") for line in there) else ""
    ended = [f"{line}{line_end}" for line in new]
    for at, to, size in matching_blocks([line.removesuffix("\r") for line in there], new):
        ended[to : to + size] = there[at : at + size]
    return Match(start, end, step, tuple(ended))


def _without_search(lines: Sequence[str], bare: list[str], wanted: _Wanted, scope: Scope) -> Match:
    if not any(line.strip() for line in bare):
        return Match(0, len(bare), "exact", tuple(wanted.replace))
    if scope.at_end and not wanted.search:
        refuse_other_blanks(bare, (), wanted.replace)
        at = strip_edges(bare)[1]
        crlf = lines[at - 1].endswith("\r")
        return Match(at, at, "exact", tuple(f"{line}\r" if crlf else line for line in wanted.replace))
    raise UnusableAnswer("it has no lines to search; repeat some lines of the file that are to be changed")


def _only(starts: Sequence[int], count: int, bare: Sequence[str], scope: Scope) -> int:
    """Return the one place of several that the scope allows.

    :raises UnusableAnswer: it leaves none, or several.
    """
    allowed = scope.of(starts, count, bare)
    if len(allowed) == 1:
        return allowed[0]
    named = ", ".join(str(start + 1) for start in starts[:_NAMED])
    if not allowed:
        raise UnusableAnswer(f"its lines to search stand at line {named}, which is not where it says")
    raise UnusableAnswer(f"its lines to search stand at {len(starts)} places (lines {named}); {_ADD}")


def _starts(wanted: Sequence[str], among: Sequence[str]) -> list[int]:
    """Return where the lines stand.

    :raises UnusableAnswer: at so many places that comparing all of them could take long.
    """
    most = max(2, min(_MOST_PLACES, _MOST_LINES // len(wanted)))
    found = list(islice(places_of(wanted, among), most + 1))
    if len(found) > most:
        raise UnusableAnswer(f"its lines to search stand at more than {most} places; {_ADD}")
    return found


def _loosely(lines: Sequence[str], bare: list[str], wanted: _Wanted, scope: Scope, language: str) -> Match:
    """Find the only place that is the same but for blanks and punctuation; then tell in what it differs.

    A place is the only one by the loosest comparison: who writes blanks carelessly may mean any of them.
    """
    places, wanted = _all_places(bare, wanted)
    if not places:
        raise UnusableAnswer(_not_there(lines, wanted.search, language))
    start = _only([place.start for place in places], len(wanted.search), bare, scope)
    place = next(place for place in places if place.start == start)
    there = bare[place.start : place.end]
    step = _step(there, wanted.search)
    if step != "trailing blanks" and sum(char.isalnum() for line in there for char in line) < _LEAST_TO_GO_BY:
        raise UnusableAnswer(
            f"its lines to search stand at line {start + 1} with other blanks or signs, and are too few to "
            "tell that these are meant; copy them exactly, with lines around them"
        )
    _refuse_own_indentation(there, wanted)
    new = _placed(there, wanted, place, step, language)
    if new == there and wanted.search != wanted.replace:
        raise UnusableAnswer("its old and new lines differ only in blanks that the file has otherwise")
    match = _match(lines, place.start, place.end, step, new)
    return dataclasses.replace(match, careless=wanted.careless or has_other_blanks(there, wanted.search))


def _all_places(bare: Sequence[str], wanted: _Wanted) -> tuple[list[_Place], _Wanted]:
    """Return the places, and what is wanted there: without blank lines at its edges if the file has none."""
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
    for start in _starts(keys, [plain_line(line) for line in bare]):
        there = bare[start : start + len(keys)]
        rule = indentation_between(search, [with_plain_indent(line) for line in there], replace)
        if rule is not None:
            yield _Place(start, start + len(keys), rule)


def _plainly_indented(wanted: _Wanted) -> tuple[list[str], list[str]]:
    search, replace = ([with_plain_indent(line) for line in each] for each in (wanted.search, wanted.replace))
    return search, replace


def _step(there: Sequence[str], search: Sequence[str]) -> Step:
    pairs = list(zip(there, search, strict=True))
    if all(own.rstrip() == given.rstrip() for own, given in pairs):
        return "trailing blanks"
    return "indentation" if all(own.strip() == given.strip() for own, given in pairs) else "punctuation"


def _placed(there: list[str], wanted: _Wanted, place: _Place, step: Step, language: str) -> list[str]:
    """Return the new lines for a place; those that the answer only repeats stay as the file has them."""
    search, replace = (place.rule(side) for side in _plainly_indented(wanted))
    refuse_other_blanks(there, search, replace)
    careless = wanted.careless or has_other_blanks(there, search)
    quotation = Quotation(there, search)

    def changed(where: range, lines: list[str]) -> list[str]:
        new = without_trailing_blanks(lines, language) if careless else lines
        return quotation.replaced(where.start, where.stop, new) if step == "punctuation" else new

    keys, then = ([line.rstrip() for line in side] for side in (search, replace))
    return keep_repeated(there, keys, replace, then, changed)


def _refuse_own_indentation(there: Sequence[str], wanted: _Wanted) -> None:
    """Turn down new lines that are indented as the file is where the searched ones are not.

    Both were taken to be moved alike; these new lines would be moved too far.
    """
    own, given, new = (_least(lines) for lines in (there, wanted.search, wanted.replace))
    if new is not None and new == own != given:
        raise UnusableAnswer(
            "its lines to search are indented otherwise than in the file and its new lines are not; "
            "copy the lines to search with their indentation"
        )


def _least(lines: Sequence[str]) -> str | None:
    return min((indent_of(line) for line in lines if line.strip()), key=len, default=None)


def _without_edges(wanted: _Wanted) -> _Wanted | None:
    """Leave out blank lines around the lines to search and around the new ones; None unless all have them."""
    first, last = strip_edges(wanted.search)
    start, end = strip_edges(wanted.replace)
    tail = len(wanted.search) - last
    if not first or not tail or (first, tail) != (start, len(wanted.replace) - end):
        return None
    careless = wanted.careless or any(wanted.search[:first]) or any(wanted.search[last:])
    return _Wanted(wanted.search[first:last], wanted.replace[start:end], careless)


def _not_there(lines: Sequence[str], search: Sequence[str], language: str) -> str:
    left_out = find_placeholder(search, lines, language)
    if left_out is not None:
        return (
            f"its lines to search have {search[left_out].strip()!r}, which stands for lines that you left "
            "out; copy whole lines of the file, or make two edits of it"
        )
    return f"its lines to search are not in the file{nearest_lines(lines, search)}"
