"""`tideate history`: the runs of a project, what became of them, and what was counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from tideate_core.cli.exits import DONE, status_of
from tideate_core.cli.output import fail, messages, print_json, tell, visible
from tideate_core.cli.places import locate
from tideate_core.cli.runs import (
    cost_words,
    hint,
    lasted,
    page,
    run_json,
    short,
    state_text,
    steps_words,
    table,
    token_words,
    when,
)
from tideate_core.errors import InvalidInput, TideateError
from tideate_core.project import project_state
from tideate_core.store import MOST_UNFINISHED, Reader, state_of

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from tideate_core.store import MetricsRow, RunRow, State

__all__ = ["HistoryOptions", "history"]


@dataclass(frozen=True, slots=True)
class HistoryOptions:
    """The arguments of `tideate history`."""

    limit: int = 20
    name: str | None = None
    status: State | None = None
    metrics: bool = False
    prune: bool = False
    keep: int | None = None
    days: int | None = None
    changes: bool = False
    dry_run: bool = False
    json: bool = False
    root: str | None = None


def history(options: HistoryOptions) -> int:
    """Print what the options ask for; returns the exit status."""
    try:
        _check(options)
        root = locate(options.root)
        if options.prune:
            # here, because it writes and the others only read
            from tideate_core import config
            from tideate_core.cli.pruning import prune

            return prune(options, root, config.load(root).config.history)
        show = _metrics if options.metrics else _runs
        show(options, root)
    except TideateError as error:
        fail(error, as_json=options.json)
        return status_of(error)
    return DONE


def _check(options: HistoryOptions) -> None:
    """:raises InvalidInput: options that do not go together."""
    if options.prune and (options.metrics or options.name or options.status):
        raise InvalidInput("--prune forgets runs and shows none; leave --metrics, --name and --status out")
    alone = {"--keep": options.keep is not None, "--changes": options.changes, "--dry-run": options.dry_run}
    for option, given in alone.items():
        if given and not options.prune:
            raise InvalidInput(f"{option} belongs to --prune")
    if options.days is not None and not (options.prune or options.metrics):
        raise InvalidInput("--days belongs to --prune or --metrics")
    if options.metrics and options.status:
        raise InvalidInput("--metrics counts all runs that ended; leave --status out")


def _runs(options: HistoryOptions, root: Path | None) -> None:
    runs = _found(options, Reader(project_state(root)))
    if options.json:
        print_json({"ok": True, "runs": [run_json(run) for run in runs]})
        return
    if not runs:
        tell(messages(), Text("no runs match" if options.status or options.name else "no runs yet"))
        hint(root)
        return
    columns = ("run", "workflow", "status", "when", "took", "steps", "tokens", "cost", "")
    rows = table(*columns, right=("took", "tokens", "cost"))
    for run in runs:
        rows.add_row(*_row(run))
    page().print(rows)
    hint(root)


def _found(options: HistoryOptions, reader: Reader) -> list[RunRow]:
    status = options.status
    if status in ("interrupted", "running", "paused"):
        unfinished = reader.runs(limit=MOST_UNFINISHED, name=options.name, unfinished=True)
        return [run for run in unfinished if state_of(run) == status][: options.limit]
    return reader.runs(limit=options.limit, name=options.name, status=status)


def _row(run: RunRow) -> tuple[str | Text, ...]:
    what = f"tideate resume {short(run.id)}" if run.resumable else " ".join((run.error or "").split())
    return (
        short(run.id),
        Text(visible(run.name)),
        state_text(run),
        when(run.started_at),
        lasted(run.duration_ms),
        steps_words(run),
        token_words(run.tokens),
        cost_words(run.tokens),
        Text(visible(what), style="dim" if run.error else "", overflow="ellipsis", no_wrap=True),
    )


def _metrics(options: HistoryOptions, root: Path | None) -> None:
    counted = Reader(project_state(root)).metrics(name=options.name, days=options.days)
    if options.json:
        print_json({"ok": True, "metrics": [_metrics_json(row) for row in counted]})
        return
    if not counted:
        tell(messages(), Text("nothing was counted yet"))
        return
    numbers = ("runs", "completed", "failed", "took on average", "steps on average", "checkpoints")
    rows = table("day (UTC)", "workflow", *numbers, "last", right=numbers)
    for row in counted:
        steps = "" if row.avg_steps_completed is None else f"{row.avg_steps_completed:.1f}"
        rows.add_row(
            row.date,
            Text(visible(row.name)),
            str(row.total),
            str(row.successful),
            str(row.failed),
            lasted(row.avg_duration_ms),
            steps,
            str(row.checkpoints),
            when(row.last_executed_at) if row.last_executed_at else "",
        )
    page().print(rows)


def _metrics_json(row: MetricsRow) -> dict[str, Any]:
    return {
        "workflow_id": row.workflow_id,
        "workflow": row.name,
        "date": row.date,
        "total": row.total,
        "successful": row.successful,
        "failed": row.failed,
        "avg_duration_ms": row.avg_duration_ms,
        "avg_steps_completed": row.avg_steps_completed,
        "checkpoints": row.checkpoints,
        "last_executed_at": row.last_executed_at,
    }
