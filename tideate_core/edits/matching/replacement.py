"""New text of a file: all parts of an edit applied or none, or a whole new text fitted to the old one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from tideate_core.edits.matching.match import Match, find_lines
from tideate_core.edits.matching.placement import fit_to_range
from tideate_core.edits.matching.places import Scope
from tideate_core.edits.matching.preservation import (
    common_edges,
    has_other_blanks,
    keep_punctuation,
    keep_repeated,
    plain,
    without_trailing_blanks,
)
from tideate_core.edits.placeholders import refuse_placeholder
from tideate_core.errors import UnusableAnswer
from tideate_core.workspace import matching_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tideate_core.edits.formats.file_edits import Part
    from tideate_core.edits.matching.match import Tolerance

_MOST_PARTS = 2_000
_MOST_LOOKS = 8_000_000
"""Parts times lines of the text, each part being searched in all lines."""
_MOST_ANCHORS = 20
_LEAST_TO_COMPARE = 10


@dataclass(frozen=True, slots=True)
class Location:
    """Place and tolerance of a matched part."""

    name: str
    line: int
    """First changed line, 1-based, in the old text."""
    tolerance: Tolerance

    @property
    def is_exact(self) -> bool:
        return self.tolerance == "exact"

    def __str__(self) -> str:
        how = "exactly" if self.is_exact else f"by ignoring {self.tolerance}"
        return f"{self.name} was found at line {self.line} {how}"


@dataclass(frozen=True, slots=True)
class Replacement:
    """New lines of a text, with the location of each part in the answer's order."""

    lines: list[str]
    places: list[Location]
    notes: list[str] = field(default_factory=list)
    """Remarks for the user, without a full stop."""


def apply_parts(lines: Sequence[str], parts: Sequence[Part], *, language: str = "") -> Replacement:
    """Apply all parts to a text, or none; their order does not matter.

    :raises UnusableAnswer: a part has no unique place, overlaps another part, or omits lines.
    """
    _refuse_too_many(lines, parts)
    found = [_locate(lines, part, language) for part in parts]
    if any(match.stray_blanks for match in found):
        found = [_locate(lines, part, language, stray_blanks=True) for part in parts]
    quoted = [line for match in found for line in lines[match.start : match.end]]
    for part, match in zip(parts, found, strict=True):
        refuse_placeholder(
            match.new,
            lines[match.start : match.end],
            language,
            f"{part.name}: its line",
            quoted=quoted,
            all_replaced=True,
        )
    changes = [_trim_context(match, lines) for match in found]
    clash = find_clash(
        [(match.start, match.end) for match in found],
        [(one.start, one.end) if one.new or one.start < one.end else None for one in changes],
    )
    if clash:
        names = " and ".join(parts[index].name for index in sorted(clash))
        raise UnusableAnswer(f"{names} change the same lines; make one of them")
    result: list[str] = []
    at = 0
    for change in sorted(changes, key=lambda change: (change.start, change.end)):
        result += [*lines[at : change.start], *change.new]
        at = change.end
    result += lines[at:]
    places = [
        Location(part.name, change.start + 1, change.tolerance)
        for part, change in zip(parts, changes, strict=True)
    ]
    return Replacement(result, places)


def _refuse_too_many(lines: Sequence[str], parts: Sequence[Part]) -> None:
    looks = sum(len(part.readings) for part in parts) * len(lines)
    if len(parts) > _MOST_PARTS or (len(parts) > 1 and looks > _MOST_LOOKS):
        raise UnusableAnswer(
            f"it has {len(parts)} edits of a text of {len(lines)} lines, which are too many; "
            "make fewer, larger ones"
        )
    if deep := next((part for part in parts if len(part.anchors) > _MOST_ANCHORS), None):
        raise UnusableAnswer(f"{deep.name} has {len(deep.anchors)} headings; name {_MOST_ANCHORS} at most")


def _locate(lines: Sequence[str], part: Part, language: str, *, stray_blanks: bool = False) -> Match:
    scope = Scope(part.anchors, part.at_end)
    found: list[tuple[Match, bool]] = []
    reasons: list[str] = []
    for number, (search, new) in enumerate(part.readings):
        try:
            match = find_lines(lines, search, new, scope=scope, language=language, stray_blanks=stray_blanks)
        except UnusableAnswer as error:
            reasons.append(str(error))
        else:
            # a divider within the text occurs in the old and in the new lines: the middle one divides
            found.append((match, number * 2 + 1 == len(part.readings)))
    likely = found if len(found) == 1 else [(match, middle) for match, middle in found if middle]
    if likely:
        return likely[0][0]
    if found:
        raise UnusableAnswer(f"{part.name} has several ======= lines; search fewer lines, without them")
    raise UnusableAnswer(f"{part.name}: {reasons[0]}")


