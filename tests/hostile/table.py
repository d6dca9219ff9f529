"""Table of failed cases: one row for each kind of failure."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from tests.hostile.cases import Outcome

__all__ = ["print_failures"]

MOST_COMMANDS: Final = 4
"""Commands named in a row."""


def print_failures(failed: Sequence[Outcome], console: Console) -> None:
    """Print each kind of failure with its trees and commands."""
    if not failed:
        return
    trees: defaultdict[str, Counter[str]] = defaultdict(Counter)
    commands: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for outcome in failed:
        for problem in outcome.problems:
            trees[problem][outcome.tree] += 1
            commands[problem][f"{outcome.command} [{outcome.state}]"] += 1
    table = Table("what", "cases", "trees", "commands", show_lines=True)
    for problem in sorted(trees, key=lambda one: -sum(trees[one].values())):
        count = str(sum(trees[problem].values()))
        table.add_row(Text(problem[:400]), count, Text(_told(trees[problem])), Text(_told(commands[problem])))
    console.print(table)


def _told(counted: Counter[str]) -> str:
    lines = [
        f"{text} ({count} times)" if count > 1 else text for text, count in counted.most_common(MOST_COMMANDS)
    ]
    more = len(counted) - len(lines)
    return "\n".join([*lines, *([f"and {more} more"] if more else [])])
