"""`tideate snapshot`: create, list, compare, restore and delete snapshots of the project's files."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Self

from cyclopts import App, Parameter
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
from rich.text import Text

from tideate_core.app import choose_snapshot, open_snapshots, short_id, snapshot_ids, snapshot_json
from tideate_core.cli.arguments import Json, Root, Yes
from tideate_core.cli.confirmations import confirmed, declined
from tideate_core.cli.process import DONE, finish, log_to_file, run_async
from tideate_core.cli.render.output import (
    messages,
    note,
    print_json,
    print_line,
    print_message,
    print_text,
    report_errors,
)
from tideate_core.cli.render.tables import page, table, when
from tideate_core.errors import InvalidInput
from tideate_core.project import expand_home, real_path
from tideate_core.util.escaping import label

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cyclopts.completion import CompletionContext
    from rich.console import Console

    from tideate_core.snapshots import FileDiff, RestoreResult, Snapshot, SnapshotManager

MANY: Final = 20
"""Maximum lines of a list; the rest is counted."""
SIGNS: Final[Mapping[str, tuple[str, str]]] = {
    "added": ("A", "green"),
    "modified": ("M", "yellow"),
    "deleted": ("D", "red"),
}
SHOW_AFTER: Final = 1.0
"""Seconds until progress is shown."""

app = App(name="snapshot")


def _complete(context: CompletionContext) -> list[str]:
    """Complete snapshot ids."""
    return snapshot_ids()


Paths = Annotated[
    str, Parameter(name="PATH", help="Only these files and folders. Default: the whole project.")
]
SnapshotId = Annotated[str, Parameter(help="ID of the snapshot, or a prefix of it.", completer=_complete)]


@app.command
@report_errors
def create(
    *name: Annotated[str, Parameter(help="Name, in one or more words. Default: by hand.")],
    json: Json = False,
    root: Root = None,
) -> int:
    """Create a snapshot of the project's files; print its id.

    Includes files that git ignores, but not ignored directories. Other omitted files are listed.
    """
    from tideate_core.app import note_project, recovery_names

    async def command(manager: SnapshotManager) -> int:
        if pending := await manager.interrupted():
            names = recovery_names(pending)
            note(f"the restore of a snapshot was interrupted, these files may be half restored: {names}")
        with ProgressBar(messages(), "reading the project's files") as bar:
            made = await manager.get(await manager.create(" ".join(name) or "by hand", progress=bar))
        await asyncio.to_thread(note_project, manager.root)
        if json:
            print_json({"ok": True, "snapshot": snapshot_json(made), "skipped": made.skipped})
            return DONE
        print_text(made.id)
        print_message(_size_words(made))
        _print_each("left out", (f"{label(path)}: {why}" for path, why in made.skipped.items()))
        return DONE

    return run_async(command(open_snapshots(root, note)))


@app.command(name="list")
@report_errors
def list_snapshots(*, json: Json = False, root: Root = None) -> int:
    """List the snapshots, newest first."""

    async def command(manager: SnapshotManager) -> int:
        found, damaged = (await manager.list())[::-1], await manager.damaged()
        if json:
            print_json({"ok": True, "snapshots": [snapshot_json(one) for one in found], "damaged": damaged})
            return DONE
        for words in damaged:
            note(words)
        if not found:
            print_message("no snapshots yet; `tideate snapshot create` makes one")
            return DONE
        rows = table(
            "snapshot", "when", "files", "MiB", "left out", "name", right=("files", "MiB", "left out")
        )
        for one in found:
            left_out = Text(f"{one.skipped_count}", style="yellow") if one.skipped_count else ""
            size = f"{one.size / 2**20:,.1f}"
            at = when(one.timestamp, seconds=True)
            rows.add_row(short_id(one.id), at, f"{one.count:,}", size, left_out, Text(label(one.name)))
        page().print(rows)
        return DONE

    return run_async(command(open_snapshots(root)))


@app.command
@report_errors
def diff(
    snapshot: Annotated[
        str | None,
        Parameter(help="ID of the snapshot, or a prefix of it. Default: the newest.", completer=_complete),
    ] = None,
    /,
    *paths: Paths,
    changes: Annotated[bool, Parameter(name="--changes", help="Show the lines that differ, too.")] = False,
    json: Json = False,
    root: Root = None,
) -> int:
    """List the files added, modified and deleted since a snapshot."""
    from tideate_core.cli.render.diffs import patch_text

    async def command(manager: SnapshotManager) -> int:
        chosen = await choose_snapshot(manager, snapshot)
        found = await _compared(manager, chosen, paths, changes=changes or json)
        if json:
            print_json({"ok": True, "snapshot": chosen, "files": [asdict(one) for one in found]})
            return DONE
        for one in found:
            print_line(_line(one))
            if changes and one.changes:
                print_line(patch_text(one.changes))
        if not found:
            print_message(f"everything is as in snapshot {short_id(chosen)}")
        return DONE

    return run_async(command(open_snapshots(root)))


@app.command
@report_errors
def restore(
    snapshot: SnapshotId,
    /,
    *paths: Paths,
    delete_added: Annotated[
        bool,
        Parameter(
            name="--delete-added",
            help="Also delete files added since the snapshot, except files that git ignores.",
        ),
    ] = False,
    yes: Yes = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Restore the files that differ from a snapshot, or none.

    The current files are saved in a new snapshot first. Without a terminal, this is declined unless --yes.
    """
    from tideate_core.app import recovery_words

    async def command(manager: SnapshotManager) -> int:
        chosen = await choose_snapshot(manager, snapshot)
        if pending := await manager.interrupted():
            note(recovery_words(pending))
        if yes is not True:
            found = await _compared(manager, chosen, paths, changes=False)
            if found and not await _confirmed(chosen, found, yes, delete_added=delete_added):
                return declined("nothing was changed", "restores", yes, as_json=json)
        log_to_file()
        with ProgressBar(messages(), "reading the project's files") as bar:
            only = _relative(manager, paths)
            restoring = partial(manager.restore, chosen, delete_added=delete_added, paths=only, progress=bar)
            done = await finish(lambda begin: restoring(on_write=begin), note)
        if json:
            print_json({"ok": True, **asdict(done)})
        else:
            _print_restored(done)
        return DONE

    return run_async(command(open_snapshots(root, note)))


