"""Indentation: moving lines uniformly, and from spaces to tabs and back."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING

from tideate_core.errors import UnusableAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["first_indent", "in_style_of", "indent_of", "shift", "strip_edges", "unit_of"]

_USUAL_UNIT = 4


def indent_of(line: str) -> str:
    """Return a line's leading blanks."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def first_indent(lines: Iterable[str]) -> str:
    """Return the indentation of the first line that is not blank."""
    return next((indent_of(line) for line in lines if line.strip()), "")


def strip_edges(lines: Sequence[str]) -> tuple[int, int]:
    """Return where the lines start and end without the blank ones at both edges."""
    filled = [number for number, line in enumerate(lines) if line.strip()]
    return (filled[0], filled[-1] + 1) if filled else (0, 0)


def unit_of(lines: Iterable[str]) -> int:
    """Return by how many spaces the lines are indented a level."""
    steps = _steps({len(indent) for indent in _indents(lines) if "\t" not in indent})
    # a single odd continuation line must not turn the unit into 1
    unit = reduce(gcd, steps, 0)
    return unit if unit > 1 else min((step for step in steps if step > 1), default=_USUAL_UNIT)


def _steps(widths: set[int]) -> list[int]:
    ordered = sorted(widths | {0})
    return [after - before for before, after in pairwise(ordered)]


def shift(lines: Sequence[str], old: str, new: str) -> list[str]:
    """Move lines uniformly, so that the indentation `old` becomes `new`; blank lines stay as they are.

    :raises UnusableAnswer: a line is indented too little to be moved that far.
    """
    return [line if not line.strip() else _moved(line, old, new) for line in lines]


def _moved(line: str, old: str, new: str) -> str:
    indent = indent_of(line)
    if indent.startswith(old):
        return new + line[len(old) :]
    missing = len(old) - len(indent)
    # of mixed blanks nobody can tell which ones such a line is to have
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
    return [indent for line in lines if line.strip() and (indent := indent_of(line))]
