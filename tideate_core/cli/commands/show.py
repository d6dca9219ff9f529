"""`tideate show`: show a run, one of its steps, its events or its conversation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import Parameter
from rich.text import Text

from tideate_core.app import (
    Item,
    RunDetails,
    details_json,
    locate_project,
    next_command,
    read_details,
    read_step_thread,
    read_thread,
    reader_of,
    rollback_states,
    short_id,
    step_json,
    step_named,
    tokens_json,
)
from tideate_core.cli.arguments import Json, Root, RunId
from tideate_core.cli.process import DONE
from tideate_core.cli.render.output import (
    path_line,
    print_json,
    print_line,
    report_errors,
)
from tideate_core.cli.render.steps import items_table, items_words, show_calls, show_task
from tideate_core.cli.render.tables import facts, page, state_text, steps_words, table, token_words, when
from tideate_core.cli.render.words import forked_words, lasted, usage_words
from tideate_core.errors import InvalidInput
from tideate_core.util.cutting import beginning
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.table import Table

    from tideate_core.machines.diagrams import LaneRow
    from tideate_core.store import CheckpointRow, EventRow, Reader, RunRow, StepRow

PREFIX: Final = "SD_EVENT_"
LONGEST: Final = 70
"""Maximum characters of a result in the table of steps."""
LONGEST_DATA: Final = 160
"""Maximum characters of an event's data."""
WHOLE: Final = 16
"""Maximum lines of a prompt shown whole; prompts may contain files."""
ENDS: Final = 6
"""Lines shown from both ends of a longer prompt."""
LONGEST_ARGUMENTS: Final = 100
"""Maximum characters of a call's arguments."""
STEP_STYLES: Final[Mapping[str, tuple[str, str]]] = {
    "completed": ("✓", "green"),
    "failed": ("✗", "red"),
    "pending": ("·", "dim"),
    "running": ("▸", "cyan"),
    "skipped": ("⊘", "dim"),
}


@report_errors
def show(
    run: RunId,
    /,
    *,
    events: Annotated[bool, Parameter(name="--events", help="Also list all events.")] = False,
    calls: Annotated[bool, Parameter(name="--calls", help="Also list all tool calls.")] = False,
    step: Annotated[str | None, Parameter(name="--step", help="Show one step with its whole result.")] = None,
    thread: Annotated[
        bool,
        Parameter(
            name="--thread",
            help="Show the conversation: prompts, answers, tool calls; with --step that of the step, with "
            "turn numbers for `tideate fork --turn`.",
        ),
    ] = False,
    json: Json = False,
    root: Root = None,
) -> int:
    """Print a run, one of its steps, or its conversation; return the exit status."""
    if thread:
        if events:
            raise InvalidInput("--thread cannot be used with --events")
        found, said = _thread(reader_of(root), run, step)
        if json:
            print_json({"ok": True, "execution_id": found.id, "thread": said})
        else:
            _show_thread(said)
        return DONE
    reader = reader_of(root)
    details = read_details(reader, run)
    if step is not None:
        row = step_named(details.steps, step)
        _show_step(row, details.items.get(step, []), as_json=json)
    elif json:
        print_json({"ok": True, **details_json(details, events=events)})
    else:
        _, back = rollback_states(locate_project(root), reader, [details.run])
        _show(details, back, all_calls=calls)
        if events:
            _show_events(details.events)
    return DONE


def _thread(reader: Reader, wanted: str, step: str | None) -> tuple[RunRow, list[dict[str, Any]]]:
    """Return a run with its conversation, or with that of one step.

    :raises InvalidInput: the run has no such step or no conversation.
    """
    if step is None:
        return read_thread(reader, wanted)
    run = reader.run(wanted)
    step_named(reader.steps(run.id), step.partition("[")[0])
    return run, read_step_thread(reader, run.id, step)


