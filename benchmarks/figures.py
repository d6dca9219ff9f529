"""Table of a benchmark's figures beside their targets."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

WIDE: Final = 160
"""Columns of the tables where there is no terminal: a log has room."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of a table; it is to be at most its target."""

    name: str
    samples: list[float]
    unit: str = ""
    target: float | None = None
    exact: bool = False
    """A count, the same on every machine: to miss its target is a defect."""
    at_least: bool = False
    """It is to be at least its target instead."""

    @property
    def value(self) -> float:
        """The median."""
        return statistics.median(self.samples)

    @property
    def reached(self) -> bool:
        if self.target is None:
            return True
        return self.value >= self.target if self.at_least else self.value <= self.target


def console() -> Console:
    """Return where tables are printed."""
    made = Console()
    if not made.is_terminal:
        made.width = WIDE
    return made


def ratios(ours: list[float], theirs: list[float]) -> list[float]:
    """Compare turn by turn, which cancels out the load of the machine."""
    return [one / other for one, other in zip(ours, theirs, strict=True)]


def number(value: float) -> str:
    """Return a value with as many digits as tell something."""
    return f"{value:,.0f}" if value >= 100 else f"{value:,.3f}" if value < 1 else f"{value:,.2f}"


def spread(samples: list[float]) -> str:
    """Return the smallest and the largest sample, empty if there is only one."""
    return f"{number(min(samples))} - {number(max(samples))}" if samples[1:] else ""


def targets_table(figures: Iterable[Figure | None], title: str = "tideate") -> Table:
    """Return a line for each figure and whether it reaches its target; None draws a line between two."""
    table = Table(title, "median", "spread", "", "target", "")
    for column in (1, 2, 4):
        table.columns[column].justify = "right"
    for figure in figures:
        if figure is None:
            table.add_section()
            continue
        sign = "" if figure.target is None else "[green]✓[/]" if figure.reached else "[red]✗[/]"
        wanted = "" if figure.target is None else f"{'≥' if figure.at_least else '≤'} {figure.target:,g}"
        table.add_row(figure.name, number(figure.value), spread(figure.samples), figure.unit, wanted, sign)
    return table
