"""`tideate snapshot`: its arguments. What a command needs is imported when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from tideate_core.cli.arguments import Json, Root  # noqa: TC001 cyclopts reads them
from tideate_core.cli.run_arguments import Yes  # noqa: TC001 cyclopts reads it

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

__all__ = ["app"]

app = App(name="snapshot", help="The project's files as they stood at one moment, to go back to.")


def snapshot_ids(context: CompletionContext) -> list[str]:
    """Return the ids of the snapshots, as lists show them."""
    from tideate_core.cli.snapshots import ids

    return ids()


SnapshotId = Annotated[str, Parameter(help="Its id, or the beginning of it.", completer=snapshot_ids)]


@app.command
def create(
    *name: Annotated[str, Parameter(help="What to call it, in one or more words. Default: by hand.")],
    json: Json = False,
    root: Root = None,
) -> int:
    """Make a snapshot of the project's files; prints its id.

    Files that git ignores are taken in, what is in directories that it ignores is not. What is left out
    otherwise is said.
    """
    from tideate_core.cli.snapshots import create as command

    return command(" ".join(name) or "by hand", root, as_json=json)


@app.command(name="list")
def list_snapshots(*, json: Json = False, root: Root = None) -> int:
    """List the snapshots, the newest first."""
    from tideate_core.cli.snapshots import list_snapshots as command

    return command(root, as_json=json)


@app.command
def diff(
    snapshot: Annotated[
        str | None,
        Parameter(help="Its id, or the beginning of it. Default: the newest.", completer=snapshot_ids),
    ] = None,
    /,
    *,
    changes: Annotated[bool, Parameter(name="--changes", help="With the lines that differ.")] = False,
    json: Json = False,
    root: Root = None,
) -> int:
    """List what was added, modified and deleted since a snapshot."""
    from tideate_core.cli.snapshots import diff as command

    return command(snapshot, root, changes=changes, as_json=json)


@app.command
def restore(
    snapshot: SnapshotId,
    /,
    *,
    delete_added: Annotated[
        bool, Parameter(name="--delete-added", help="Delete what was made since; never what git ignores.")
    ] = False,
    yes: Yes = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Bring back what differs from a snapshot, all of it or nothing.

    A snapshot of what is there now is made before, so that it can be undone. Without a terminal it is
    declined unless --yes.
    """
    from tideate_core.cli.snapshots import RestoreOptions
    from tideate_core.cli.snapshots import restore as command

    return command(RestoreOptions(snapshot, delete_added, yes, json, root))


@app.command
def delete(
    *snapshots: Annotated[
        str, Parameter(help="Their ids, or the beginnings of them.", completer=snapshot_ids)
    ],
    json: Json = False,
    root: Root = None,
) -> int:
    """Delete snapshots, and the contents that only they needed."""
    from tideate_core.cli.snapshots import delete as command

    return command(snapshots, root, as_json=json)
