"""Tables, table cells of runs, and hints about unfinished runs."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tideate_core.app import short_id, waiting_words
from tideate_core.cli.render.output import (
    hint_of_state,
    note,
    print_line,
    print_message,
)
from tideate_core.cli.render.words import count_words
from tideate_core.errors import StoreError
from tideate_core.project import project_state
from tideate_core.store import Reader, resumable_runs, state_of, state_word
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from rich.console import JustifyMethod, RenderableType

    from tideate_core.store import RunRow, Tokens

MOST_NAMED: Final = 5
"""Maximum runs named in a hint."""

STATES: Final[Mapping[str, tuple[str, str]]] = {
    "cancelled": ("⊘", "yellow"),
    "completed": ("✓", "green"),
    "declined": ("⊘", "yellow"),
    "failed": ("✗", "red"),
    "interrupted": ("⊘", "magenta"),
    "paused": ("‖", "cyan"),
    "rolled back": ("↺", "yellow"),
    "running": ("●", "bold blue"),
}
"""Sign and style of each state; the panel of Neovim has the same signs."""
_NARROW: Final = frozenset(
    {"", "run", "id", "status", "when", "began", "took", "steps", "tokens", "cached", "cost", "tries"}
)
"""Columns that are never wrapped."""
_AGES: Final = ((60, "s"), (60, "min"), (24, "h"), (28, "d"))
"""Each unit of time: its number in the next larger unit, and its name."""


def page() -> Console:
    """Return the console for tables; 200 columns wide without a terminal."""
    return Console(width=None if sys.stdout.isatty() else 200, highlight=False)


def table(*columns: str, right: Iterable[str] = (), cut: str | None = None) -> Table:
    """Create a table.

    :param right: right-aligned columns.
    :param cut: the column that takes the remaining width; by default the last.
    """
    made = _Listing(columns.index(cut) if cut else len(columns) - 1)
    for at, column in enumerate(columns):
        justify: JustifyMethod = "right" if column in right else "left"
        made.add_column(column, justify=justify, no_wrap=column in _NARROW and at != made.cut)
    return made


def facts(known: Mapping[str, str | Text]) -> None:
    """Print non-empty values with their names, one per line."""
    for name, value in known.items():
        text = value if isinstance(value, Text) else Text(visible(value))
        if text.plain:
            print_line(Text.assemble((f"{name:<12}", "dim"), text))


def when(at: int, *, seconds: bool = False) -> str:
    """Format a local time.

    :param at: milliseconds since the epoch.
    """
    return time.strftime(f"%Y-%m-%d %H:%M{':%S' if seconds else ''}", time.localtime(at / 1000))


def age(at: int, now: int) -> str:
    """Return the age of a time in its largest unit, or the date after four weeks and for the future.

    Both times are milliseconds since the epoch.
    """
    passed = (now - at) // 1000
    for many, unit in _AGES if passed > -_AGES[0][0] else ():
        if passed < many:
            return f"{passed} {unit} ago" if unit != "s" else "just now"
        passed //= many
    return when(at)[:10]


def state_text(run: RunRow, rolled_back: Collection[str] = (), *, sign: bool = False) -> Text:
    """Return the coloured state of a run.

    :param rolled_back: ids of completely rolled back runs.
    :param sign: return the state's sign instead of its word.
    """
    word = "rolled back" if run.ended and run.id in rolled_back else state_word(run)
    mark, style = STATES[word]
    return Text(mark if sign else word, style=style)


def steps_words(run: RunRow) -> str:
    """Return the number of completed steps and, if known, the total."""
    done = f"{run.completed_steps}/{run.total_steps}" if run.total_steps else str(run.completed_steps)
    return f"{done}, {run.failed_steps} failed" if run.failed_steps else done


def token_words(read: int, written: int) -> str:
    """Return input and output tokens; empty if none."""
    if not (read or written):
        return ""
    return f"{count_words(read)}/{count_words(written)}"


def cost_words(tokens: Tokens) -> str:
    """Return the cost; empty if unknown."""
    return "" if tokens.cost is None else f"${tokens.cost:.4f}"


class _Listing(Table):
    """Table that truncates one cell of a row; a no-wrap column would narrow the others."""

    def __init__(self, cut: int) -> None:
        super().__init__(box=None, header_style="dim", padding=(0, 2, 0, 0))
        self.cut = cut

    def add_row(self, *cells: RenderableType | None, **rest: Any) -> None:
        long = cells[self.cut]
        line = long.copy() if isinstance(long, Text) else Text(str(long or ""))
        line.no_wrap, line.overflow = True, "ellipsis"
        super().add_row(*cells[: self.cut], line, *cells[self.cut + 1 :], **rest)


def hint_resumable(root: Path | None) -> None:
    """Print a hint on stderr about resumable runs, or about state of a project that may have been moved."""
    reader = Reader(project_state(root))
    try:
        runs = resumable_runs(reader)
        lines = waiting_lines(reader, runs)
    except StoreError as error:
        note(str(error))
        return
    if not runs:
        if root is not None:
            hint_of_state(root)
        return
    words = f"{lines[0].strip()}: `tideate resume {short_id(runs[0].id)}` resumes it"
    if len(runs) > 1:
        head = f"{len(runs)} runs have not ended; `tideate resume RUN` resumes one, without RUN the newest:"
        words = "\n".join([head, *lines])
    print_message(words, "yellow")


def waiting_lines(reader: Reader, runs: Sequence[RunRow]) -> list[str]:
    """Return a line for each run with its state or open question, and a count of the others.

    :raises StoreError: the store cannot be read.
    """
    lines = []
    for run in runs[:MOST_NAMED]:
        what = waiting_words(reader, run) or f"is {state_of(run)}"
        lines.append(f"  {short_id(run.id)} of {run.name} {what}")
    left = len(runs) - len(lines)
    return [*lines, f"  and {left} more; `tideate history` lists them"] if left else lines
