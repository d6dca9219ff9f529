"""Reports of `for_each` items, tool calls and gated tasks for `tideate show`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from tideate_core.app import CHECK_ENDED, GATE_EVENTS, Item
from tideate_core.cli.render.output import (
    markdown_source,
    print_line,
    results,
)
from tideate_core.cli.render.tables import table, when
from tideate_core.cli.render.words import (
    calls_words,
    check_text,
    failure_words,
    gate_issues,
    gate_text,
    lasted,
    rolled_back_lines,
    tool_text,
)
from tideate_core.util.cutting import beginning
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

    from tideate_core.app import RunDetails
    from tideate_core.store import EventRow, StepRow

NAMED: Final = 3
"""Failures named in the line of a step."""
FEW_CALLS: Final = 5
"""Maximum tool calls listed by default."""
LONGEST: Final = 70
"""Maximum characters of an error in a line."""
STYLES: Final[Mapping[str, str]] = {"done": "green", "failed": "red", "declined": "yellow", "stopped": "dim"}


def items_words(items: list[Item], result: Any) -> str:
    """Return item counts by state, the longest item and the first failures.

    :param result: the step's result, a list with one value for each item; None before its end.
    """
    counted = Counter[str](item.state for item in items)
    total = f" of {len(result)}" if isinstance(result, list) else ""
    counts = [
        f"{counted[state]}{total if state == 'done' else ''} {state}" for state in STYLES if counted[state]
    ]
    longest = max(items, key=lambda item: item.duration_ms)
    words = f"{', '.join(counts)}; the longest [{longest.index}] took {lasted(longest.duration_ms)}"
    failed = [item for item in items if item.state == "failed"]
    named = "".join(
        f"; [{item.index}] {beginning(' '.join((item.error or '').split()), LONGEST)}"
        for item in failed[:NAMED]
    )
    more = f"; and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
    return f"{words}{named}{more}"


def items_table(items: list[Item]) -> Table:
    """Return a table of all items."""
    rows = table("item", "", "tries", "ended", "took", "error", right=("item", "tries", "took"))
    for item in items:
        rows.add_row(
            str(item.index),
            Text(item.state, style=STYLES[item.state]),
            str(item.tries),
            when(item.ended_at, seconds=True).partition(" ")[2],
            lasted(item.duration_ms),
            Text(visible(item.error or ""), style="red"),
        )
    return rows


def show_task(details: RunDetails) -> None:
    """Print a task's plan, audit, gates, checks, corrections and rollback."""
    if details.plan is not None:
        _show_plan(details.plan, details.audit)
    if details.decisions:
        results().print(Text("\nGates and checks", style="bold"))
    visit = ""
    for row in details.decisions:
        if row.data["step"] != visit:
            visit = row.data["step"]
            print_line(f" {visit}", "dim")
        _show_decision(row)
    _show_corrections(details.corrections)
    done = details.rollback
    if done is not None:
        results().print()
        for line in rolled_back_lines(done):
            print_line(line)


def show_calls(calls: list[EventRow], *, every: bool) -> None:
    """Print a run's tool calls by step; of many, only the counts unless `every`."""
    if calls:
        words = f"\n{calls_words([row.data for row in calls])}"
        print_line(words, "bold")
    if len(calls) > FEW_CALLS and not every:
        results().print(Text("   `tideate show --calls` lists them", style="dim"))
        return
    visit = ""
    for row in calls:
        if row.data["step"] != visit:
            visit = row.data["step"]
            print_line(f" {visit}", "dim")
        print_line(Text("   ").append_text(tool_text(row.data)))


def _show_plan(plan: dict[str, Any], audit: dict[str, Any] | None) -> None:
    # here, because few runs are gated tasks
    from tideate_core.agents import plan_as_markdown
    from tideate_core.gates import AuditReport, ExecutionPlan

    text = plan_as_markdown(
        ExecutionPlan.model_validate(plan), None if audit is None else AuditReport.model_validate(audit)
    )
    console = results()
    console.print()
    if console.is_terminal:
        console.print(markdown_source(text))
    else:
        console.print(Text(visible(text.rstrip("\n"))), soft_wrap=True)


def _show_decision(row: EventRow) -> None:
    indent = Text("   ")
    if row.name == CHECK_ENDED:
        line, issues = check_text(row.data), [failure_words(one) for one in row.data["failures"]]
    else:
        line, issues = gate_text(row.data, passed=GATE_EVENTS[row.name]), gate_issues(row.data)
    print_line(indent.append_text(line))
    for words in issues:
        print_line(f"     {words}", "red")


def _show_corrections(found: list[StepRow]) -> None:
    if found:
        results().print(Text("\nCorrections", style="bold"))
    for number, row in enumerate(found, start=1):
        value = row.result if isinstance(row.result, dict) else {}
        files = ", ".join(row.files)
        words = value.get("summary") or value.get("end") or row.error or row.status
        changed = f"  ({files})" if files else ""
        print_line(f"   {number}. {words}{changed}")