def _show(details: RunDetails, back: set[str], *, all_calls: bool) -> None:
    steps = details.ordered_steps
    facts(_run_facts(details, back))
    if steps:
        page().print(_steps_table(steps, details.lanes))
    items = details.items
    facts({f"{row.step}[]": items_words(items[row.step], row.result) for row in steps if row.step in items})
    show_calls(details.tool_calls, every=all_calls)
    for step, child in details.children:
        line = Text.assemble(("run within ", "dim"), visible(f"{step}: {short_id(child.id)} {child.name} "))
        print_line(line.append_text(state_text(child)))
    if path := details.moves:
        states = [path[0].data["from"], *(move.data["to"] for move in path)]
        print_line(path_line(states))
    if details.is_task:
        show_task(details)
    if details.checkpoints:
        facts({"checkpoints": _checkpoints_words(details.checkpoints)})


def _run_facts(details: RunDetails, back: set[str]) -> dict[str, str | Text]:
    run, proposed = details.run, details.next_run
    place = f"{run.path} " if run.path else ""
    definition = short_id(run.definition_hash)
    ended = f", ended {when(run.completed_at, seconds=True)}" if run.completed_at else ""
    return {
        "run": run.id,
        "workflow": f"{run.name} ({run.kind}, {place}{run.source}, definition {definition})",
        "status": state_text(run, back),
        "began": f"{when(run.started_at, seconds=True)}{ended}",
        "took": lasted(run.duration_ms),
        "prompt": run.prompt,
        "steps": steps_words(run),
        "batch": _batch_words(details),
        "models": usage_words(tokens_json(run.tokens)),
        "changed": ", ".join(run.files),
        "edited": _edited_words(details),
        "undo": f"tideate rollback {short_id(run.id)}" if run.files and run.id not in back else "",
        "part of": f"the run {short_id(run.parent)}" if run.parent else "",
        "restored": details.restored,
        "forked": forked_words(run),
        "compared": _compared_words(run),
        "continues": f"the run {short_id(run.continues)}" if run.continues else "",
        "proposes": f"{proposed['message']}; `{next_command(proposed)}`" if proposed else "",
        "failed in": (details.failed_in or "").replace("_", " "),
        "error": Text(visible(run.error or ""), style="red"),
        "owner": _owner_words(run),
        "events": str(len(details.events) or ""),
    }


def _edited_words(details: RunDetails) -> str:
    counts = details.edited.items()
    files = ", ".join(f"{path} ({count} hunk{'' if count == 1 else 's'})" for path, count in counts)
    return f"by the person, in the review: {files}" if files else ""


def _compared_words(run: RunRow) -> str:
    if not run.compared:
        return ""
    goes_on = "" if run.ended else f"; `tideate compare --resume {short_id(run.id)}` resumes all of it"
    return f"{', '.join(run.compared)}{goes_on}"


def _batch_words(details: RunDetails) -> str:
    """Return the current batch of steps; empty after the last batch and for a machine."""
    metrics = details.metrics
    ended = details.run.ended or metrics.current_batch is None
    return "" if ended else f"{metrics.current_batch} of {metrics.batches}"


def _owner_words(run: RunRow) -> str:
    if run.ended:
        return ""
    continues = f"`tideate resume {short_id(run.parent or run.id)}` resumes it"
    if run.lease is None:
        return f"none; {continues}"
    who = f"process {run.lease.pid} on {run.lease.host.split()[0]}"
    return who if run.lease.alive else f"{who}, which is gone; {continues}"


def _checkpoints_words(points: list[CheckpointRow]) -> str:
    last = points[0]
    manual = [short_id(row.id) for row in points if row.manual]
    by_hand = f"; made by hand: {', '.join(manual)}" if manual else ""
    return f"{len(points)}, the last {short_id(last.id)} after {last.step or 'nothing'}{by_hand}"


