"""`tideate checkpoint`: create, list, show, restore and export checkpoints of runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter
from rich.text import Text

from tideate_core.cli.arguments import Json, Limit, Root, RunId, run_ids
from tideate_core.cli.location import locate
from tideate_core.cli.process import DONE, status_of
from tideate_core.cli.render.output import fail, messages, print_json, print_text, results, tell
from tideate_core.cli.render.tables import lasted, page, table, when
from tideate_core.cli.views.control import opened_store
from tideate_core.cli.views.runs import checkpoint_json, private_of, short_id
from tideate_core.errors import TideateError
from tideate_core.store import Reader
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rich.table import Table

    from tideate_core.engine import CheckpointDTO, CheckpointManager
    from tideate_core.store import CheckpointRow

__all__ = ["app"]

app = App(name="checkpoint")

CheckpointId = Annotated[str, Parameter(help="ID of the checkpoint, or a prefix of it.")]


@app.command
def create(run: RunId, /, *, json: Json = False, root: Root = None) -> int:
    """Create a checkpoint of a run as it is now. It and its run are never pruned."""

    def command(private: Path) -> None:
        known = Reader(private).run(run)
        row = _with_manager(root, lambda manager: manager.create(known.id))
        if json:
            print_json({"ok": True, "checkpoint": checkpoint_json(row)})
        else:
            print_text(row.id)
            after = f"after {row.step!r}" if row.step else "before its first step"
            tell(messages(), Text(visible(f"{known.name} ({short_id(known.id)}), {after}")))

    return _exit_status(command, root, json)


@app.command(name="list")
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

    def command(private: Path) -> None:
        reader = Reader(private)
        known = reader.run(run).id if run else None
        rows = reader.checkpoints(known, limit=limit)
        if json:
            print_json({"ok": True, "checkpoints": [checkpoint_json(row) for row in rows]})
        elif not rows:
            tell(messages(), Text("no checkpoints yet"))
        else:
            page().print(_table(rows, _workflow_names(reader, rows)))

    return _exit_status(command, root, json)


@app.command
def show(checkpoint: CheckpointId, /, *, json: Json = False, root: Root = None) -> int:
    """Show the state of a run at a checkpoint."""

    def command(private: Path) -> None:
        # here, because to list them takes no engine
        from tideate_core.engine import read_checkpoint

        shape = read_checkpoint(Reader(private), checkpoint)
        if json:
            print_json({"ok": True, "checkpoint": shape.model_dump(mode="json", by_alias=True)})
        else:
            _show(shape)

    return _exit_status(command, root, json)


@app.command
def restore(checkpoint: CheckpointId, /, *, json: Json = False, root: Root = None) -> int:
    """Create a new, paused run from a checkpoint; the old run stays as it is.

    Files are not touched; `tideate rollback` rolls back what a run wrote.
    """

    def command(private: Path) -> None:
        # it is looked for before a store is opened, which makes one where there is none
        found = Reader(private).checkpoint(checkpoint)
        made = _with_manager(root, lambda manager: manager.restore(found.id))
        if json:
            print_json({"ok": True, **made.model_dump(mode="json", by_alias=True)})
        else:
            print_text(made.workflow_id)
            words = f"a paused run after {found.step!r}; `tideate resume {short_id(made.workflow_id)}` continues it"
            tell(messages(), Text(visible(words)))

    return _exit_status(command, root, json)


@app.command
def export(checkpoint: CheckpointId, /, *, json: Json = False, root: Root = None) -> int:
    """Write a checkpoint to .tideate/checkpoints/checkpoint_TIME.json, for other tools; print the path."""

    def command(private: Path) -> None:
        found = Reader(private).checkpoint(checkpoint)
        path = _with_manager(root, lambda manager: manager.export(found.id))
        if json:
            print_json({"ok": True, "checkpoint_id": found.id, "path": str(path)})
        else:
            print_text(str(path))

    return _exit_status(command, root, json)


def _exit_status(command: Callable[[Path], None], root: str | None, as_json: bool) -> int:
    try:
        command(private_of(root))
    except TideateError as error:
        fail(error, as_json=as_json)
        return status_of(error)
    return DONE


def _with_manager(root: str | None, use: Callable[[CheckpointManager], Any]) -> Any:
    """Do something with the checkpoints of a project.

    :param root: the directory that `--root` names.
    """
    # here, because to list them takes no engine
    from tideate_core.engine import CheckpointManager

    async def managed() -> Any:
        async with opened_store(locate(root)) as store:
            return await use(CheckpointManager(store))

    return asyncio.run(managed())


def _workflow_names(reader: Reader, rows: list[CheckpointRow]) -> dict[str, str]:
    return {run: reader.run(run).name for run in {row.run for row in rows}}


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
    lines = {
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
    for name, value in lines.items():
        if value:
            results().print(Text.assemble((f"{name:<11}", "dim"), visible(value)), soft_wrap=True)
