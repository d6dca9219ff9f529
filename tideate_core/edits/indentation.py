"""Indentation: measure it, move lines uniformly, derive the rule between an answer's lines and the file's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING

from tideate_core.errors import UnusableAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = [
    "filled_texts",
    "first_indent",
    "in_style_of",
    "indent_of",
    "indentation_between",
    "refuse_other_blanks",
    "shift",
    "strip_edges",
    "unit_of",
    "width_of",
]

_USUAL_UNIT = 4
_MOST_BLANKS = 8
"""Spaces that stand for a tab at most."""
_MOSTLY = 0.9
"""Share of the indented lines that makes a file one of tabs."""
_LEAST_SPACES = 2
"""One space before a ``*`` is how block comments go on, tabs or not."""


def indent_of(line: str) -> str:
    """Return a line's leading blanks."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def width_of(line: str) -> int:
    """Return by how many columns a line is indented, with a tab at every fourth."""
    return len(indent_of(line).expandtabs(_USUAL_UNIT))


def first_indent(lines: Iterable[str]) -> str:
    """Return the indentation of the first line that is not blank."""
    return next((indent_of(line) for line in lines if line.strip()), "")


def strip_edges(lines: Sequence[str]) -> tuple[int, int]:
    """Return start and end (half open) of the lines without the blank ones at both edges."""
    filled = [number for number, line in enumerate(lines) if line.strip()]
    return (filled[0], filled[-1] + 1) if filled else (0, 0)


def filled_texts(lines: Iterable[str]) -> list[str]:
    """Return the lines that are not blank, without blanks at their edges."""
    return [line.strip() for line in lines if line.strip()]


def unit_of(lines: Iterable[str]) -> int:
    """Return by how many spaces the lines are indented a level."""
    steps = _distances({len(indent) for indent in _indents(lines) if "\t" not in indent})
    # a single odd continuation line must not turn the unit into 1
    unit = reduce(gcd, steps, 0)
    return unit if unit > 1 else min((step for step in steps if step > 1), default=_USUAL_UNIT)


def _distances(widths: set[int]) -> list[int]:
    ordered = sorted(widths | {0})
    return [after - before for before, after in pairwise(ordered)]


def shift(lines: Sequence[str], old: str, new: str) -> list[str]:
    """Move lines uniformly, so that the indentation `old` becomes `new`; blank lines stay as they are.

    :raises UnusableAnswer: a line is indented too little to be moved that far.
    """
    return [line if not line.strip() else _shift_line(line, old, new) for line in lines]


def _shift_line(line: str, old: str, new: str) -> str:
    indent = indent_of(line)
    if indent.startswith(old):
        return new + line[len(old) :]
    missing = len(old) - len(indent)
    # mixed blanks do not tell which ones such a line is to have
    if not 0 < missing <= len(new) or not old.startswith(indent) or len(set(new)) > 1:
        raise UnusableAnswer(
            f"the line {line.strip()!r} does not fit in: it is indented less than the first line of your "
            "code; keep the indentation of the original lines"
        )
    return new[: len(new) - missing] + line[len(indent) :]


def in_style_of(lines: Sequence[str], model: Sequence[str]) -> list[str]:
    """Indent with tabs or with spaces, whichever the lines of `model` use; unchanged if they tell nothing."""
    wanted, given = _indents(model), _indents(lines)
    if not wanted or not given:
        return list(lines)
    if _all_tabs(wanted) and _no_tabs(given):
        unit = unit_of(lines)
        return [_with_tabs(line, unit) for line in lines]
    if _no_tabs(wanted) and _all_tabs(given):
        unit = unit_of(model)
        return [indent_of(line).replace("\t", " " * unit) + line.lstrip("\t") for line in lines]
    return list(lines)


def _all_tabs(indents: list[str]) -> bool:
    return all(indent.startswith("\t") for indent in indents)


def _no_tabs(indents: list[str]) -> bool:
    return not any("\t" in indent for indent in indents)


