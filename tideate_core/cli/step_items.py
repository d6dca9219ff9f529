"""What became of the items of a `for_each`, as the run's events tell."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from rich.text import Text

from tideate_core.cli.output import visible
from tideate_core.cli.runs import lasted, table, when

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.table import Table

    from tideate_core.store import EventRow

__all__ = ["Item", "item_json", "items_of", "items_table", "items_words"]

EXECUTED: Final = "SD_EVENT_STEP_EXECUTED"
ITEM: Final = re.compile(r"(.+)\[(\d+)\]")
NAMED: Final = 3
"""Failures that the line of a step tells."""
LONGEST: Final = 70
"""Characters of an error on a line."""
STYLES: Final[Mapping[str, str]] = {"done": "green", "failed": "red", "declined": "yellow", "stopped": "dim"}


@dataclass(frozen=True, slots=True)
class Item:
    """How an item ended the last time that it was done."""

    index: int
    state: Literal["done", "failed", "declined", "stopped"]
    """`stopped` is one that was cut off because another failed, or the run was cancelled."""
    tries: int
    at: int
    """When it ended, milliseconds since the epoch."""
    duration_ms: int
    error: str | None = None


def items_of(happened: Iterable[EventRow]) -> dict[str, list[Item]]:
    """Return the items that ended, by their step and in the order of the list."""
    found: dict[str, dict[int, Item]] = {}
    for row in happened:
        named = ITEM.fullmatch(str(row.data.get("step"))) if row.name == EXECUTED else None
        if named is not None:
            items, index = found.setdefault(named[1], {}), int(named[2])
            before = items.get(index)
            items[index] = _item(row, index, 1 + (before.tries if before else 0))
    return {step: [items[index] for index in sorted(items)] for step, items in found.items()}


def items_words(items: list[Item], result: Any) -> str:
    """Return how many items a step had, and which failed.

    :param result: of the step, which has one for each item; None while it has not ended.
    """
    counted = Counter[str](item.state for item in items)
    total = f" of {len(result)}" if isinstance(result, list) else ""
    counts = [
        f"{counted[state]}{total if state == 'done' else ''} {state}" for state in STYLES if counted[state]
    ]
    longest = max(items, key=lambda item: item.duration_ms)
    words = f"{', '.join(counts)}; the longest [{longest.index}] took {lasted(longest.duration_ms)}"
    failed = [item for item in items if item.state == "failed"]
    told = "".join(f"; [{item.index}] {_short(item.error)}" for item in failed[:NAMED])
    more = f"; and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
    return f"{words}{told}{more}"


def items_table(items: list[Item]) -> Table:
    """Return a row for every item."""
    rows = table("item", "", "tries", "ended", "took", "error", right=("item", "tries", "took"))
    for item in items:
        rows.add_row(
            str(item.index),
            Text(item.state, style=STYLES[item.state]),
            str(item.tries),
            when(item.at, seconds=True).partition(" ")[2],
            lasted(item.duration_ms),
            Text(visible(item.error or ""), style="red"),
        )
    return rows


def item_json(item: Item) -> dict[str, Any]:
    """Return an item as tools get it. Times are milliseconds."""
    shape: dict[str, Any] = {"index": item.index, "state": item.state, "tries": item.tries}
    return {**shape, "ended_at": item.at, "duration_ms": item.duration_ms, "error": item.error}


def _item(row: EventRow, index: int, tries: int) -> Item:
    data = row.data
    duration, error = int(data.get("duration_ms") or 0), data.get("error")
    if data.get("success"):
        return Item(index, "done", tries, row.at, duration)
    if data.get("declined"):
        return Item(index, "declined", tries, row.at, duration)
    return Item(index, "failed" if error else "stopped", tries, row.at, duration, error)


def _short(error: str | None) -> str:
    words = " ".join((error or "").split())
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"
