"""What `tideate checkpoint` does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tideate_core.cli.exits import DONE, status_of
from tideate_core.cli.output import fail, messages, print_json, print_text, results, tell, visible
from tideate_core.cli.places import locate
from tideate_core.cli.runs import lasted, page, private_of, short, table, when
from tideate_core.cli.wishes import opened
from tideate_core.errors import TideateError
from tideate_core.store import Reader

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rich.table import Table

    from tideate_core.engine import CheckpointDTO, CheckpointManager
    from tideate_core.store import CheckpointRow

__all__ = ["create", "export", "list_checkpoints", "restore", "show"]


def create(run: str, root: str | None, *, as_json: bool) -> int:
    """Make a checkpoint of a run; returns the exit status."""

    def command(private: Path) -> None:
        known = Reader(private).run(run)
        row = _managed(root, lambda manager: manager.create(known.id))
        if as_json:
            print_json({"ok": True, "checkpoint": _row_json(row)})
        else:
            print_text(row.id)
            after = f"after {row.step!r}" if row.step else "before its first step"
            tell(messages(), Text(visible(f"{known.name} ({short(known.id)}), {after}")))

    return _done(command, root, as_json)


def list_checkpoints(run: str | None, root: str | None, *, limit: int, as_json: bool) -> int:
    """Print checkpoints; returns the exit status."""

    def command(private: Path) -> None:
        reader = Reader(private)
        known = reader.run(run).id if run else None
        rows = reader.checkpoints(known, limit=limit)
        if as_json:
            print_json({"ok": True, "checkpoints": [_row_json(row) for row in rows]})
        elif not rows:
            tell(messages(), Text("no checkpoints yet"))
        else:
            page().print(_table(rows, _names(reader, rows)))

    return _done(command, root, as_json)


def show(checkpoint: str, root: str | None, *, as_json: bool) -> int:
    """Print a checkpoint and the state of its run then; returns the exit status."""

    def command(private: Path) -> None:
        # here, because to list them takes no engine
        from tideate_core.engine import read_checkpoint

        shape = read_checkpoint(Reader(private), checkpoint)
        if as_json:
            print_json({"ok": True, "checkpoint": shape.model_dump(mode="json", by_alias=True)})
        else:
            _show(shape)

    return _done(command, root, as_json)


def restore(checkpoint: str, root: str | None, *, as_json: bool) -> int:
    """Make a run of a checkpoint and print its id; returns the exit status."""

    def command(private: Path) -> None:
        # it is looked for before a store is opened, which makes one where there is none
        found = Reader(private).checkpoint(checkpoint)
        made = _managed(root, lambda manager: manager.restore(found.id))
        if as_json:
            print_json({"ok": True, **made.model_dump(mode="json", by_alias=True)})
        else:
            print_text(made.workflow_id)
            words = (
                f"a paused run after {found.step!r}; `tideate resume {short(made.workflow_id)}` continues it"
            )
            tell(messages(), Text(visible(words)))

    return _done(command, root, as_json)


def export(checkpoint: str, root: str | None, *, as_json: bool) -> int:
    """Write a checkpoint to its file and print the path; returns the exit status."""

    def command(private: Path) -> None:
        found = Reader(private).checkpoint(checkpoint)
        path = _managed(root, lambda manager: manager.export(found.id))
        if as_json:
            print_json({"ok": True, "checkpoint_id": found.id, "path": str(path)})
        else:
            print_text(str(path))

    return _done(command, root, as_json)


def _done(command: Callable[[Path], None], root: str | None, as_json: bool) -> int:
    try:
        command(private_of(root))
    except TideateError as error:
        fail(error, as_json=as_json)
        return status_of(error)
    return DONE


def _managed(root: str | None, use: Callable[[CheckpointManager], Any]) -> Any:
    """Do something with the checkpoints of a project.

    :param root: the directory that `--root` names.
    """
    # here, because to list them takes no engine
    from tideate_core.engine import CheckpointManager

    async def managed() -> Any:
        async with opened(locate(root)) as store:
            return await use(CheckpointManager(store))

    return asyncio.run(managed())


def _row_json(row: CheckpointRow) -> dict[str, Any]:
    return {
        "checkpoint_id": row.id,
        "execution_id": row.run,
        "step": row.step,
        "cursor": row.cursor,
        "created_at": row.created_at,
        "manual": row.manual,
    }


def _names(reader: Reader, rows: list[CheckpointRow]) -> dict[str, str]:
    return {run: reader.run(run).name for run in {row.run for row in rows}}


def _table(rows: list[CheckpointRow], names: dict[str, str]) -> Table:
    made = table("checkpoint", "run", "workflow", "when", "after", "")
    for row in rows:
        after = Text(visible(row.step)) if row.step else Text("nothing", style="dim")
        by = Text("wanted", style="cyan") if row.manual else ""
        at = when(row.created_at, seconds=True)
        made.add_row(short(row.id), short(row.run), Text(visible(names[row.run])), at, after, by)
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
