"""All parts of an edit of one text: resolved against it as it is, then applied together or not at all."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from tideate_core.edits.match import Match, find_lines
from tideate_core.edits.placeholders import find_placeholder
from tideate_core.edits.replaced import Placed, Replaced
from tideate_core.edits.scope import Scope
from tideate_core.errors import UnusableAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.edits.parts import Part

__all__ = ["apply_parts"]

_MOST_PARTS = 2_000
_MOST_LOOKS = 8_000_000
"""Parts times lines of a text: each part is looked for in all of them."""
_MOST_ANCHORS = 20


def apply_parts(lines: Sequence[str], parts: Sequence[Part], *, language: str = "") -> Replaced:
    """Apply all parts to a text, or none of them; their order does not matter.

    :raises UnusableAnswer: a part is found nowhere or at several places, overlaps another one, or
        leaves lines out.
    """
    _refuse_too_many(lines, parts)
    found = [_resolved(lines, part, language) for part in parts]
    if any(match.careless for match in found):
        found = [_resolved(lines, part, language, careless=True) for part in parts]
    for part, match in zip(parts, found, strict=True):
        _refuse_left_out(match.new, lines, part, language)
    changes = [_trimmed(match, lines) for match in found]
    _refuse_overlaps(parts, found, changes)
    result: list[str] = []
    at = 0
    for change in sorted(changes, key=lambda change: (change.start, change.end)):
        result += [*lines[at : change.start], *change.new]
        at = change.end
    result += lines[at:]
    places = [
        Placed(part.name, change.start + 1, change.step) for part, change in zip(parts, changes, strict=True)
    ]
    return Replaced(result, places)


def _refuse_too_many(lines: Sequence[str], parts: Sequence[Part]) -> None:
    looks = sum(len(part.readings) for part in parts) * len(lines)
    if len(parts) > _MOST_PARTS or (len(parts) > 1 and looks > _MOST_LOOKS):
        raise UnusableAnswer(
            f"it has {len(parts)} edits of a text of {len(lines)} lines, which are too many; "
            "make fewer, larger ones"
        )
    if deep := next((part for part in parts if len(part.anchors) > _MOST_ANCHORS), None):
        raise UnusableAnswer(f"{deep.name} has {len(deep.anchors)} headings; name {_MOST_ANCHORS} at most")


def _refuse_left_out(new: Sequence[str], known: Sequence[str], part: Part, language: str) -> None:
    left_out = find_placeholder(new, known, language)
    if left_out is not None:
        raise UnusableAnswer(
            f"{part.name} has the line {new[left_out].strip()!r}, which stands for lines that "
            "you left out; write all of them"
        )


def _resolved(lines: Sequence[str], part: Part, language: str, *, careless: bool = False) -> Match:
    scope = Scope(part.anchors, part.at_end)
    found: list[tuple[Match, bool]] = []
    reasons: list[str] = []
    for number, (search, new) in enumerate(part.readings):
        try:
            match = find_lines(lines, search, new, scope=scope, language=language, careless=careless)
        except UnusableAnswer as error:
            reasons.append(str(error))
        else:
            # the text's own such line stands in the old lines and again in the new ones: the middle divides
            found.append((match, number * 2 + 1 == len(part.readings)))
    likely = found if len(found) == 1 else [(match, middle) for match, middle in found if middle]
    if likely:
        return likely[0][0]
    if found:
        raise UnusableAnswer(f"{part.name} has several ======= lines; search fewer lines, without them")
    raise UnusableAnswer(f"{part.name}: {reasons[0]}")


def _trimmed(match: Match, lines: Sequence[str]) -> Match:
    """Leave out what the part repeats before and after its change: two parts may quote the same lines."""
    old, new = lines[match.start : match.end], match.new
    most = min(len(old), len(new))
    head = next((count for count in range(most) if old[count] != new[count]), most)
    rest = most - head
    tail = next((count for count in range(rest) if old[-1 - count] != new[-1 - count]), rest)
    return replace(match, start=match.start + head, end=match.end - tail, new=new[head : len(new) - tail])


def _refuse_overlaps(parts: Sequence[Part], found: Sequence[Match], changes: Sequence[Match]) -> None:
    """Turn down parts of which one changes what another one quotes, or that insert at the same place."""
    order = [index for index, change in enumerate(changes) if change.new or change.start < change.end]
    order.sort(key=lambda index: (changes[index].start, changes[index].end))
    for one, other in pairwise(order):
        first, second = changes[one], changes[other]
        both_insert = first.start == first.end == second.start == second.end
        if first.end > second.start or both_insert:
            raise _clash(parts, one, other)
    # from here on the changes are apart, so that both their starts and their ends are in order
    starts, ends = ([getattr(changes[index], side) for index in order] for side in ("start", "end"))
    for index, quoted in enumerate(found):
        among = order[bisect_right(ends, quoted.start) : bisect_left(starts, quoted.end)]
        for other in among:
            if other != index:
                raise _clash(parts, index, other)


def _clash(parts: Sequence[Part], one: int, other: int) -> UnusableAnswer:
    names = " and ".join(parts[index].name for index in sorted((one, other)))
    return UnusableAnswer(f"{names} change the same lines; make one of them")
