"""Rollback of runs: find runs with changes, preview a rollback, roll back."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tideate_core.app.control_requests import opened_store
from tideate_core.errors import InvalidInput, RunNotFound, StoreError, WorkspaceError
from tideate_core.project import project_state
from tideate_core.store import LAST, Reader

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from tideate_core.app.wiring import Project
    from tideate_core.engine import RollbackOutcome
    from tideate_core.store import RunRow, Store
    from tideate_core.workspace import Buffers, FileChange, RollbackPlan

SERVER = "filesystem server"
FORGOTTEN = "(forgotten)"
RUN_ID = re.compile(r"[0-9a-f]{1,32}")

Note = Callable[[str], None]
"""Shows a message to the person."""


@dataclass(frozen=True, slots=True)
class RunChanges:
    """A run that changed files, with a preview of its rollback."""

    run: str
    row: RunRow | None
    """None for the filesystem server, a pruned run, or an unreadable store."""
    by: str
    at: int
    """Milliseconds since the epoch."""
    outlook: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        row = self.row
        known = {"workflow": row.name, "status": row.status} if row else {}
        return {"execution_id": self.run, "by": self.by, **known, "started_at": self.at, **self.outlook}


def list_changes(project: Project, note: Note) -> list[RunChanges]:
    """Return the runs that changed files, newest first."""
    from tideate_core.engine import run_families
    from tideate_core.mcp.servers import recorded_changes

    served = recorded_changes(project.private)
    runs = _run_families(project.private, run_families, note).items()
    found = [_change_of(project, run, members, served) for run, members in runs]
    found = [one for one in found if any(one.outlook[key] for key in ("files", "changed_since", "error"))]
    return sorted(found, key=lambda one: one.at, reverse=True)


def choose_run(project: Project, wanted: str | None, note: Note) -> tuple[str, list[str]]:
    """Return the id of the requested run, and its members: the runs rolled back with it.

    :param wanted: a run id, a prefix of one, or `last` for the newest run; None: the newest with changes.
    :raises RunNotFound: no run with changes has this id.
    :raises InvalidInput: the word is not an id, or the prefix is ambiguous.
    """
    from tideate_core.engine import nothing_changed_error

    if wanted is not None:
        wanted = named_run(project.private, wanted)
    members = find_changed_runs(project.private, note)
    if wanted is None:
        wanted = next((run.id for run in Reader(project.private).runs_named(members)), LAST)
    if (found := match_run(members, wanted)) is not None:
        return found, members[found]
    raise nothing_changed_error(Reader(project.private), wanted)


def named_run(private: Path, wanted: str) -> str:
    """Return a run id or prefix; replace `last` by the newest run's id.

    :raises InvalidInput: the word is not an id.
    """
    if wanted.strip().lower() == LAST:
        return Reader(private).run(wanted).id
    if not RUN_ID.fullmatch(wanted):
        raise InvalidInput(
            f"{wanted!r} is not a run id; `tideate rollback` lists the runs that changed files"
        )
    return wanted


def match_run(changed: Collection[str], wanted: str) -> str | None:
    """Return the only run with an id or prefix, None if there is none.

    :raises InvalidInput: the prefix is ambiguous.
    """
    found = [wanted] if wanted in changed else sorted(run for run in changed if run.startswith(wanted))
    if len(found) > 1:
        raise InvalidInput(f"several runs begin with {wanted!r}: {', '.join(found[:5])}; give more digits")
    return found[0] if found else None


def find_changed_runs(private: Path, note: Note) -> dict[str, list[str]]:
    """Return the runs that changed files, each with its members: the runs rolled back with it.

    :param note: shows an error of the store; then each run is its only member.
    """
    from tideate_core.engine import family_members

    return _run_families(private, family_members, note)


def preview_rollback(project: Project, members: list[str]) -> RollbackPlan:
    """Return the plan of a rollback: files to restore and conflicts."""
    from tideate_core.engine import RunRollback

    return RunRollback(project.workspace.root, project.private).preview(members)


def rollback_files(plan: RollbackPlan) -> list[dict[str, Any]]:
    """Return the changes of a rollback, sorted by path.

    Each has an `action` (`create`, `delete`, `modify`, or `move` with `move_to`) and a `note` on changes
    beside the text, such as the mode.
    """
    return [_rolled_back_file(change) for change in plan.changes()]


def rollback_diffs(plan: RollbackPlan, longest: int | None = None) -> list[dict[str, Any]]:
    """Return `rollback_files`, each with a `diff` from the current text; empty for binaries and links.

    :param longest: total characters of compared texts; files beyond it have a note instead of a diff.
    """
    from tideate_core.workspace import unified_diff

    found = []
    for change in plan.changes():
        file, size = _rolled_back_file(change), len(change.before or "") + len(change.after or "")
        if longest is not None and size > longest:
            file["note"] = file["note"] or "too long to be shown"
            found.append({**file, "diff": ""})
            continue
        longest = None if longest is None else longest - size
        found.append({**file, "diff": unified_diff(change)})
    return found


def _rolled_back_file(change: FileChange) -> dict[str, Any]:
    from tideate_core.workspace import change_note

    return {
        "path": change.path,
        "move_to": change.move_to,
        "action": change.action,
        "note": change_note(change),
    }


async def roll_back(
    root: Path | None,
    run_id: str,
    members: list[str],
    note: Note,
    *,
    place: Path | None,
    buffers: Buffers | None = None,
    open_store: Callable[[], AbstractAsyncContextManager[Store]] | None = None,
    on_write: Callable[[], object] = lambda: None,
) -> RollbackOutcome:
    """Roll back the changes of a run; cancel the run if it has not ended.

    :param root: None outside of a project.
    :param members: the runs rolled back with it, from `find_changed_runs`.
    :param place: directory that bounds the changed paths; None if the run changed only buffers.
    :param buffers: open buffers of the editor, which take the changes of their files.
    :param open_store: opens the project's store; by default from `root`.
    :param on_write: called before the first write.
    :raises RunIsOwned: a living process owns the run.
    :raises RollbackConflict: the same lines were changed afterwards; nothing was restored.
    """
    from tideate_core.app.opening import recover_before
    from tideate_core.engine import RunRollback

    await recover_before(root, note, buffers)
    rollback = RunRollback(place, project_state(root), buffers)
    store = open_store or partial(opened_store, root)
    return await rollback.roll_back(run_id, members, store, on_write)


def _run_families(
    private: Path, read: Callable[[Path, Reader], dict[str, list[str]]], note: Note
) -> dict[str, list[str]]:
    from tideate_core.engine import runs_with_changes

    try:
        return read(private, Reader(private))
    except StoreError as error:
        # the journal has the changes of a run: a rollback needs no store
        note(str(error))
        return {run: [run] for run in runs_with_changes(private)}


def _change_of(project: Project, run: str, members: list[str], served: frozenset[str]) -> RunChanges:
    from tideate_core.workspace import journal_directory

    outlook = _outlook(project, members)
    try:
        row = Reader(project.private).run(run)
    except (RunNotFound, StoreError):
        at = max(_written_at(journal_directory(project.private, member)) for member in members)
        return RunChanges(run, None, SERVER if run in served else FORGOTTEN, at, outlook)
    return RunChanges(run, row, row.name, row.started_at, outlook)


def _written_at(journal: Path) -> int:
    try:
        return journal.stat().st_mtime_ns // 1_000_000
    except OSError:
        return 0  # rolled back in the meantime


def _outlook(project: Project, members: list[str]) -> dict[str, Any]:
    try:
        ahead = preview_rollback(project, members)
    except (StoreError, WorkspaceError) as error:
        return {"files": [], "merged": [], "changed_since": [], "reasons": {}, "error": str(error)}
    return {
        "files": ahead.names,
        "merged": ahead.merged,
        "changed_since": ahead.conflicts,
        "reasons": ahead.reasons,
        "error": None,
    }
