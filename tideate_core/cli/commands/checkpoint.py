"""`tideate checkpoint`: create, list, show, restore and export checkpoints of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter
from rich.text import Text

from tideate_core.app import checkpoint_json, locate_project, opened_store, reader_of, short_id
from tideate_core.cli.arguments import Json, Limit, Root, RunId, run_ids
from tideate_core.cli.process import DONE, run_async
from tideate_core.cli.render.output import (
    print_json,
    print_message,
    print_text,
    report_errors,
)
from tideate_core.cli.render.tables import facts, page, table, when
from tideate_core.cli.render.words import lasted
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.table import Table

    from tideate_core.engine import CheckpointDTO, CheckpointManager
    from tideate_core.store import CheckpointRow

app = App(name="checkpoint")

CheckpointId = Annotated[str, Parameter(help="ID of the checkpoint, or a prefix of it.")]


@app.command
@report_errors
def create(run: RunId, /, *, json: Json = False, root: Root = None) -> int:
    """Create a checkpoint of a run's current state. The checkpoint and its run are never pruned."""
    known = reader_of(root).run(run)
    row = _with_manager(root, lambda manager: manager.create(known.id))
    if json:
        print_json({"ok": True, "checkpoint": checkpoint_json(row)})
    else:
        print_text(row.id)
        after = f"after {row.step!r}" if row.step else "before its first step"
        print_message(f"{known.name} ({short_id(known.id)}), {after}")
    return DONE


@app.command(name="list")
@report_errors
def list_checkpoints(
    run: Annotated[
        str | None,
        Parameter(help="ID of the run, or a prefix of it. Default: all runs.", completer=run_ids),
    ] = None,
    /,
    *,
    limit: Limit = 20,
    json: Json = False,
    root: Root = None,
) -> int:
    """List checkpoints, newest first."""
    reader = reader_of(root)
    known = reader.run(run).id if run else None
    rows = reader.checkpoints(known, limit=limit)
    if json:
        print_json({"ok": True, "checkpoints": [checkpoint_json(row) for row in rows]})
    elif not rows:
        print_message("no checkpoints yet")
    else:
        page().print(_table(rows, {run: reader.run(run).name for run in {row.run for row in rows}}))
    return DONE


@app.command
@report_errors
def show(checkpoint: CheckpointId, /, *, json: Json = False, root: Root = None) -> int:
    """Show the state of a run at a checkpoint."""
    # here, because lists need no engine
    from tideate_core.engine import read_checkpoint

    shape = read_checkpoint(reader_of(root), checkpoint)
    if json:
        print_json({"ok": True, "checkpoint": shape.model_dump(mode="json", by_alias=True)})
    else:
        _show(shape)
    return DONE


@app.command
@report_errors
def restore(checkpoint: CheckpointId, /, *, json: Json = False, root: Root = None) -> int:
    """Create a new, paused run from a checkpoint; the old run does not change.

    Files are not touched; `tideate rollback` rolls back what a run wrote.
    """
    # before the store is opened, which would create it
    found = reader_of(root).checkpoint(checkpoint)
    made = _with_manager(root, lambda manager: manager.restore(found.id))
    if json:
        print_json({"ok": True, **made.model_dump(mode="json", by_alias=True)})
    else:
        print_text(made.workflow_id)
        words = f"a paused run after {found.step!r}; `tideate resume {short_id(made.workflow_id)}` resumes it"
        print_message(words)
    return DONE


@app.command
@report_errors
def export(checkpoint: CheckpointId, /, *, json: Json = False, root: Root = None) -> int:
    """Write a checkpoint to .tideate/checkpoints/checkpoint_TIME.json, for other tools; print the path."""
    found = reader_of(root).checkpoint(checkpoint)
    path = _with_manager(root, lambda manager: manager.export(found.id))
    if json:
        print_json({"ok": True, "checkpoint_id": found.id, "path": str(path)})
    else:
        print_text(str(path))
    return DONE


def _with_manager(root: str | None, use: Callable[[CheckpointManager], Any]) -> Any:
    """Call a function with a project's checkpoint manager; return its result."""
    # here, because lists need no engine
    from tideate_core.engine import CheckpointManager

    async def managed() -> Any:
        async with opened_store(locate_project(root)) as store:
            return await use(CheckpointManager(store))

    return run_async(managed())


def _table(rows: list[CheckpointRow], names: dict[str, str]) -> Table:
    made = table("checkpoint", "run", "workflow", "when", "after", "")
    for row in rows:
        after = Text(visible(row.step)) if row.step else Text("nothing", style="dim")
        by = Text("wanted", style="cyan") if row.manual else ""
        at = when(row.created_at, seconds=True)
        made.add_row(short_id(row.id), short_id(row.run), Text(visible(names[row.run])), at, after, by)
    return made


def _show(checkpoint: CheckpointDTO) -> None:
    state = checkpoint.state
    facts(
        {
            "checkpoint": checkpoint.checkpoint_id,
            "run": checkpoint.workflow_id,
            "made": checkpoint.timestamp,
            "after": checkpoint.step_id,
            "done by": checkpoint.metadata.agent_id,
            "took": lasted(checkpoint.metadata.duration),
            "completed": ", ".join(state.completed_steps),
            "pending": ", ".join(state.pending_steps),
            "changed": ", ".join(state.artifacts),
        }
    )