def _steps_table(steps: list[StepRow], lanes: Mapping[str, LaneRow]) -> Table:
    rows = table("", "step", "by", "tries", "began", "took", "tokens", "result", right=("took", "tokens"))
    for row in steps:
        mark, style = STEP_STYLES[row.status]
        before, after, _, words = lanes.get(row.step, ("", "", "", ""))
        rows.add_row(
            Text.assemble((before, "dim"), (mark, style), (after, "dim")),
            Text(visible(f"{row.step} {words}".rstrip())),
            Text(visible(row.agent), style="dim"),
            str(row.attempts or ""),
            when(row.started_at, seconds=True).partition(" ")[2] if row.started_at else "",
            lasted(row.duration_ms),
            token_words(row.tokens.input, row.tokens.output),
            _outcome(row),
        )
    return rows


def _outcome(row: StepRow) -> Text:
    if row.error:
        return Text(_line(row.error, LONGEST), style="red")
    return Text(_line(row.result, LONGEST)) if row.status == "completed" else Text(row.status, style="dim")


def _line(value: Any, longest: int) -> str:
    """Return a value as one line, truncated."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return beginning(visible(" ".join(text[: 4 * longest].split())), longest)


def _show_step(row: StepRow, items: list[Item], *, as_json: bool) -> None:
    """Print a step with its whole result."""
    if as_json:
        print_json({"ok": True, **step_json(row, items)})
        return
    facts(
        {
            "step": row.step if row.name == row.step else f"{row.step} ({row.name})",
            "by": row.agent,
            "after": ", ".join(row.dependencies),
            "status": Text(row.status, style=STEP_STYLES[row.status][1]),
            "tries": str(row.attempts or ""),
            "began": when(row.started_at, seconds=True) if row.started_at else "",
            "took": lasted(row.duration_ms),
            "tokens": usage_words(tokens_json(row.tokens)),
            "changed": ", ".join(row.files),
            "task": row.task,
            "error": Text(visible(row.error or ""), style="red"),
        }
    )
    if items:
        page().print(items_table(items))
    if row.status == "completed":
        text = (
            row.result
            if isinstance(row.result, str)
            else json.dumps(row.result, indent=2, ensure_ascii=False)
        )
        print_line(f"\n{text}")


def _show_events(happened: list[EventRow]) -> None:
    rows = table("no", "when", "event", "", right=("no",))
    for row in happened:
        at = f"{when(row.at, seconds=True).partition(' ')[2]}.{row.at % 1000:03}"
        rows.add_row(str(row.sequence), at, row.name.removeprefix(PREFIX), _line(row.data, LONGEST_DATA))
    page().print(rows)


def _show_thread(said: Iterable[Mapping[str, Any]]) -> None:
    """Print a conversation from `read_thread` or `read_step_thread`, with turn numbers for `--turn`.

    In a step's conversation, turns of earlier steps have no number.
    """
    said = list(said)
    key = "step_turn" if any("step_turn" in one for one in said) else "turn"
    for one in said:
        if one["role"] in ("user", "system"):
            _print_turn("you" if one["role"] == "user" else "instructions", "")
            _print_said(_in_short(one["text"]))
        elif one["role"] == "tool":
            lines = one["text"].count("\n") + 1
            words = f"  ← {visible(one['tool'])}: {lines} line{'' if lines == 1 else 's'}"
            print_line(words, "dim")
        else:
            _print_turn(str(one.get(key, "earlier step")), one["model"])
            _print_said(one["text"])
            for call in one["calls"]:
                print_line(_call(call))


def _print_turn(who: str, model: str) -> None:
    print_line(Text.assemble((f"── {who}", "bold"), (f" {visible(model)}".rstrip(), "dim")))


def _print_said(text: str) -> None:
    if text.strip():
        print_line(text.strip("\n"))


def _in_short(text: str) -> str:
    lines = text.strip("\n").split("\n")
    if len(lines) <= WHOLE:
        return "\n".join(lines)
    left_out = len(lines) - 2 * ENDS
    return "\n".join([*lines[:ENDS], f"… {left_out} lines …", *lines[-ENDS:]])


def _call(call: Mapping[str, Any]) -> Text:
    arguments = beginning(json.dumps(call["arguments"], ensure_ascii=False), LONGEST_ARGUMENTS)
    return Text.assemble((f"  → {visible(call['tool'])} ", "cyan"), (visible(arguments), "dim"))
