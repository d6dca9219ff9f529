"""`tideate gates`: how the five gates of a task decided, across all runs of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from tideate_core.cli.exits import DONE, status_of
from tideate_core.cli.output import fail, messages, print_json, tell
from tideate_core.cli.runs import lasted, page, reader_of, table, when
from tideate_core.errors import TideateError

if TYPE_CHECKING:
    from tideate_core.store import GateCount

__all__ = ["gates"]

NAMES: Final = ("plan", "audit", "execution", "documentation", "verification")


def gates(root: str | None, *, days: int | None, as_json: bool) -> int:
    """Print the statistics of the gates; returns the exit status.

    :param days: only of so many days (UTC), today among them.
    """
    try:
        counts = {count.gate: count for count in reader_of(root).gates(days=days)}
    except TideateError as error:
        fail(error, as_json=as_json)
        return status_of(error)
    if as_json:
        shapes = [_json(number, name, counts.get(number)) for number, name in enumerate(NAMES, start=1)]
        print_json({"ok": True, "gates": shapes})
    elif not counts:
        since = "" if days is None else f" in the last {days} days" if days > 1 else " today"
        tell(messages(), Text(f"no gate has decided{since}; `tideate run task` asks them"))
    else:
        _print(counts)
    return DONE


def _print(counts: dict[int, GateCount]) -> None:
    numbers = ("passed", "failed", "auto-fixed", "average", "longest")
    rows = table("gate", *numbers, "last", right=numbers)
    for number, name in enumerate(NAMES, start=1):
        count = counts.get(number)
        if count is None:
            rows.add_row(f"{number} {name}", *("",) * len(numbers), "never asked", style="dim")
            continue
        rows.add_row(
            f"{number} {name}",
            Text(str(count.passed), style="green" if count.passed else "dim"),
            Text(str(count.failed), style="red" if count.failed else "dim"),
            Text(str(count.auto_fixed), style="" if count.auto_fixed else "dim"),
            lasted(_average(count)),
            lasted(count.longest_ms),
            when(count.last_at),
        )
    page().print(rows)


def _average(count: GateCount) -> float:
    # a row is counted with its first decision
    return count.total_ms / (count.passed + count.failed)


def _json(number: int, name: str, count: GateCount | None) -> dict[str, Any]:
    if count is None:
        return {"gate": number, "name": name, "passed": 0, "failed": 0, "auto_fixed": 0}
    return {
        "gate": number,
        "name": name,
        "passed": count.passed,
        "failed": count.failed,
        "auto_fixed": count.auto_fixed,
        "average_ms": _average(count),
        "longest_ms": count.longest_ms,
        "last_at": count.last_at,
    }