def _trim_context(match: Match, lines: Sequence[str]) -> Match:
    """Remove the unchanged edges of a part: two parts may quote the same lines."""
    old, new = lines[match.start : match.end], match.new
    head, tail = common_edges(old, new)
    return replace(match, start=match.start + head, end=match.end - tail, new=new[head : len(new) - tail])


def find_clash(
    quoted: Sequence[tuple[int, int]], changed: Sequence[tuple[int, int] | None]
) -> tuple[int, int] | None:
    """Return the first two parts that clash: one changes text the other quotes, or both insert at one place.

    :param quoted: half-open range of each part in the text.
    :param changed: the part of it that changes; None if nothing does.
    """
    spans = {index: span for index, span in enumerate(changed) if span is not None}
    order = sorted(spans, key=spans.__getitem__)
    for one, other in pairwise(order):
        first, second = spans[one], spans[other]
        both_insert = first == second and first[0] == first[1]
        if first[1] > second[0] or both_insert:
            return one, other
    # from here on the changes are disjoint, so both starts and ends are sorted
    starts, ends = ([spans[index][side] for index in order] for side in (0, 1))
    for index, (start, end) in enumerate(quoted):
        for other in order[bisect_right(ends, start) : bisect_left(starts, end)]:
            if other != index:
                return index, other
    return None


def fit_whole(code: Sequence[str], old: Sequence[str], language: str) -> Replacement:
    """Fit a whole new text to the old one's indentation, line ends and unchanged lines.

    Lines that differ only in trailing blanks or typographic punctuation keep the old text, unless there is
    no other change.

    :raises UnusableAnswer: the text is far shorter than the file, so it seems to be a part.
    """
    if not any(line.strip() for line in old):
        return Replacement(list(code), [])
    _refuse_part(code, old)
    new = fit_to_range(code, old)
    notes: list[str] = []
    for what, same in _IGNORED.items():
        keys, then = [same(line) for line in old], [same(line) for line in new]
        if keys == then:
            break
        kept = _keep_unchanged(old, keys, new, then, language)
        count = sum(one != other for one, other in zip(kept, new, strict=True))
        if count:
            notes.append(
                f"{count} line{'s' if count > 1 else ''} that differed only in {what} stayed as before"
            )
        new = kept
    else:
        with_signs = _keep_punctuation_of_changed(old, new)
        if count := sum(one != other for one, other in zip(with_signs, new, strict=True)):
            notes.append(
                f"{count} changed line{'s' if count > 1 else ''} kept the punctuation that it repeats"
            )
        new = with_signs
    return Replacement(new, [], notes)


def _keep_punctuation_of_changed(old: Sequence[str], new: list[str]) -> list[str]:
    def changed(where: range, lines: list[str]) -> list[str]:
        # a copied line has its original nearby
        around = old[max(0, where.start - len(lines)) : where.stop + len(lines)]
        return keep_punctuation(old[where.start : where.stop], lines, around)

    return keep_repeated(old, old, new, new, changed)


def _keep_unchanged(
    old: Sequence[str], keys: Sequence[str], new: Sequence[str], then: Sequence[str], language: str
) -> list[str]:
    """Return the new lines with the old text where keys match, otherwise without stray blanks."""
    pairs = [(old[at + k], new[to + k]) for at, to, size in matching_blocks(keys, then) for k in range(size)]
    stray_blanks = has_other_blanks([own for own, _ in pairs], [given for _, given in pairs])

    def changed(_: range, lines: list[str]) -> list[str]:
        return without_trailing_blanks(lines, language) if stray_blanks else lines

    return keep_repeated(old, keys, new, then, changed)


_IGNORED: dict[str, Callable[[str], str]] = {
    "trailing blanks": str.rstrip,
    "punctuation": lambda line: plain(line.rstrip()),
}


def _refuse_part(code: Sequence[str], old: Sequence[str]) -> None:
    had = [line for line in old if line.strip()]
    has = [line for line in code if line.strip()]
    if not has:
        raise UnusableAnswer(f"it has no lines and the file has {len(had)}; write the complete new file")
    if len(had) < _LEAST_TO_COMPARE or len(has) * 2 >= len(had):
        return
    raise UnusableAnswer(
        f"it has {len(has)} lines and the file has {len(had)}, so it seems to be a part; "
        "write the complete new file"
    )
