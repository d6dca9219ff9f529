"""Alternative readings of a search and its replacement: without line numbers, without fences."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from tideate_core.edits.fences import is_fence
from tideate_core.edits.indentation import indent_of, strip_edges, width_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Added: TypeAlias = Literal[
    "", "line numbers", "code fences", "blank lines around it", "non-breaking blanks", "indentation"
]
"""Additions of an answer to the file's lines, or its omission in the first."""

_NUMBERED = re.compile(r"[ \t]*(?P<number>\d{1,6})(?P<mark> ?[:|│→]|\t| )?(?P<text>.*)")
_STRANGE = frozenset("\u00a0\u2007\u202f")


@dataclass(frozen=True, slots=True)
class Reading:
    """Searched lines and their replacement, as one reading of an answer."""

    search: list[str]
    replace: list[str]
    stray_blanks: bool = False
    """Trailing blanks of the new lines are to be ignored."""
    added: Added = ""


def with_plain_blanks(reading: Reading, file: Sequence[str]) -> Reading:
    """Replace non-breaking spaces by spaces if the file has none."""
    strange = {char for line in reading.search for char in _STRANGE.intersection(line)}
    if not strange or any(char in line for line in file for char in strange):
        return reading
    table = str.maketrans(dict.fromkeys(strange, " "))
    search, new = ([line.translate(table) for line in side] for side in (reading.search, reading.replace))
    return replace(reading, search=search, replace=new, added="non-breaking blanks")


def readings_of(reading: Reading) -> Iterator[Reading]:
    """Yield a reading, then the reading without additions that models make on both sides."""
    yield reading
    search, new = _without_numbers(reading.search), _without_numbers(reading.replace)
    if search is not None and new is not None:
        yield replace(reading, search=search, replace=new, added="line numbers")
    search, new = _without_fence(reading.search), _without_fence(reading.replace)
    if search is not None and new is not None:
        yield replace(reading, search=search, replace=new, added="code fences")


def _without_numbers(lines: Sequence[str]) -> list[str] | None:
    """Return lines without line numbers; None unless every line has a consecutive number."""
    first, last = strip_edges(lines)
    found = [_NUMBERED.fullmatch(line) for line in lines[first:last]]
    matches = [match for match in found if match]
    if len(matches) < len(found):
        return None
    numbers = [int(match["number"]) for match in matches]
    if numbers != list(range(numbers[0], numbers[0] + len(numbers)) if numbers else ()):
        return None
    filled = [match for match in matches if match["text"]]
    if len({match["mark"] for match in filled}) > 1 or not all(match["mark"] for match in filled):
        return None
    apart = all(match["text"].startswith(" ") for match in filled)  # `12: text`
    return [match["text"][1:] if apart else match["text"] for match in matches]


def _without_fence(lines: Sequence[str]) -> list[str] | None:
    """Return the lines between an opening and a closing fence; None with other fences."""
    first, last = strip_edges(lines)
    fences = [at for at in range(first, last) if is_fence(lines[at])]
    return list(lines[first + 1 : last - 1]) if fences == [first, last - 1] and first < last - 1 else None


def trim_blank_edges(reading: Reading, before: int, after: int) -> Reading:
    """Remove blank edge lines that the file lacks, and as many around the new lines.

    :param before: blank lines in the file before the match; `after` likewise.
    """
    first, last = strip_edges(reading.search)
    start, end = strip_edges(reading.replace)
    tail = len(reading.search) - last
    extra, extra_tail = max(0, first - before), max(0, tail - after)
    if not extra and not extra_tail:
        return reading
    dropped = [*reading.search[:extra], *reading.search[len(reading.search) - extra_tail :]]
    new_tail = len(reading.replace) - max(end, min(extra, len(reading.replace)))
    return Reading(
        reading.search[extra : len(reading.search) - extra_tail],
        reading.replace[
            min(extra, start if end else len(reading.replace)) : len(reading.replace)
            - min(extra_tail, new_tail)
        ],
        reading.stray_blanks or any(dropped),
        reading.added or "blank lines around it",
    )


def with_first_indent(reading: Reading, there: Sequence[str]) -> Reading | None:
    """Restore the indentation that only the first line lost; None if other lines lost it too.

    The remaining new lines must follow the file's indentation; otherwise they are meant to move.
    """
    own = indent_of(there[0])
    new = reading.replace
    if not own or indent_of(reading.search[0]) or (new and not new[0].strip()):
        return None
    least = min((width_of(line) for line in there if line.strip()), default=0)
    rest = [line for line in new[1:] if line.strip()]
    if any(width_of(line) < least for line in rest) or not _keeps_indentation(rest, there):
        return None
    if new and not indent_of(new[0]):
        new = [own + new[0], *new[1:]]
    elif new and indent_of(new[0]) != own:
        return None
    search = [own + reading.search[0], *reading.search[1:]]
    return replace(reading, search=search, replace=new, added=reading.added or "indentation")


def is_line_without_indent(reading: Reading) -> bool:
    """Tell whether the search is one unindented line, and the later new lines are indented absolutely.

    The search line must end a statement, and the next line must begin with a word. Otherwise, the new lines
    may be indented relative to the first one.
    """
    new = [line for line in reading.replace if line.strip()]
    if len(reading.search) != 1 or len(new) < 2 or indent_of(reading.search[0] + new[0]):
        return False
    first, following = new[0].rstrip(), new[1]
    opened = sum(map(first.count, "([{")) > sum(map(first.count, ")]}"))
    ends = first[-1].isalnum() or first[-1] in ".;)]}\"'"
    return bool(indent_of(following)) and following.lstrip()[0].isalnum() and ends and not opened


def _keeps_indentation(rest: Sequence[str], there: Sequence[str]) -> bool:
    """Tell whether the new lines after the first have the file's indentation."""
    inner = min((width_of(line) for line in there[1:] if line.strip()), default=0)
    return not rest or width_of(rest[0]) >= inner or not set(rest).isdisjoint(there)