@app.command
@report_errors
def delete(
    *snapshots: Annotated[str, Parameter(help="IDs of the snapshots, or prefixes.", completer=_complete)],
    yes: Yes = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Delete snapshots with the contents that no other snapshot needs."""

    async def command(manager: SnapshotManager) -> int:
        if not snapshots:
            raise InvalidInput("name the snapshots to delete; `tideate snapshot list` lists them")
        chosen = list(dict.fromkeys([await choose_snapshot(manager, one, damaged=True) for one in snapshots]))
        names = ", ".join(map(short_id, chosen))
        question = f"Delete {'snapshot' if len(chosen) == 1 else 'snapshots'} {names} for good?"
        if not await confirmed(yes, "delete", question):
            return declined("nothing was deleted", "deletes", yes, as_json=json)
        for one in chosen:
            await manager.delete(one)
        if json:
            print_json({"ok": True, "deleted": chosen})
        else:
            print_message(f"deleted: {names}")
        return DONE

    return run_async(command(open_snapshots(root)))


async def _compared(
    manager: SnapshotManager, chosen: str, paths: tuple[str, ...], *, changes: bool
) -> list[FileDiff]:
    only = _relative(manager, paths)
    with ProgressBar(messages(), "reading the project's files") as bar:
        return await manager.diff(chosen, changes=changes, paths=only, progress=bar)


def _relative(manager: SnapshotManager, paths: tuple[str, ...]) -> list[str]:
    """Return paths relative to the root; links are not followed in their last part.

    :raises InvalidInput: a path is not below the root.
    """
    found = []
    for path in paths:
        whole = Path.cwd() / expand_home(path)
        place = real_path(whole.parent) / whole.name
        if not place.is_relative_to(manager.root) or ".." in place.parts:
            raise InvalidInput(f"{path} is not within {manager.root}")
        found.append(str(place.relative_to(manager.root)))
    return [] if "." in found else found


async def _confirmed(chosen: str, found: list[FileDiff], policy: bool | None, *, delete_added: bool) -> bool:
    for one in found[:MANY]:
        print_line(_line(one), console=messages())
    if len(found) > MANY:
        messages().print(f"… and {len(found) - MANY} more", style="dim")
    added = "deleted" if delete_added else "kept"
    print_message(f"Files added since (A) are {added}; the others are restored.", "dim")
    return await confirmed(policy, "restore", f"Restore snapshot {short_id(chosen)}?")


def _print_restored(done: RestoreResult) -> None:
    _print_each("restored", map(label, done.written))
    _print_each("deleted", map(label, done.deleted))
    _print_each("left, made since", map(label, done.added))
    _print_each("left", (f"{label(path)}: {why}" for path, why in done.left.items()))
    if done.before is None:
        print_message("nothing to restore: everything is as it was then")
    else:
        print_message(f"before: tideate snapshot restore {short_id(done.before)} --delete-added", "dim")


def _print_each(what: str, lines: Iterable[str]) -> None:
    all_lines = list(lines)
    for line in all_lines[:MANY]:
        print_line(f"{what}: {line}", console=messages())
    if len(all_lines) > MANY:
        messages().print(f"{what}: … and {len(all_lines) - MANY:,} more", markup=False)


def _size_words(made: Snapshot) -> str:
    files = f"{made.count:,} file{'' if made.count == 1 else 's'}"
    left_out = f", {made.skipped_count:,} left out" if made.skipped_count else ""
    return f"{files}, {made.size / 2**20:,.1f} MiB{left_out}"


def _line(one: FileDiff) -> Text:
    sign, style = SIGNS[one.status]
    return Text.assemble((sign, style), f" {label(one.path)}")


class ProgressBar:
    """Progress in bytes: a bar on a terminal, elsewhere one line.

    :param words: name of the activity.
    """

    def __init__(self, console: Console, words: str) -> None:
        self._console = console
        self._words = words
        self._begun = time.monotonic()
        self._bar: Progress | None = None
        self._said = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        """Update the completed and the total bytes."""
        if time.monotonic() - self._begun < SHOW_AFTER:
            return
        if not self._console.is_terminal:
            if not self._said:
                self._console.print(f"{self._words} …", markup=False)
                self._said = True
            return
        if self._bar is None:
            columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._bar.add_task(self._words, total=total)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done, total=total)
