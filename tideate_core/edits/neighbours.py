"""Lines around an edit's place that a model repeated in its answer."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from tideate_core.edits.indent import indent_of, strip_edges
from tideate_core.errors import UnusableAnswer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["trim_neighbours"]

_OPENS = re.compile(r"(?:[:{(\[]|=>|->|\b(?:then|do|begin|of)|\bfunction\b.*\)|^\s*def\b.*)\s*$")
_DEFINES = re.compile(
    r"^\s*(?:[\w@]+\s+)*?(?:def|class|function|func|fn|fun|struct|interface|trait|enum|sub)\s+(?P<name>[\w.:]+)"
)
_TELLING = re.compile(r"\w\W+\w|\w{8}")
"""Lines such as `try:`, `end` or `});` may well be written again, even where they stand only once."""
_ENOUGH = 2
"""Lines that stand once in the text and are repeated: that is no coincidence any more."""

_ONLY = "answer only with the new text of the lines that you were asked to rewrite"


def trim_neighbours(code: Sequence[str], lines: Sequence[str], start: int, end: int) -> list[str]:
    """Take off the lines before and after the range (0-based, half open) that the code repeats.

    Lines count as repeated if two of them stand only once in the text; if there are two, or one next to
    an unchanged line of the range, and the range itself does not begin or end so; or if a single one opens
    the block that the range is in. Blank lines are not compared.

    :raises UnusableAnswer: lines around the range are in the code, but changed; or nothing is left.
    """
    counts = Counter(line.strip() for line in lines)
    once = {text for text, count in counts.items() if count == 1 and _TELLING.search(text)}
    before, old, after = (_filled(part) for part in (lines[:start], lines[start:end], lines[end:]))
    filled = _filled(code)
    head = _repeated_at_start(filled, before, old, once)
    place = before[-head:] if head else old
    offsets = {0} | _offsets(filled[:1], place[:1]) if place else set()
    tail = _repeated_at_end(filled[head:], after, old, once, offsets, both=bool(head))
    result = list(code)[_index_of(code, head) :]
    if tail:
        result = result[: _index_of(result, -tail)]
    first, last = strip_edges(result)
    if first == last:
        raise UnusableAnswer(f"it only repeats the lines around the place; {_ONLY}")
    result = result[first:last]
    _refuse_changed_neighbours(result, before, after, once, trimmed=bool(head or tail))
    _refuse_second_definition(result, old, before)
    return result


def _repeated_at_start(code: list[str], before: list[str], old: list[str], once: set[str]) -> int:
    """Return how many lines at the code's start are the last ones before the range."""
    for count in _overlaps(code, before):
        run = _texts(code[:count])
        if sum(text in once for text in run) >= _ENOUGH:
            return count
        tells = _tells(run)
        kept = bool(old) and _texts(code[count : count + 1]) == _texts(old[:1])
        there = [*before[-count:], *old[:kept]]
        # the first line may have lost its indentation
        uniform = len(_offsets(code[1 : count + kept], there[1:])) <= 1
        if run == _texts(old[:count]) or not uniform:
            continue
        if (tells and count >= _ENOUGH) or (kept and (tells or not _OPENS.search(before[-1]))):
            return count
        if count == 1 and tells and run[0] in once and _OPENS.search(before[-1]) and len(code) > 1:
            return count
    return 0


def _repeated_at_end(
    code: list[str], after: list[str], old: list[str], once: set[str], offsets: set[int], *, both: bool
) -> int:
    """Return how many lines at the code's end are the first ones after the range.

    :param offsets: by how many columns the code may be moved against the text; empty = not known.
        A closing line of the code's own stands deeper than the one that closes around it.
    :param both: lines before the range were repeated, so that those after it are expected.
    """
    for count in _overlaps(code[::-1], after[::-1]):
        run = _texts(code[-count:])
        if sum(text in once for text in run) >= _ENOUGH:
            return count
        moved = _offsets(code[-count:], after[:count])
        if len(moved) > 1 or not moved <= (offsets or moved):
            continue
        if run == _texts(old[-count:]) and _offsets(code[-count:], old[-count:]) <= (offsets or moved):
            continue
        kept = bool(old) and _texts(code[-count - 1 : -count]) == _texts(old[-1:])
        if kept or both or (count >= _ENOUGH and _tells(run)):
            return count
    return 0


def _overlaps(code: list[str], near: list[str]) -> Iterator[int]:
    """Yield, longest first, how many of the code's first lines are the last ones of `near`."""
    texts, context = _texts(code), _texts(near)
    for count in range(min(len(texts), len(context)), 0, -1):
        if context[-count] == texts[0] and context[-count:] == texts[:count]:
            yield count


def _offsets(code: list[str], lines: list[str]) -> set[int]:
    return {_width(one) - _width(other) for one, other in zip(code, lines, strict=True)}


def _width(line: str) -> int:
    return len(indent_of(line).expandtabs(4))


def _tells(run: list[str]) -> bool:
    return any(_TELLING.search(text) for text in run)


def _refuse_changed_neighbours(
    code: list[str], before: list[str], after: list[str], once: set[str], *, trimmed: bool
) -> None:
    """Turn down code that holds lines from around the range, with other lines than there between them.

    One such line is proof where the code repeated lines on a side already, or if it opens the block.
    """
    texts = _texts(code)
    for near in (before[-_ENOUGH:], after[:_ENOUGH]):
        strange = [line.strip() for line in near if line.strip() in once and line.strip() in texts]
        opens = bool(before) and before[-1].strip() in strange and _OPENS.search(before[-1]) is not None
        if strange and (trimmed or opens or len(strange) >= _ENOUGH):
            raise UnusableAnswer(f"it holds lines around the place, such as {strange[0]!r}; {_ONLY}")


def _refuse_second_definition(code: list[str], old: Sequence[str], before: list[str]) -> None:
    """Turn down code that begins by defining anew what the line before the range defines."""
    above = _DEFINES.match(before[-1]) if before else None
    again = _DEFINES.match(code[0])
    own = next((_DEFINES.match(line) for line in old if line.strip()), None)
    if above and again and not own and above["name"] == again["name"]:
        raise UnusableAnswer(f"it repeats the line before the place, {before[-1].strip()!r}; {_ONLY}")


def _index_of(code: Sequence[str], filled: int) -> int:
    """Return the line number of the n-th line that is not blank; of the end, where there are fewer."""
    numbers = [number for number, line in enumerate(code) if line.strip()]
    return numbers[filled] if -len(numbers) <= filled < len(numbers) else len(code)


def _filled(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if line.strip()]


def _texts(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip()]
