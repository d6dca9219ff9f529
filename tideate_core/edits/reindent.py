"""How a model's lines are indented against the file's: by which rule, and whether there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tideate_core.edits.indent import indent_of, shift
from tideate_core.errors import UnusableAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["indentation_between", "refuse_other_blanks"]

_MOST_BLANKS = 8
"""Spaces that stand for a tab at most."""
_MOSTLY = 0.9
"""Share of the indented lines that makes a file one of tabs."""
_LEAST_SPACES = 2
"""One space before a ``*`` is how block comments go on, tabs or not."""


@dataclass(frozen=True, slots=True)
class _Shift:
    """`old` at the beginning of each line becomes `new`."""

    old: str
    new: str

    def __call__(self, lines: Sequence[str]) -> list[str]:
        return shift(lines, self.old, self.new) if self.old != self.new else list(lines)


@dataclass(frozen=True, slots=True)
class _Convert:
    """Spaces become tabs or tabs spaces; `offset` columns are left out or, below 0, put in."""

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
    return rule if rule is not None and _holds(rule, pairs) else None


def _blanks(indents: Iterable[str]) -> set[str]:
    return set("".join(indents))


def _holds(rule: Callable[[Sequence[str]], list[str]], pairs: list[tuple[str, str]]) -> bool:
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
    unit = _unit(columns)
    if unit is None:
        return None
    width, tabs = min(columns)
    return _Convert(unit, width - unit * tabs if to_tabs else unit * tabs - width, to_tabs)


def _unit(columns: set[tuple[int, int]]) -> int | None:
    """Return how many spaces a tab is, by (spaces, tabs) of the same lines; None if they do not tell."""
    (width, tabs), (most_width, most_tabs) = min(columns), max(columns)
    if most_tabs > tabs:
        unit, rest = divmod(most_width - width, most_tabs - tabs)
    elif width and tabs:
        unit, rest = divmod(width, tabs)
    else:
        return None
    return unit if not rest and 0 < unit <= _MOST_BLANKS else None


def refuse_other_blanks(lines: Sequence[str], search: Sequence[str], new: Sequence[str]) -> None:
    """Turn down new lines with spaces in a file of tabs, or the other way round, where no rule is known.

    :raises UnusableAnswer: the lines to search have no indentation to go by, or have the file's.
    """
    own = [indent for line in lines if line.strip() and (indent := indent_of(line)) and not _goes_on(line)]
    tabs = sum(indent.startswith("\t") for indent in own)
    if not own or any(indent_of(line) for line in search if line.strip() and _is_odd(line, tabs, len(own))):
        return
    for line in new:
        if line.strip() and not _goes_on(line) and _is_odd(line, tabs, len(own)):
            wanted, given = ("tabs", "spaces") if tabs else ("spaces", "tabs")
            raise UnusableAnswer(
                f"the file is indented with {wanted} and your line {line.strip()!r} with {given}; "
                f"use {wanted}"
            )


def _is_odd(line: str, tabs: int, count: int) -> bool:
    indent = indent_of(line)
    if tabs >= count * _MOSTLY:
        return indent.startswith(" " * _LEAST_SPACES)
    return tabs == 0 and "\t" in indent


def _goes_on(line: str) -> bool:
    return line.lstrip().startswith("*")
