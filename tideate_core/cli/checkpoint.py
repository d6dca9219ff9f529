"""`tideate checkpoint`: its arguments. What a command needs is imported when it runs."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from tideate_core.cli.arguments import Json, Root  # noqa: TC001 cyclopts reads them
from tideate_core.cli.run_arguments import Limit, RunId, run_ids

__all__ = ["app"]

app = App(name="checkpoint", help="Points that a run can be taken up from: one after each completed step.")

CheckpointId = Annotated[str, Parameter(help="Its id, or the beginning of it.")]


@app.command
def create(run: RunId, /, *, json: Json = False, root: Root = None) -> int:
    """Make a checkpoint where a run is now. It and its run are never pruned."""
    from tideate_core.cli.checkpoints import create as command

    return command(run, root, as_json=json)


@app.command(name="list")
def list_checkpoints(
    run: Annotated[
        str | None,
        Parameter(help="Its id, or the beginning of it. Default: all runs.", completer=run_ids),
    ] = None,
    /,
    *,
    limit: Limit = 20,
    json: Json = False,
    root: Root = None,
) -> int:
    """List checkpoints, the newest first."""
    from tideate_core.cli.checkpoints import list_checkpoints as command

    return command(run, root, limit=limit, as_json=json)


@app.command
def show(checkpoint: CheckpointId, /, *, json: Json = False, root: Root = None) -> int:
    """Show how far a run had come at a checkpoint."""
    from tideate_core.cli.checkpoints import show as command

    return command(checkpoint, root, as_json=json)


@app.command
def restore(checkpoint: CheckpointId, /, *, json: Json = False, root: Root = None) -> int:
    """Make a new run, paused, that stands where a checkpoint was made; the old run stays as it is.

    Files are left as they are; `tideate rollback` takes back what a run wrote.
    """
    from tideate_core.cli.checkpoints import restore as command

    return command(checkpoint, root, as_json=json)


@app.command
def export(checkpoint: CheckpointId, /, *, json: Json = False, root: Root = None) -> int:
    """Write a checkpoint to .tideate/checkpoints/checkpoint_TIME.json, for other tools; prints the path."""
    from tideate_core.cli.checkpoints import export as command

    return command(checkpoint, root, as_json=json)
