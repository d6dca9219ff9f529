"""Search-and-replace edits as whole lines that occur once in the file."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict, Field

from tideate_core.edits import Part, apply_parts, find_placeholder
from tideate_core.errors import UnusableAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SearchReplace", "exactly_edited", "parts_of"]

MOST_AROUND: Final = 200
"""Lines of context that may be needed to tell one of several equal places from the others."""
MOST_PLACES: Final = 20
"""Places of a search named in an error."""


class SearchReplace(BaseModel):
    """One place of a file, and its replacement."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    search: str = Field(min_length=1, description="Copied exactly; stands only once in the file.")
    replace: str = Field(description="Empty removes it.")
    line: int | None = Field(
        default=None, ge=1, description="Of a search that stands several times: the line it begins on."
    )


def parts_of(before: str, edits: Sequence[SearchReplace], language: str) -> list[Part]:
    """Convert the edits of a text for `apply_parts`.

    :raises UnusableAnswer: a search occurs several times, and its line does not identify one.
    """
    return [_part(before, number, edit, language) for number, edit in enumerate(edits, 1)]


def exactly_edited(before: str, edits: Sequence[SearchReplace], language: str) -> str | None:
    """Apply edits if each search occurs exactly once; None if one does not.

    Other places that differ in whitespace only do not matter then.
    """
    spans = []
    for edit in edits:
        search = edit.search.replace("\r\n", "\n")
        starts = _starts(before, search)
        if len(starts) != 1:
            return None
        spans.append((starts[0], starts[0] + len(search), edit.replace.replace("\r\n", "\n")))
    spans.sort()
    if any(second[0] < first[1] for first, second in pairwise(spans)):
        return None
    pieces, at, known = [], 0, before.split("\n")
    for start, end, new in spans:
        if find_placeholder(new.split("\n"), known, language) is not None:
            return None
        pieces += [before[at:start], new]
        at = end
    return "".join([*pieces, before[at:]])


def _part(before: str, number: int, edit: SearchReplace, language: str) -> Part:
    """Return an edit as whole lines; a search that starts or ends within a line must match exactly."""
    search = edit.search.replace("\r\n", "\n")
    replace = edit.replace.replace("\r\n", "\n")
    starts = _starts(before, search)
    if edit.line is not None and len(starts) > 1:
        return _part_at(before, number, edit.line, starts, (search, replace))
    part = _lines_part(number, search, replace)
    if not starts:
        return part
    try:
        done = apply_parts(before.split("\n"), [part], language=language)
    except UnusableAnswer as error:
        if len(starts) > 1:
            raise UnusableAnswer(_ambiguous(before, number, starts)) from error
        return _exact_part(before, number, starts[0], (search, replace))
    if len(starts) == 1 and "\n".join(done.lines) == _replaced(before, starts[0], search, replace):
        return _exact_part(before, number, starts[0], (search, replace))  # its whitespace matches exactly
    return part


def _replaced(before: str, start: int, search: str, replace: str) -> str:
    return before[:start] + replace + before[start + len(search) :]


def _exact_part(before: str, number: int, start: int, edit: tuple[str, str]) -> Part:
    """Return an exactly matching edit extended to whole lines."""
    search, replace = edit
    end = start + len(search)
    first, last = _whole_lines(before, start, end)
    return _lines_part(number, before[first:last], before[first:start] + replace + before[end:last])


def _lines_part(number: int, search: str, replace: str) -> Part:
    if search.endswith("\n") and (replace.endswith("\n") or not replace):
        search, replace = search[:-1], replace.removesuffix("\n")
    new = tuple(replace.split("\n")) if replace else ()
    return Part(f"edit {number}", ((tuple(search.split("\n")), new),))


def _starts(text: str, search: str) -> list[int]:
    """Return all positions of a search, including overlapping ones."""
    starts = []
    at = text.find(search)
    while at >= 0:
        starts.append(at)
        at = text.find(search, at + 1)
    return starts


def _line_numbers(text: str, places: Sequence[int]) -> list[int]:
    """Return the lines (from 1) of sorted positions; there may be very many."""
    numbers = []
    line, at = 1, 0
    for place in places:
        line, at = line + text.count("\n", at, place), place
        numbers.append(line)
    return numbers


def _whole_lines(text: str, start: int, end: int) -> tuple[int, int]:
    last = text.find("\n", end)
    return text.rfind("\n", 0, start) + 1, len(text) if last < 0 else last


def _part_at(before: str, number: int, line: int, starts: Sequence[int], edit: tuple[str, str]) -> Part:
    """Return the edit at the place on a given line, with enough context lines to make it unique.

    :raises UnusableAnswer: no place starts there, or several do.
    """
    search, replace = edit
    blank = len(search) - len(search.lstrip("\n"))
    begins = _line_numbers(before, [start + blank for start in starts])
    there = [start for start, at in zip(starts, begins, strict=True) if at == line]
    if len(there) != 1:
        raise UnusableAnswer(_misplaced(before, number, line, begins))
    start, end = there[0], there[0] + len(search)
    first, last = _whole_lines(before, start, end)
    if first == start and end - start > 1 and before[end - 1] == "\n" and replace[-1:] in ("", "\n"):
        end, last, replace = end - 1, end - 1, replace.removesuffix("\n")
    middle = before[first:start] + replace + before[end:last]
    removed = not replace and (first, last) == (start, end)
    lines, top, bottom = before.split("\n"), before.count("\n", 0, first), before.count("\n", 0, last) + 1
    above, below = _around(lines, top, bottom, number)
    head, tail = lines[top - above : top], lines[bottom : bottom + below]
    new = [] if removed else middle.split("\n")
    return Part(f"edit {number}", (((*head, *lines[top:bottom], *tail), (*head, *new, *tail)),))


def _misplaced(before: str, number: int, line: int, lines: Sequence[int]) -> str:
    if line in lines:
        return f"edit {number}: its search stands several times in line {line}; search more of the line"
    text = before.split("\n")
    now = f"; line {line} is now {text[line - 1][:200]!r}" if line <= len(text) else ""
    return f"edit {number}: its search begins on lines {_some(lines)}, not on line {line}{now}"


def _ambiguous(before: str, number: int, starts: Sequence[int]) -> str:
    lines = _line_numbers(before, starts)
    return (
        f"edit {number}: its search stands at {len(starts)} places (it begins on lines {_some(lines)}); "
        "give the line of one, or search more lines"
    )


def _some(lines: Sequence[int]) -> str:
    known = sorted(set(lines))
    return ", ".join([*map(str, known[:MOST_PLACES]), *(["…"] if len(known) > MOST_PLACES else [])])


def _around(lines: Sequence[str], top: int, bottom: int, number: int) -> tuple[int, int]:
    """Return the numbers of lines above and below that make a block unique.

    :raises UnusableAnswer: more than the maximum are needed.
    """
    text = "\n".join(["", *lines, ""])
    for count in range(MOST_AROUND + 1):
        for above, below in ((count, 0), (0, count), (count, count)):
            if above > top or below > len(lines) - bottom:
                continue
            block = "\n".join(["", *lines[top - above : bottom + below], ""])
            if text.find(block, text.find(block) + 1) < 0:
                return above, below
    raise UnusableAnswer(f"edit {number}: the lines around its places are too much alike; search more lines")
