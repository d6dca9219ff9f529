"""`tideate history` and `tideate gates`: list, count and prune runs; gate statistics."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter, validators
from rich.text import Text

from tideate_core.app import (
    GATES,
    RunFilter,
    average_ms,
    cost_json,
    gates_json,
    history_page,
    locate_project,
    metrics_json,
    read_costs,
    reader_of,
    rollback_states,
    rolled_back_ids,
    run_json,
    short_id,
    time_of,
    title_of,
    tokens_json,
)
from tideate_core.cli.arguments import Json, Limit, Positive, Root, Yes, as_text
from tideate_core.cli.process import DONE, run_async
from tideate_core.cli.render.output import (
    messages,
    note,
    print_json,
    print_message,
    report_errors,
)
from tideate_core.cli.render.tables import (
    age,
    cost_words,
    hint_resumable,
    page,
    state_text,
    steps_words,
    table,
    token_words,
    when,
)
from tideate_core.cli.render.words import cached_words, count_words, lasted
from tideate_core.errors import InvalidInput
from tideate_core.project import project_state
from tideate_core.store import Reader
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tideate_core.store import CostRow, GateCount, RunRow, Tokens


@report_errors
def history(
    *words: Annotated[
        str,
        Parameter(
            name="TEXT",
            help="Only runs with all of these words in a prompt or an answer; `cach*` matches a prefix, and "
            "quoted words match a phrase.",
        ),
    ],
    limit: Limit = 20,
    name: Annotated[
        str | None, Parameter(name=["--workflow", "--name"], help="Only runs of this workflow.")
    ] = None,
    file: Annotated[
        str | None,
        Parameter(
            name="--file", metavar="PATH", help="Only runs that changed this file, or one ending in PATH."
        ),
    ] = None,
    since: Annotated[
        str | None,
        Parameter(
            name="--since",
            metavar="TIME",
            help="Only runs since a date such as 2026-11-30, or an age such as 7d, 12h or 30m.",
        ),
    ] = None,
    status: Annotated[
        Literal[
            "cancelled",
            "completed",
            "declined",
            "failed",
            "interrupted",
            "paused",
            "rolled-back",
            "running",
        ]
        | None,
        Parameter(name="--status", help="Only runs with this status; rolled-back: completely rolled back."),
    ] = None,
    wide: Annotated[
        bool,
        Parameter(
            name="--wide", help="Also list when runs started, how long they took, steps, tokens and costs."
        ),
    ] = False,
    search: Annotated[
        str | None,
        Parameter(name="--search", metavar="TEXT", help="The same as TEXT."),
    ] = None,
    metrics: Annotated[bool, Parameter(name="--metrics", help="Count runs by workflow and day.")] = False,
    costs: Annotated[
        bool, Parameter(name="--costs", help="Sum up tokens and costs by day and model.")
    ] = False,
    prune: Annotated[
        bool,
        Parameter(
            name="--prune",
            help="Delete ended runs by --keep and --days, else by [history] of the configuration.",
        ),
    ] = False,
    keep: Annotated[
        int | None,
        Parameter(
            name="--keep", help="With --prune: keep this many runs of each workflow.", validator=Positive
        ),
    ] = None,
    days: Annotated[
        int | None,
        Parameter(
            name="--days",
            help="With --prune: delete runs that ended this many days ago. With --metrics or --costs: only "
            "this many days.",
            validator=Positive,
        ),
    ] = None,
    changes: Annotated[
        bool,
        Parameter(name="--changes", help="With --prune: include runs that can still be rolled back."),
    ] = False,
    dry_run: Annotated[
        bool, Parameter(name="--dry-run", help="With --prune: only list what would be deleted.")
    ] = False,
    yes: Yes = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """List, count or prune runs; return the exit status."""
    text = as_text(" ".join(filter(None, [*words, search or ""])), "the text")
    given: dict[str, object] = {
        "--keep": keep,
        "--changes": changes or None,
        "--dry-run": dry_run or None,
        "--days": days,
        "--wide": wide or None,
    }
    given |= {"--workflow": name, "--status": status, "TEXT": text or None, "--file": file, "--since": since}
    _check(given, {"--prune": prune, "--metrics": metrics, "--costs": costs})
    found = locate_project(root)
    if prune:
        return _prune(found, keep, days, changes=changes, dry_run=dry_run, policy=yes, as_json=json)
    if costs:
        _show_costs(read_costs(Reader(project_state(found)), days=days), as_json=json)
    elif metrics:
        _show_metrics(found, name, days, as_json=json)
    else:
        which = RunFilter(
            state=status or "",
            words=text.strip(),
            workflow=name or "",
            file=file or "",
            since=None if since is None else time_of(since),
        )
        reader = Reader(project_state(found))
        back = rolled_back_ids(found, reader) if which.rolled_back else ()
        runs, _ = history_page(reader, which, limit, None, back)
        filtered = bool(status or name or text or file or since)
        _list_runs(found, runs, wide=wide, as_json=json, filtered=filtered)
    return DONE


MODES_OF: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("--keep", "--changes", "--dry-run"), ("--prune",)),
    "--days": ("--prune", "--metrics", "--costs"),
    "--workflow": ("", "--metrics"),
    **dict.fromkeys(("--status", "TEXT", "--file", "--since", "--wide"), ("",)),
}
"""Modes of an option; without a mode, runs are listed."""


def _check(given: Mapping[str, object], modes: Mapping[str, bool]) -> None:
    """Refuse invalid combinations of options.

    :param given: values of the options in `MODES_OF`, None if not given.
    :raises InvalidInput: two options exclude each other, or one requires another.
    """
    chosen = [mode for mode, wanted in modes.items() if wanted]
    if len(chosen) > 1:
        raise InvalidInput(f"{chosen[0]} cannot be used with {chosen[1]}")
    mode = chosen[0] if chosen else ""
    for option, allowed in MODES_OF.items():
        if given[option] is not None and mode not in allowed:
            why = f"cannot be used with {mode}" if mode else f"requires {' or '.join(allowed)}"
            raise InvalidInput(f"{option} {why}")


def _list_runs(
    root: Path | None, runs: list[tuple[RunRow, str]], *, wide: bool, as_json: bool, filtered: bool
) -> None:
    if as_json:
        shapes = [{**run_json(run), **({"match": match} if match else {})} for run, match in runs]
        print_json({"ok": True, "runs": shapes})
        return
    if runs:
        numbers = ("took", "steps", "tokens", "cached", "cost")
        # a sign is for eyes, a word for programs
        signs = sys.stdout.isatty() and not wide
        state = "" if signs else "status"
        rows = table(
            state, "title", "workflow", "when", *(numbers if wide else ()), "id", right=numbers, cut="title"
        )
        _, back = rollback_states(root, Reader(project_state(root)), [run for run, _ in runs])
        now = round(time.time() * 1000)
        for run, match in runs:
            cells = (state_text(run, back, sign=signs), _title(run, match), Text(visible(run.name)))
            rows.add_row(*cells, *(_figures(run) if wide else (age(run.started_at, now),)), short_id(run.id))
        page().print(rows)
    else:
        print_message("no runs match" if filtered else "no runs yet")
    hint_resumable(root)


def _figures(run: RunRow) -> tuple[str, ...]:
    return (
        when(run.started_at),
        lasted(run.duration_ms),
        steps_words(run),
        token_words(run.tokens.input, run.tokens.output),
        cached_words(run.tokens.cached, run.tokens.input),
        cost_words(run.tokens),
    )


def _title(run: RunRow, match: str) -> Text:
    """Return origin and title of a run, the search excerpt, and its error or resume command, as one line."""
    origin = f"↳ {short_id(run.continues)} " if run.continues else ""
    if run.forked_from and run.forked_step:
        origin = f"↻ {short_id(run.forked_from)}.{visible(run.forked_step)} "
    if run.compared:
        origin = f"⇄ {visible(', '.join(run.compared))} "
    about = f"{origin}{visible(title_of(run.prompt))}".strip()
    command = "compare --resume" if run.compared else "resume"
    end = f"tideate {command} {short_id(run.id)}" if run.resumable else " ".join((run.error or "").split())
    where = visible(" ".join(match.split()))
    parts = [
        Text("" if where and where.strip("…") in about else about),
        Text(where, style="cyan"),
        Text(visible(end), style="dim" if run.error else ""),
    ]
    return Text(" · ", style="dim").join(part for part in parts if part.plain)


def _show_metrics(root: Path | None, name: str | None, days: int | None, *, as_json: bool) -> None:
    counted = Reader(project_state(root)).metrics(name=name, days=days)
    if as_json:
        print_json({"ok": True, "metrics": [metrics_json(row) for row in counted]})
        return
    if not counted:
        print_message("no metrics yet")
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


def _show_costs(rows: Sequence[CostRow], *, as_json: bool) -> None:
    """Print costs by day and model, with a total."""
    total = _total_cost(rows)
    if as_json:
        print_json({"ok": True, "costs": [cost_json(row) for row in rows], "total": tokens_json(total)})
    elif rows:
        _print_costs(rows, total)
    else:
        print_message("no model has been asked yet")


def _print_costs(rows: Sequence[CostRow], total: Tokens) -> None:
    numbers = ("runs", "answers", "tokens in", "cached", "tokens out", "cost")
    shown = table("day (UTC)", "model", *numbers, right=numbers)
    for row in rows:
        cells = (str(row.runs), str(row.answers), *_cost_cells(row.tokens, row.unpriced))
        shown.add_row(row.date, Text(visible(row.model)), *cells)
    if len(rows) > 1:
        unpriced = sum(row.unpriced for row in rows)
        answers = str(sum(row.answers for row in rows))
        shown.add_row("all", "", "", answers, *_cost_cells(total, unpriced), style="bold")
    page().print(shown)
    if total.cost is not None and any(row.unpriced for row in rows):
        print_message("+ and unknown: the price of some answers is not known")


def _cost_cells(tokens: Tokens, unpriced: int) -> tuple[str, str, str, str]:
    cost = "unknown" if tokens.cost is None else f"${tokens.cost:.4f}{'+' if unpriced else ''}"
    cached = cached_words(tokens.cached, tokens.input)
    return count_words(tokens.input), cached, count_words(tokens.output), cost


def _total_cost(rows: Sequence[CostRow]) -> Tokens:
    # here, because most commands do not load the store
    from tideate_core.store import Tokens

    known = [row.tokens.cost for row in rows if row.tokens.cost is not None]
    return Tokens(
        sum(row.tokens.input for row in rows),
        sum(row.tokens.output for row in rows),
        sum(known) if known else None,
        sum(row.tokens.cached for row in rows),
    )


def _prune(
    root: Path | None,
    keep: int | None,
    days: int | None,
    *,
    changes: bool,
    dry_run: bool,
    policy: bool | None,
    as_json: bool,
) -> int:
    # here, because lists of runs do not need it
    from tideate_core import config
    from tideate_core.app import prune_runs, retention_of
    from tideate_core.cli.confirmations import confirmed, declined

    loaded = config.load_config(root)
    for notice in loaded.notices:
        note(notice)
    retention = retention_of(keep, days, loaded.config.history)
    if not dry_run and policy is not True:
        ahead = prune_runs(root, retention, changes=changes, dry_run=True)
        if policy is None:
            _list_ids(ahead.ids)
        question = f"Delete {'this run' if len(ahead.ids) == 1 else f'these {len(ahead.ids)} runs'} for good?"
        if ahead.ids and not run_async(confirmed(policy, "prune", question)):
            return declined("nothing was deleted", "deletes", policy, as_json=as_json)
    pruned = prune_runs(root, retention, changes=changes, dry_run=dry_run)
    if pruned.left:
        note(f"some files are left: {pruned.left}")
    if as_json:
        spared = {"kept_for_rollback": pruned.spared}
        print_json({"ok": True, "dry_run": dry_run, "runs": pruned.ids, **spared})
        return DONE
    if dry_run:
        _list_ids(pruned.ids)
    count = f"{len(pruned.ids)} run{'' if len(pruned.ids) == 1 else 's'}"
    print_message(f"{count} would be deleted" if dry_run else f"{count} deleted")
    if pruned.spared > 0:
        runs = "1 run is kept, as it" if pruned.spared == 1 else f"{pruned.spared} runs are kept, as they"
        print_message(f"{runs} can be rolled back; --changes includes such runs")
    return DONE


def _list_ids(ids: Sequence[str]) -> None:
    for run in ids:
        messages().print(short_id(run), style="dim")


@report_errors
def gates(
    *,
    days: Annotated[
        int | None,
        Parameter(
            name="--days", help="Only the last days, including today.", validator=validators.Number(gte=1)
        ),
    ] = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Print the statistics of the gates; return the exit status."""
    counts = {count.gate: count for count in reader_of(root).gates(days=days)}
    if json:
        print_json({"ok": True, "gates": gates_json(counts)})
    elif not counts:
        since = "" if days is None else f" in the last {days} days" if days > 1 else " today"
        print_message(f"no gate decisions{since}; `tideate run task` makes them")
    else:
        _print(counts)
    return DONE


def _print(counts: dict[int, GateCount]) -> None:
    numbers = ("passed", "failed", "auto-fixed", "average", "longest")
    rows = table("gate", *numbers, "last", right=numbers)
    for number, name in enumerate(GATES, start=1):
        count = counts.get(number)
        if count is None:
            rows.add_row(f"{number} {name}", *("",) * len(numbers), "no decisions", style="dim")
            continue
        rows.add_row(
            f"{number} {name}",
            Text(str(count.passed), style="green" if count.passed else "dim"),
            Text(str(count.failed), style="red" if count.failed else "dim"),
            Text(str(count.auto_fixed), style="" if count.auto_fixed else "dim"),
            lasted(average_ms(count)),
            lasted(count.longest_ms),
            when(count.last_at),
        )
    page().print(rows)
