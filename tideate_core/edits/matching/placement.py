"""Fit new code to a given place: indentation, line ends, removal of repeated neighbouring lines."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from tideate_core.edits.indentation import (
    filled_texts,
    first_indent,
    in_style_of,
    indent_of,
    shift,
    strip_edges,
    unit_of,
    width_of,
)
from tideate_core.errors import UnusableAnswer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_OPENS = re.compile(r"(?:[:{(\[]|=>|->|\b(?:then|do|begin|of)|\bfunction\b.*\)|^\s*def\b.*)\s*$")
_CLOSES = re.compile(r"^\s*(?:[})\]]|</|(?:end|fi|done|esac|else|elif|elseif|catch|except|finally|until)\b)")
_DEFINES = re.compile(
    r"^\s*(?:[\w@]+\s+)*?(?:def|class|function|func|fn|fun|struct|interface|trait|enum|sub)\s+(?P<name>[\w.:]+)"
)
_TELLING = re.compile(r"\w\W+\w|\w{8}")
"""Distinctive lines; `try:`, `end` or `});` may legitimately occur twice."""
_ENOUGH = 2
"""Repeated unique lines that rule out coincidence."""

_ONLY = "answer only with the new text of the lines that you were asked to rewrite"


def fit_to_range(code: Sequence[str], old: Sequence[str], *, style: Sequence[str] = ()) -> list[str]:
    r"""Adapt code to the lines it replaces.

    The code is shifted uniformly to the indentation of old's first line, with old's tabs or spaces. Old's
    blank edge lines, and its ``\r`` line ends if every line has one, are kept.

    :param style: lines that show tabs or spaces if `old` has no indented line.
    :raises UnusableAnswer: the code cannot be shifted.
    """
    first, last = strip_edges(old)
    start, end = strip_edges(code)
    if first == last:
        return _with_line_ends([line.rstrip("\r") for line in code[start:end]], old)
    plain = [line.rstrip("\r") for line in code[start:end]]
    model = old if any(line.strip() and indent_of(line) for line in old) else style
    fitted = _move_to_range(in_style_of(plain, model), [line.rstrip("\r") for line in old])
    return [*old[:first], *_with_line_ends(fitted, old), *old[last:]]


def _move_to_range(code: list[str], old: list[str]) -> list[str]:
    """Shift code as its unchanged lines were shifted; without such lines, by its first line."""
    have, want = first_indent(code), first_indent(old)
    anchors = _indents_of_unchanged(code[1:], old)
    if anchors:
        have, want = anchors
    elif have == want or (not have and _least_width(code[1:]) == _least_width(old[1:]) is not None):
        # later lines have their depth: only the answer's first line was stripped
        have = want = ""
    moved = shift(code, have, want)
    if have == want and not indent_of(moved[0]):
        return [first_indent(old) + moved[0], *moved[1:]]
    return moved


def _indents_of_unchanged(code: list[str], old: list[str]) -> tuple[str, str] | None:
    """Return the most common old and new indentation of unchanged lines; None without a majority."""
    once = Counter(line.strip() for line in old)
    places = {line.strip(): indent_of(line) for line in old if line.strip() and once[line.strip()] == 1}
    pairs = [(indent_of(line), places[line.strip()]) for line in code if line.strip() in places]
    votes = Counter(len(there) - len(here) for here, there in pairs)
    if not votes:
        return None
    offset, count = votes.most_common(1)[0]
    agreeing = [pair for pair in pairs if len(pair[1]) - len(pair[0]) == offset]
    return min(agreeing, key=lambda pair: len(pair[0])) if count * 2 > len(pairs) else None


def _least_width(lines: list[str]) -> int | None:
    return min((len(indent_of(line)) for line in lines if line.strip()), default=None)


def _with_line_ends(code: list[str], old: Sequence[str]) -> list[str]:
    if old and all(line.endswith("\r") for line in old):
        return [f"{line}\r" for line in code]
    return code


def fit_to_place(
    code: Sequence[str], lines: Sequence[str], at: int, *, indent: str | None = None
) -> list[str]:
    """Indent new code for its place before line `at` (0-based), by the surrounding lines.

    Code that is already indented is unchanged.

    :param indent: indentation of the place, if known.
    """
    plain = in_style_of([line.rstrip("\r") for line in code], lines)
    if not first_indent(plain):
        plain = shift(plain, "", indent_at(lines, at) if indent is None else indent)
    crlf = [line for line in lines if line] and all(line.endswith("\r") for line in lines)
    return [f"{line}\r" for line in plain] if crlf else plain


def opens_block(line: str) -> bool:
    """Tell whether the lines below are one level deeper."""
    return _OPENS.search(line.split("#")[0].rstrip()) is not None


def closes_block(line: str) -> bool:
    """Tell whether a line ends the block above."""
    return _CLOSES.match(line) is not None


def indent_at(lines: Sequence[str], at: int) -> str:
    """Return the indentation of a place from the surrounding lines."""
    above = next((line for line in reversed(lines[:at]) if line.strip()), "")
    below = next((line for line in lines[at:] if line.strip()), None)
    opens = opens_block(above)
    if below is not None and not closes_block(below):
        deeper = len(indent_of(below)) > len(indent_of(above))
        return indent_of(below) if deeper or not opens else indent_of(above) + level_of(lines)
    if opens:
        return indent_of(above) + level_of(lines)
    apart = at > 0 and not lines[at - 1].strip()
    return "" if below is None and apart else indent_of(above)


def level_of(lines: Sequence[str]) -> str:
    """Return the whitespace of one indentation level."""
    tabs = any(line.startswith("\t") for line in lines)
    return "\t" if tabs else " " * unit_of(lines)


def trim_neighbours(code: Sequence[str], lines: Sequence[str], start: int, end: int) -> list[str]:
    """Remove lines of the code that repeat lines before or after the range (0-based, half open).

    Lines count as repeated if two of them are unique in the text. They also count if there are two, or one
    next to an unchanged line of the range, and the range itself does not begin or end so; or if a single
    one opens the block around the range. Blank lines are not compared.

    :raises UnusableAnswer: the code has changed lines from around the range, or nothing else.
    """
    counts = Counter(line.strip() for line in lines)
    once = {text for text, count in counts.items() if count == 1 and _TELLING.search(text)}
    before, old, after = (_filled_lines(part) for part in (lines[:start], lines[start:end], lines[end:]))
    filled = _filled_lines(code)
    head = _count_repeated_at_start(filled, before, old, once)
    place = before[-head:] if head else old
    offsets = {0} | _offsets(filled[:1], place[:1]) if place else set()
    tail = _count_repeated_at_end(filled[head:], after, old, once, offsets, both=bool(head))
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


def _count_repeated_at_start(code: list[str], before: list[str], old: list[str], once: set[str]) -> int:
    """Return the number of leading lines that repeat the lines before the range."""
    for count in _overlaps(code, before):
        repeated = filled_texts(code[:count])
        if sum(text in once for text in repeated) >= _ENOUGH:
            return count
        tells = _is_telling(repeated)
        kept = bool(old) and filled_texts(code[count : count + 1]) == filled_texts(old[:1])
        there = [*before[-count:], *old[:kept]]
        # the first line may have lost its indentation
        uniform = len(_offsets(code[1 : count + kept], there[1:])) <= 1
        if repeated == filled_texts(old[:count]) or not uniform:
            continue
        if (tells and count >= _ENOUGH) or (kept and (tells or not _OPENS.search(before[-1]))):
            return count
        if count == 1 and tells and repeated[0] in once and _OPENS.search(before[-1]) and len(code) > 1:
            return count
    return 0


def _count_repeated_at_end(
    code: list[str], after: list[str], old: list[str], once: set[str], offsets: set[int], *, both: bool
) -> int:
    """Return the number of trailing lines that repeat the lines after the range.

    :param offsets: possible shifts in columns between code and text; empty if unknown. A closing line
        that belongs to the code is deeper than the surrounding block's.
    :param both: lines before the range were repeated, so lines after it are expected, too.
    """
    for count in _overlaps(code[::-1], after[::-1]):
        repeated = filled_texts(code[-count:])
        if sum(text in once for text in repeated) >= _ENOUGH:
            return count
        moved = _offsets(code[-count:], after[:count])
        if len(moved) > 1 or not moved <= (offsets or moved):
            continue
        if repeated == filled_texts(old[-count:]) and _offsets(code[-count:], old[-count:]) <= (
            offsets or moved
        ):
            continue
        kept = bool(old) and filled_texts(code[-count - 1 : -count]) == filled_texts(old[-1:])
        if kept or both or (count >= _ENOUGH and _is_telling(repeated)):
            return count
    return 0


def _overlaps(code: list[str], near: list[str]) -> Iterator[int]:
    """Yield, longest first, the counts of leading code lines that end `near`."""
    texts, context = filled_texts(code), filled_texts(near)
    for count in range(min(len(texts), len(context)), 0, -1):
        if context[-count] == texts[0] and context[-count:] == texts[:count]:
            yield count


def _offsets(code: list[str], lines: list[str]) -> set[int]:
    return {width_of(one) - width_of(other) for one, other in zip(code, lines, strict=True)}


def _is_telling(lines: list[str]) -> bool:
    return any(_TELLING.search(text) for text in lines)


def _refuse_changed_neighbours(
    code: list[str], before: list[str], after: list[str], once: set[str], *, trimmed: bool
) -> None:
    """Reject code that contains lines from around the range, separated by changed lines.

    One such line suffices if the code also repeats a neighbour, or if it opens the block.
    """
    texts = filled_texts(code)
    for near in (before[-_ENOUGH:], after[:_ENOUGH]):
        strange = [line.strip() for line in near if line.strip() in once and line.strip() in texts]
        opens = bool(before) and before[-1].strip() in strange and _OPENS.search(before[-1]) is not None
        if strange and (trimmed or opens or len(strange) >= _ENOUGH):
            raise UnusableAnswer(f"it holds lines around the place, such as {strange[0]!r}; {_ONLY}")


def _refuse_second_definition(code: list[str], old: Sequence[str], before: list[str]) -> None:
    """Reject code that begins by redefining the definition before the range."""
    above = _DEFINES.match(before[-1]) if before else None
    again = _DEFINES.match(code[0])
    own = next((_DEFINES.match(line) for line in old if line.strip()), None)
    if above and again and not own and above["name"] == again["name"]:
        raise UnusableAnswer(f"it repeats the line before the place, {before[-1].strip()!r}; {_ONLY}")


def _index_of(code: Sequence[str], filled: int) -> int:
    """Return the line number of the n-th non-blank line, or the end if there are fewer."""
    numbers = [number for number, line in enumerate(code) if line.strip()]
    return numbers[filled] if -len(numbers) <= filled < len(numbers) else len(code)


def _filled_lines(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if line.strip()]