def _with_tabs(line: str, unit: int) -> str:
    width = len(indent_of(line))
    return "\t" * (width // unit) + " " * (width % unit) + line.lstrip(" ")


def _indents(lines: Iterable[str]) -> list[str]:
    # of every line of a file: most begin with their text, or end after their blanks
    return [
        line[: len(line) - len(text)]
        for line in lines
        if line[:1] in " \t" and (text := line.lstrip(" \t")) and not text.isspace()
    ]


@dataclass(frozen=True, slots=True)
class _Shift:
    """`old` at the beginning of each line becomes `new`."""

    old: str
    new: str

    def __call__(self, lines: Sequence[str]) -> list[str]:
        return shift(lines, self.old, self.new) if self.old != self.new else list(lines)


@dataclass(frozen=True, slots=True)
class _Convert:
    """Spaces become tabs or tabs spaces; `offset` columns are removed or, below 0, added."""

    unit: int
    offset: int
    to_tabs: bool

    def __call__(self, lines: Sequence[str]) -> list[str]:
        return [self._line(line) if line.strip() else line for line in lines]

    def _line(self, line: str) -> str:
        indent = indent_of(line)
        width = len(indent) if self.to_tabs else len(indent) * self.unit
        if (self.to_tabs and "\t" in indent) or (not self.to_tabs and " " in indent):
            raise UnusableAnswer(
                f"the line {line.strip()!r} mixes tabs and spaces; indent it as the file does"
            )
        count, rest = divmod(width - self.offset, self.unit) if self.to_tabs else (width - self.offset, 0)
        if count < 0 or rest:
            raise UnusableAnswer(
                f"the line {line.strip()!r} is indented by {len(indent)}, which does not fit the lines "
                "around it; indent it as the file does"
            )
        return ("\t" if self.to_tabs else " ") * count + line[len(indent) :]


@dataclass(frozen=True, slots=True)
class _Columns:
    """Spaces become tabs of `unit` columns, the rest stays spaces: the file mixes both in this way."""

    unit: int

    def __call__(self, lines: Sequence[str]) -> list[str]:
        return [_with_tabs(line, self.unit) if line.strip() else line for line in lines]


def indentation_between(
    search: Sequence[str], there: Sequence[str], replace: Sequence[str]
) -> Callable[[Sequence[str]], list[str]] | None:
    """Return the rule that turns the indentation of `search` into that of `there`; None: there is none.

    The rule is uniform: the same blanks are added to or taken from all lines, or each tab is the same
    number of spaces; the lines that are both searched and found have to tell this number.
    """
    pairs = [
        (indent_of(given), indent_of(own)) for given, own in zip(search, there, strict=True) if given.strip()
    ]
    if not pairs:
        return _Shift("", "")
    given = _blanks(one for one, _ in pairs) or _blanks(indent_of(line) for line in replace if line.strip())
    own = _blanks(other for _, other in pairs)
    if len(given) == len(own) == 1 and given != own:
        rule: _Shift | _Convert | None = _conversion_of(pairs)
    else:
        rule = _shift_of(pairs) if len(given) < 2 or given == own else None
    if rule is not None and _rule_holds(rule, pairs):
        return rule
    columns = _Columns(_USUAL_UNIT)
    return columns if given == {" "} and "\t" in own and _rule_holds(columns, pairs) else None


def _blanks(indents: Iterable[str]) -> set[str]:
    return set("".join(indents))


def _rule_holds(rule: Callable[[Sequence[str]], list[str]], pairs: list[tuple[str, str]]) -> bool:
    try:
        moved = rule([f"{given}." for given, _ in pairs])
    except UnusableAnswer:
        return False
    return moved == [f"{own}." for _, own in pairs]


def _shift_of(pairs: list[tuple[str, str]]) -> _Shift | None:
    given, own = min(pairs, key=lambda pair: len(pair[0]))
    return _Shift(given, own) if given.endswith(own) or own.endswith(given) else None


def _conversion_of(pairs: list[tuple[str, str]]) -> _Convert | None:
    to_tabs = any("\t" in own for _, own in pairs)
    columns = {(len(one), len(other)) if to_tabs else (len(other), len(one)) for one, other in pairs}
    unit = _spaces_per_tab(columns)
    if unit is None:
        return None
    width, tabs = min(columns)
    return _Convert(unit, width - unit * tabs if to_tabs else unit * tabs - width, to_tabs)


def _spaces_per_tab(columns: set[tuple[int, int]]) -> int | None:
    """Return the width of a tab by (spaces, tabs) of the same lines; None if they do not tell."""
    (width, tabs), (most_width, most_tabs) = min(columns), max(columns)
    if most_tabs > tabs:
        unit, rest = divmod(most_width - width, most_tabs - tabs)
    elif width and tabs:
        unit, rest = divmod(width, tabs)
    else:
        return None
    return unit if not rest and 0 < unit <= _MOST_BLANKS else None


def refuse_other_blanks(lines: Sequence[str], search: Sequence[str], new: Sequence[str]) -> None:
    """Refuse new lines with spaces in a file of tabs, or the other way round, where no rule is known.

    :raises UnusableAnswer: the lines to search have no indentation to go by, or have the file's.
    """
    if not any("\t" in indent for indent in _indents(new)) and "\t" not in "".join(lines):
        return
    own = _indents(line for line in lines if not _continues_comment(line))
    tabs = sum(indent.startswith("\t") for indent in own)
    if not own or any(line.strip() and _is_foreign(line, tabs, len(own)) for line in search):
        return
    for line in new:
        if line.strip() and not _continues_comment(line) and _is_foreign(line, tabs, len(own)):
            wanted, given = ("tabs", "spaces") if tabs else ("spaces", "tabs")
            raise UnusableAnswer(
                f"the file is indented with {wanted} and your line {line.strip()!r} with {given}; "
                f"use {wanted}"
            )


def _is_foreign(line: str, tabs: int, count: int) -> bool:
    indent = indent_of(line)
    if tabs >= count * _MOSTLY:
        return indent.startswith(" " * _LEAST_SPACES)
    return tabs == 0 and "\t" in indent


def _continues_comment(line: str) -> bool:
    return line.lstrip().startswith("*")
