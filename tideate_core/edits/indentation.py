"""Indentation: measurement, uniform shifts, and the rule between an answer's indentation and the file's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING, TypeAlias

from tideate_core.errors import UnusableAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Rule: TypeAlias = "Callable[[Sequence[str]], list[str]]"
"""Maps the indentation of an answer's lines to the file's."""
_USUAL_UNIT = 4
_MOST_BLANKS = 8
"""Most spaces that equal a tab."""
_MOSTLY = 0.9
"""Share of tab-indented lines that makes a file tab-indented."""
_LEAST_SPACES = 2
"""Fewest spaces that count as space indentation: block comments continue with one space before a ``*``."""


def indent_of(line: str) -> str:
    """Return a line's leading whitespace."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def width_of(line: str) -> int:
    """Return the indentation of a line in columns, with tab stops every four."""
    return len(indent_of(line).expandtabs(_USUAL_UNIT))


def first_indent(lines: Iterable[str]) -> str:
    """Return the indentation of the first non-blank line."""
    return next((indent_of(line) for line in lines if line.strip()), "")


def strip_edges(lines: Sequence[str]) -> tuple[int, int]:
    """Return the half-open range of the lines without blank lines at the edges."""
    filled = [number for number, line in enumerate(lines) if line.strip()]
    return (filled[0], filled[-1] + 1) if filled else (0, 0)


def filled_texts(lines: Iterable[str]) -> list[str]:
    """Return the non-blank lines, stripped."""
    return [line.strip() for line in lines if line.strip()]


def unit_of(lines: Iterable[str]) -> int:
    """Return the number of spaces per indentation level."""
    widths = sorted({0, *(len(indent) for indent in _indents(lines) if "\t" not in indent)})
    steps = [after - before for before, after in pairwise(widths)]
    # a single odd continuation line must not turn the unit into 1
    unit = reduce(gcd, steps, 0)
    return unit if unit > 1 else min((step for step in steps if step > 1), default=_USUAL_UNIT)


def shift(lines: Sequence[str], old: str, new: str) -> list[str]:
    """Replace the indentation `old` by `new` on all lines; blank lines are unchanged.

    :raises UnusableAnswer: a line is indented too little.
    """
    return [line if not line.strip() else _shift_line(line, old, new) for line in lines]


def _shift_line(line: str, old: str, new: str) -> str:
    indent = indent_of(line)
    if indent.startswith(old):
        return new + line[len(old) :]
    missing = len(old) - len(indent)
    # with mixed whitespace the line's own indentation is ambiguous
    if not 0 < missing <= len(new) or not old.startswith(indent) or len(set(new)) > 1:
        raise UnusableAnswer(
            f"the line {line.strip()!r} does not fit in: it is indented less than the first line of your "
            "code; keep the indentation of the original lines"
        )
    return new[: len(new) - missing] + line[len(indent) :]


def in_style_of(lines: Sequence[str], model: Sequence[str]) -> list[str]:
    """Indent with tabs or spaces as `model` does; unchanged if `model` has no indentation."""
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
    # fast for whole files: most lines begin with text, or end after their blanks
    return [
        line[: len(line) - len(text)]
        for line in lines
        if line[:1] in " \t" and (text := line.lstrip(" \t")) and not text.isspace()
    ]


@dataclass(frozen=True, slots=True)
class _Convert:
    """Converts between spaces and tabs; `offset` columns are removed or, if negative, added."""

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


def _with_usual_tabs(lines: Sequence[str]) -> list[str]:
    """Replace spaces by tabs of four columns, and keep the remaining spaces."""
    return [_with_tabs(line, _USUAL_UNIT) if line.strip() else line for line in lines]


def indentation_between(search: Sequence[str], there: Sequence[str], replace: Sequence[str]) -> Rule | None:
    """Return the rule that maps the indentation of `search` to that of `there`; None without one.

    The rule is uniform: it adds or removes the same whitespace on all lines, or converts tabs to a fixed
    number of spaces, which the matched lines must determine.
    """
    pairs = [
        (indent_of(given), indent_of(own)) for given, own in zip(search, there, strict=True) if given.strip()
    ]
    if not pairs:
        return list
    given = _blanks(one for one, _ in pairs) or _blanks(indent_of(line) for line in replace if line.strip())
    own = _blanks(other for _, other in pairs)
    if len(given) == len(own) == 1 and given != own:
        rule: Rule | None = _conversion_of(pairs)
    else:
        rule = _shift_of(pairs) if len(given) < 2 or given == own else None
    if rule is not None and _rule_holds(rule, pairs):
        return rule
    if given == {" "} and "\t" in own and _rule_holds(_with_usual_tabs, pairs):
        return _with_usual_tabs
    return None


def _blanks(indents: Iterable[str]) -> set[str]:
    return set("".join(indents))


def _rule_holds(rule: Rule, pairs: list[tuple[str, str]]) -> bool:
    try:
        moved = rule([f"{given}." for given, _ in pairs])
    except UnusableAnswer:
        return False
    return moved == [f"{own}." for _, own in pairs]


def _shift_of(pairs: list[tuple[str, str]]) -> Rule | None:
    given, own = min(pairs, key=lambda pair: len(pair[0]))
    if given == own:
        return list
    return partial(shift, old=given, new=own) if given.endswith(own) or own.endswith(given) else None


def _conversion_of(pairs: list[tuple[str, str]]) -> _Convert | None:
    to_tabs = any("\t" in own for _, own in pairs)
    columns = {(len(one), len(other)) if to_tabs else (len(other), len(one)) for one, other in pairs}
    unit = _spaces_per_tab(columns)
    if unit is None:
        return None
    width, tabs = min(columns)
    return _Convert(unit, width - unit * tabs if to_tabs else unit * tabs - width, to_tabs)


def _spaces_per_tab(columns: set[tuple[int, int]]) -> int | None:
    """Return the width of a tab from (spaces, tabs) of the same lines; None if they are ambiguous."""
    (width, tabs), (most_width, most_tabs) = min(columns), max(columns)
    if most_tabs > tabs:
        unit, rest = divmod(most_width - width, most_tabs - tabs)
    elif width and tabs:
        unit, rest = divmod(width, tabs)
    else:
        return None
    return unit if not rest and 0 < unit <= _MOST_BLANKS else None


def refuse_other_blanks(lines: Sequence[str], search: Sequence[str], new: Sequence[str]) -> None:
    """Reject new lines with spaces in a tab-indented file, or tabs in a space-indented one.

    :raises UnusableAnswer: the searched lines give no rule for a conversion.
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
