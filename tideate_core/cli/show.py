"""`tideate show`: one run, its steps and its events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from tideate_core.cli.exits import DONE, status_of
from tideate_core.cli.output import fail, path_line, print_json, results, visible
from tideate_core.cli.runs import (
    cost_words,
    lasted,
    page,
    reader_of,
    restored_words,
    run_json,
    short,
    state_text,
    steps_words,
    table,
    token_words,
    when,
)
from tideate_core.cli.show_steps import STEP_STYLES, facts, show_step, step_json
from tideate_core.cli.show_task import is_task, show_task, task_json
from tideate_core.cli.step_items import items_of, items_words
from tideate_core.cli.tool_words import calls_json, show_calls
from tideate_core.errors import InvalidInput, RunNotFound, TideateError, did_you_mean

if TYPE_CHECKING:
    from rich.table import Table

    from tideate_core.store import CheckpointRow, EventRow, Reader, RunRow, StepRow

__all__ = ["show"]

TRANSITION: Final = "SD_EVENT_TRANSITION"
PREFIX: Final = "SD_EVENT_"
LONGEST: Final = 70
"""Characters of a result in a list of steps."""
LONGEST_DATA: Final = 160
"""Characters of what an event says."""


def show(run_id: str, root: str | None, *, events: bool, step: str | None, as_json: bool) -> int:
    """Print a run, or one of its steps; returns the exit status.

    :param run_id: or the beginning of it.
    :param events: all that happened, too.
    """
    try:
        reader = reader_of(root)
        run = reader.run(run_id)
        steps = reader.steps(run.id)
        happened = reader.events(run.id)
        if step is not None:
            show_step(_named(steps, step), items_of(happened).get(step, []), as_json=as_json)
            return DONE
        points = reader.checkpoints(run.id)
        if as_json:
            shape = _json(reader, run, steps, happened if events else None, happened, points)
            print_json(shape)
        else:
            _show(reader, run, steps, happened, points)
            if events:
                _show_events(happened)
    except TideateError as error:
        fail(error, as_json=as_json)
        return status_of(error)
    return DONE


def _named(steps: list[StepRow], name: str) -> StepRow:
    known = {row.step: row for row in steps}
    if name not in known:
        raise InvalidInput(f"the run has no step {name!r}{did_you_mean(name, known)}")
    return known[name]


def _json(
    reader: Reader,
    run: RunRow,
    steps: list[StepRow],
    shown: list[EventRow] | None,
    happened: list[EventRow],
    points: list[CheckpointRow],
) -> dict[str, Any]:
    shape: dict[str, Any] = {"ok": True, **run_json(run)}
    shape["response"] = reader.response(run.id)
    shape["tool_calls"] = calls_json(happened)
    items = items_of(happened)
    shape["steps"] = [step_json(row, items.get(row.step, [])) for row in steps]
    shape["runs"] = [
        {**run_json(child), "parent_step": step} for step, child in _children(reader, run, steps)
    ]
    if run.kind == "machine":
        shape["path"] = [
            {key: row.data.get(key) for key in ("from", "to", "when")} for row in _moves(happened)
        ]
    shape["checkpoints"] = [
        {"checkpoint_id": row.id, "step": row.step, "manual": row.manual} for row in points
    ]
    if is_task(run.name, happened):
        shape["gated"] = task_json(steps, happened)
    if shown is not None:
        rows = [{"sequence": row.sequence, "name": row.name, "at": row.at, "data": row.data} for row in shown]
        shape["events"] = rows
    return shape


def _show(
    reader: Reader, run: RunRow, steps: list[StepRow], happened: list[EventRow], points: list[CheckpointRow]
) -> None:
    facts(_runfacts(run, happened, restored_words(reader, run)))
    if steps:
        page().print(_steps_table(steps))
    items = items_of(happened)
    facts({f"{row.step}[]": items_words(items[row.step], row.result) for row in steps if row.step in items})
    show_calls(happened)
    children = _children(reader, run, steps)
    for step, child in children:
        line = Text.assemble(("run within ", "dim"), visible(f"{step}: {short(child.id)} {child.name} "))
        results().print(line.append_text(state_text(child)), soft_wrap=True)
    moves = _moves(happened)
    if moves:
        results().print(
            path_line([moves[0].data["from"], *(move.data["to"] for move in moves)]), soft_wrap=True
        )
    if is_task(run.name, happened):
        show_task(steps, happened)
    if points:
        facts({"checkpoints": _points_words(points)})


def _runfacts(run: RunRow, happened: list[EventRow], restored: str) -> dict[str, str | Text]:
    place = f"{run.path} " if run.path else ""
    models = " tokens read/written".join((token_words(run.tokens), ""))
    usage = ", ".join(filter(None, (models if token_words(run.tokens) else "", cost_words(run.tokens))))
    ended = f", ended {when(run.completed_at, seconds=True)}" if run.completed_at else ""
    return {
        "run": run.id,
        "workflow": f"{run.name} ({run.kind}, {place}{run.source}, definition {short(run.definition_hash)})",
        "status": state_text(run),
        "began": f"{when(run.started_at, seconds=True)}{ended}",
        "took": lasted(run.duration_ms),
        "prompt": run.prompt,
        "steps": steps_words(run),
        "models": usage,
        "changed": ", ".join(run.files),
        "undo": f"tideate rollback {short(run.id)}" if run.files else "",
        "part of": f"the run {short(run.parent)}" if run.parent else "",
        "restored": restored,
        "error": Text(visible(run.error or ""), style="red"),
        "owner": _owner_words(run),
        "events": str(len(happened)) if happened else "",
    }


def _owner_words(run: RunRow) -> str:
    if run.ended:
        return ""
    continues = f"`tideate resume {short(run.parent or run.id)}` continues it"
    if run.lease is None:
        return f"nobody; {continues}"
    who = f"process {run.lease.pid} on {run.lease.host.split()[0]}"
    return who if run.lease.alive else f"{who}, which is gone; {continues}"


def _points_words(points: list[CheckpointRow]) -> str:
    last = points[0]
    wanted = [short(row.id) for row in points if row.manual]
    by_hand = f"; made by hand: {', '.join(wanted)}" if wanted else ""
    return f"{len(points)}, the last {short(last.id)} after {last.step or 'nothing'}{by_hand}"


def _steps_table(steps: list[StepRow]) -> Table:
    rows = table("", "step", "by", "tries", "began", "took", "tokens", "result", right=("took", "tokens"))
    for row in steps:
        mark, style = STEP_STYLES[row.status]
        rows.add_row(
            Text(mark, style=style),
            Text(visible(row.step)),
            Text(visible(row.agent), style="dim"),
            str(row.attempts or ""),
            when(row.started_at, seconds=True).partition(" ")[2] if row.started_at else "",
            lasted(row.duration_ms),
            token_words(row.tokens),
            _came_of(row),
        )
    return rows


def _came_of(row: StepRow) -> Text:
    if row.error:
        return Text(_line(row.error, LONGEST), style="red")
    return Text(_line(row.result, LONGEST)) if row.status == "completed" else Text(row.status, style="dim")


def _line(value: Any, longest: int) -> str:
    """Return a value in one line, as much of it as there is room for."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = visible(" ".join(text[: 4 * longest].split()))
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _moves(happened: list[EventRow]) -> list[EventRow]:
    return [row for row in happened if row.name == TRANSITION]


def _children(reader: Reader, run: RunRow, steps: list[StepRow]) -> list[tuple[str, RunRow]]:
    """Return the runs that are this one's steps."""
    # here, because few runs have any
    from tideate_core.engine import child_id

    found = []
    for row in steps:
        for attempt in range(1, row.attempts + 1) if row.agent in ("machine", "workflow") else ():
            try:
                found.append((row.step, reader.run(child_id(run.id, row.step, attempt))))
            except RunNotFound:
                continue  # that attempt failed before its run began
    return found


def _show_events(happened: list[EventRow]) -> None:
    rows = table("no", "when", "event", "", right=("no",))
    for row in happened:
        at = f"{when(row.at, seconds=True).partition(' ')[2]}.{row.at % 1000:03}"
        rows.add_row(str(row.sequence), at, row.name.removeprefix(PREFIX), _line(row.data, LONGEST_DATA))
    page().print(rows)
