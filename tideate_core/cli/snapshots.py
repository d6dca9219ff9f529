"""What `tideate snapshot` does."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from rich.text import Text

from tideate_core.app import note_project, recovery_names, recovery_words
from tideate_core.cli.diffs import patch_text
from tideate_core.cli.exits import DECLINED, DONE, status_of
from tideate_core.cli.output import (
    fail,
    label,
    messages,
    note,
    print_json,
    print_text,
    results,
    tell,
    visible,
)
from tideate_core.cli.runs import page, short, table, when
from tideate_core.cli.waiting import Waiting
from tideate_core.cli.wiring import open_project
from tideate_core.errors import ConfigError, InvalidInput, SnapshotNotFound, TideateError
from tideate_core.snapshots import SnapshotLimits, SnapshotManager

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping

    from tideate_core.snapshots import FileDiff, RestoreResult, Snapshot

__all__ = ["RestoreOptions", "create", "delete", "diff", "ids", "list_snapshots", "restore"]

_T = TypeVar("_T")

MANY: Final = 20
"""Lines after which only the count is told."""
SIGNS: Final[Mapping[str, tuple[str, str]]] = {
    "added": ("A", "green"),
    "modified": ("M", "yellow"),
    "deleted": ("D", "red"),
}
WHOLE_ID: Final = 16


@dataclass(frozen=True, slots=True)
class RestoreOptions:
    """What `tideate snapshot restore` was given."""

    snapshot: str
    delete_added: bool
    policy: bool | None
    """What answers instead of a person."""
    json: bool
    root: str | None


def ids() -> list[str]:
    """Return the ids of the snapshots of the project here, as lists show them."""
    return [short(one.id) for one in asyncio.run(_manager(None).list())]


def create(name: str, root: str | None, *, as_json: bool) -> int:
    """Make a snapshot and print its id; returns the exit status."""

    async def command(manager: SnapshotManager) -> int:
        if pending := await manager.interrupted():
            names = recovery_names(pending)
            note(f"a restore of a snapshot was interrupted, so these files may be half restored: {names}")
        with Waiting(messages(), "reading the project's files") as waiting:
            made = await manager.get(await manager.create(name, progress=waiting))
        await asyncio.to_thread(note_project, manager.root)
        if as_json:
            print_json({"ok": True, "snapshot": _shape(made), "skipped": made.skipped})
            return DONE
        print_text(made.id)
        tell(messages(), Text(_words(made)))
        _tell_each("left out", (f"{label(path)}: {why}" for path, why in made.skipped.items()))
        return DONE

    return _done(command, root, as_json)


def list_snapshots(root: str | None, *, as_json: bool) -> int:
    """Print the snapshots; returns the exit status."""

    async def command(manager: SnapshotManager) -> int:
        found, damaged = (await manager.list())[::-1], await manager.damaged()
        if as_json:
            print_json({"ok": True, "snapshots": [_shape(one) for one in found], "damaged": damaged})
            return DONE
        for words in damaged:
            tell(messages(), Text(f"note: {visible(words)}", style="yellow"))
        if not found:
            tell(messages(), Text("no snapshots yet; `tideate snapshot create` makes one"))
            return DONE
        rows = table(
            "snapshot", "when", "files", "MiB", "left out", "name", right=("files", "MiB", "left out")
        )
        for one in found:
            left_out = Text(f"{one.skipped_count}", style="yellow") if one.skipped_count else ""
            size = f"{one.size / 2**20:,.1f}"
            at = when(one.timestamp, seconds=True)
            rows.add_row(short(one.id), at, f"{one.count:,}", size, left_out, Text(label(one.name)))
        page().print(rows)
        return DONE

    return _done(command, root, as_json)


def diff(wanted: str | None, root: str | None, *, changes: bool, as_json: bool) -> int:
    """Print what differs from a snapshot; returns the exit status."""

    async def command(manager: SnapshotManager) -> int:
        chosen = await _chosen(manager, wanted)
        found = await _compared(manager, chosen, changes=changes or as_json)
        if as_json:
            print_json({"ok": True, "snapshot": chosen, "files": [asdict(one) for one in found]})
            return DONE
        for one in found:
            results().print(_line(one), soft_wrap=True)
            if changes and one.changes:
                results().print(patch_text(one.changes), soft_wrap=True)
        if not found:
            tell(messages(), Text(f"everything is as in snapshot {short(chosen)}"))
        return DONE

    return _done(command, root, as_json)


def restore(options: RestoreOptions) -> int:
    """Bring a snapshot back, if that is confirmed; returns the exit status."""

    async def command(manager: SnapshotManager) -> int:
        chosen = await _chosen(manager, options.snapshot)
        await _note_interrupted(manager)
        if options.policy is not True:
            found = await _compared(manager, chosen, changes=False)
            if found and not await _confirmed(options, chosen, found):
                return _declined(options)
        with Waiting(messages(), "reading the project's files") as waiting:
            done = await manager.restore(chosen, delete_added=options.delete_added, progress=waiting)
        if options.json:
            print_json({"ok": True, **asdict(done)})
        else:
            _tell_restored(done)
        return DONE

    return _done(command, options.root, options.json)


def delete(wanted: tuple[str, ...], root: str | None, *, as_json: bool) -> int:
    """Delete snapshots; returns the exit status."""

    async def command(manager: SnapshotManager) -> int:
        if not wanted:
            raise InvalidInput("name the snapshots to delete; `tideate snapshot list` lists them")
        chosen = list(dict.fromkeys([await _chosen(manager, one, damaged=True) for one in wanted]))
        for one in chosen:
            await manager.delete(one)
        if as_json:
            print_json({"ok": True, "deleted": chosen})
        else:
            tell(messages(), Text(f"deleted: {', '.join(map(short, chosen))}"))
        return DONE

    return _done(command, root, as_json)


def _done(
    command: Callable[[SnapshotManager], Coroutine[Any, Any, int]], root: str | None, as_json: bool
) -> int:
    try:
        return asyncio.run(command(_manager(root)))
    except TideateError as error:
        fail(error, as_json=as_json)
        return status_of(error)


def _manager(root: str | None) -> SnapshotManager:
    project = open_project(root)
    if project.root is None:
        raise ConfigError("there is no project here to make snapshots of; name one with --root")
    return SnapshotManager(project.root, limits=SnapshotLimits.configured(project.loaded.config.snapshots))


async def _note_interrupted(manager: SnapshotManager) -> None:
    if pending := await manager.interrupted():
        note(recovery_words(pending))


async def _chosen(manager: SnapshotManager, wanted: str | None, *, damaged: bool = False) -> str:
    """Return the id of the snapshot that is meant.

    :param wanted: the beginning of its id; None for the newest.
    :param damaged: one that cannot be read may be named by its whole id.
    :raises SnapshotNotFound: there is none.
    :raises InvalidInput: several begin so.
    """
    known = [one.id for one in await manager.list()]
    if wanted is None:
        if not known:
            raise SnapshotNotFound("there are no snapshots yet; `tideate snapshot create` makes one")
        return known[-1]
    found = [one for one in known if wanted and one.startswith(wanted)]
    if len(found) > 1:
        raise InvalidInput(
            f"several snapshots begin with {wanted!r}: {', '.join(found[:5])}; give more digits"
        )
    if not found and not (damaged and len(wanted) == WHOLE_ID):
        raise SnapshotNotFound(f"no snapshot has the id {wanted!r}; `tideate snapshot list` names them")
    return found[0] if found else wanted


async def _compared(manager: SnapshotManager, chosen: str, *, changes: bool) -> list[FileDiff]:
    with Waiting(messages(), "reading the project's files") as waiting:
        return await manager.diff(chosen, changes=changes, progress=waiting)


async def _confirmed(options: RestoreOptions, chosen: str, found: list[FileDiff]) -> bool:
    for one in found[:MANY]:
        messages().print(_line(one), soft_wrap=True)
    if len(found) > MANY:
        messages().print(f"… and {len(found) - MANY} more", style="dim")
    added = "deleted" if options.delete_added else "left where it is"
    tell(messages(), Text(f"What was added (A) since is {added}; the rest is brought back.", style="dim"))
    if options.policy is not None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    # here, because it takes the engine
    from tideate_core.cli.questions import Questions
    from tideate_core.engine import ConfirmationRequest

    request = ConfirmationRequest("", "snapshot", "restore", "gate", f"Restore snapshot {short(chosen)}?")
    return (await Questions(messages()).ask(request)).accepted


def _declined(options: RestoreOptions) -> int:
    words = "declined; nothing was changed" + ("" if options.policy is False else " (--yes restores)")
    if options.json:
        print_json({"ok": False, "error": words, "error_code": "Declined"})
    else:
        tell(messages(), Text(words, style="yellow"))
    return DECLINED


def _tell_restored(done: RestoreResult) -> None:
    _tell_each("restored", map(label, done.written))
    _tell_each("deleted", map(label, done.deleted))
    _tell_each("left, made since", map(label, done.added))
    _tell_each("left", (f"{label(path)}: {why}" for path, why in done.left.items()))
    if done.before is None:
        tell(messages(), Text("nothing to restore: everything is as it was then"))
    else:
        tell(
            messages(),
            Text(f"undo: tideate snapshot restore {short(done.before)} --delete-added", style="dim"),
        )


def _tell_each(what: str, lines: Iterable[str]) -> None:
    told = list(lines)
    for line in told[:MANY]:
        messages().print(f"{what}: {line}", markup=False, soft_wrap=True)
    if len(told) > MANY:
        messages().print(f"{what}: … and {len(told) - MANY:,} more", markup=False)


def _words(made: Snapshot) -> str:
    files = f"{made.count:,} file{'' if made.count == 1 else 's'}"
    left_out = f", {made.skipped_count:,} left out" if made.skipped_count else ""
    return f"{files}, {made.size / 2**20:,.1f} MiB{left_out}"


def _line(one: FileDiff) -> Text:
    sign, style = SIGNS[one.status]
    return Text.assemble((sign, style), f" {label(one.path)}")


def _shape(one: Snapshot) -> dict[str, Any]:
    """Return a snapshot as tools get it. Times are milliseconds since the epoch."""
    return {
        "id": one.id,
        "name": one.name,
        "timestamp": one.timestamp,
        "files": one.count,
        "size": one.size,
        "skipped_count": one.skipped_count,
    }
