"""Opening of bundles: add a run with its files and drafts to a project, completely or not at all."""

from __future__ import annotations

import asyncio
import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tideate_core.engine import draft_folder, is_permission
from tideate_core.errors import (
    EditConflict,
    InvalidBundle,
    RunIsHere,
    RunIsOwned,
    RunNotFound,
    ScratchUnavailable,
    WorkspaceError,
)
from tideate_core.portable.bundle import ENDED
from tideate_core.portable.copies import keep_copies, make_copy, merged_copy, with_copies
from tideate_core.portable.opening import Opening, finish_openings, lock_openings
from tideate_core.portable.relocation import Relocation
from tideate_core.portable.rows import arrived_rows
from tideate_core.project import real_path
from tideate_core.store import import_rows
from tideate_core.util.escaping import label
from tideate_core.util.private_files import make_private_directory, open_private
from tideate_core.util.uncancelled import run_uncancelled
from tideate_core.workspace import Committer, Journal, Root, merge_journals, plan_rollback

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tideate_core.portable.bundle import Bundle
    from tideate_core.snapshots import GuardedCopy
    from tideate_core.store import Reader, RunRows, Store
    from tideate_core.workspace import FileImage, MergedJournals, Workspace

log = logging.getLogger(__name__)

MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class TakenUp:
    """Result of opening a bundle."""

    run: str
    workflow: str
    written: tuple[str, ...]
    """Files that were changed here."""
    ended: bool
    unchanged: bool = False
    """The run was here already, in the state of the bundle."""

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        shape = {"execution_id": self.run, "workflow": self.workflow, "written": list(self.written)}
        return {**shape, "ended": self.ended, "unchanged": self.unchanged}


async def take_up(
    store: Store, workspace: Workspace, bundle: Bundle, *, on_write: Callable[[], object] = lambda: None
) -> TakenUp:
    """Open a bundle: add its run to a project; an unfinished run is paused.

    Interrupted openings are reverted first.

    :param on_write: called before the first write.
    :raises RunIsHere: the run is in this project and has continued.
    :raises RunIsOwned: a living process has the run.
    :raises EditConflict: the files here conflict with the changes of the run; nothing was changed.
    :raises InvalidBundle: the bundle contradicts the runs of this project; nothing was changed.
    :raises WorkspaceError: a file cannot be written, or another opening is under way.
    :raises StoreError: the rows cannot be written; everything was reverted.
    """
    lock = lock_openings(store.private)
    if lock is None:
        raise WorkspaceError(
            "another process is opening a bundle in this project; try again when it has ended"
        )
    try:
        taking = _TakingUp(store, workspace, bundle)
        await finish_openings(store.private, store.reader(), workspace)
        return await run_uncancelled(taking.take_up(on_write))
    finally:
        os.close(lock)


class _TakingUp:
    def __init__(self, store: Store, workspace: Workspace, bundle: Bundle) -> None:
        self._store = store
        self._workspace = workspace
        self._bundle = bundle
        self._root = Root(workspace.root)
        self._opening = Opening(store.private, bundle.run)

    async def take_up(self, on_write: Callable[[], object]) -> TakenUp:
        bundle = self._bundle
        rows = self._arrived()
        known = await asyncio.to_thread(_known, self._store.reader(), bundle)
        ended = bundle.rows[0].run["status"] in ENDED
        if known is not None and is_unchanged(self._store.reader(), bundle):
            return TakenUp(bundle.run, bundle.facts.workflow, (), ended, unchanged=True)
        merged = await self._merged(known or [])
        copies = await asyncio.to_thread(self._copies, merged)
        await asyncio.to_thread(self._refuse_conflicts, merged, await self._workspace.unsaved_files())
        on_write()
        try:
            await self._write(merged, copies, rows, known)
        except BaseException:
            await self._opening.revert(self._workspace)
            raise
        await asyncio.to_thread(self._opening.end)
        return TakenUp(bundle.run, bundle.facts.workflow, tuple(merged.written), ended)

    def _arrived(self) -> list[RunRows]:
        path = self._workspace.root
        relocation = Relocation(() if path is None else (real_path(path),))
        root = "" if path is None else str(real_path(path))
        return [arrived_rows(one, relocation, root) for one in self._bundle.rows]

    async def _merged(self, known: Sequence[str]) -> MergedJournals:
        records = self._bundle.records()
        start = await asyncio.to_thread(self._before, known)
        return await asyncio.to_thread(merge_journals, self._root, records, self._bundle.order(), start)

    def _before(self, known: Sequence[str]) -> dict[Path, FileImage]:
        """Return the files without the changes that the run made here before it moved.

        :raises EditConflict: these changes cannot be rolled back.
        """
        records = Journal(self._store.private).records(*known) if known else []
        plan = plan_rollback(self._root, records, None)
        if plan.conflicts:
            raise EditConflict(
                f"files were changed after the run wrote to them: {_listed(plan.reasons)}. Nothing was "
                "changed; revert the later changes, or open the bundle in another clone"
            )
        return {file.path: file.after for file in plan.files}

    def _copies(self, merged: MergedJournals) -> dict[str, dict[str, FileImage | None]]:
        """Return the files of the guarded copies, and add their conflicts."""
        written = {file.path: file.after for file in merged.plan.files}
        found = {}
        for copy, files in self._bundle.copies().items():
            found[copy], conflicts = merged_copy(self._root, files, written)
            merged.conflicts.update(conflicts)
        return found

    def _refuse_conflicts(self, merged: MergedJournals, unsaved: Sequence[str]) -> None:
        conflicts = dict(merged.conflicts)
        conflicts |= {
            name: "has unsaved changes; save or discard them" for name in merged.written if name in unsaved
        }
        if conflicts:
            raise EditConflict(
                f"{_listed(conflicts)}; nothing was changed. Restore these files as they were before the "
                "run, or use a work tree of its base commit: `tideate bundle open FILE --worktree DIR`"
            )

    async def _write(
        self,
        merged: MergedJournals,
        copies: dict[str, dict[str, FileImage | None]],
        rows: Sequence[RunRows],
        known: list[str] | None,
    ) -> None:
        runs = list(dict.fromkeys([*(one.id for one in rows), *(known or [])]))
        await asyncio.to_thread(self._stage, merged, runs, known is not None)
        if merged.plan:
            committer = Committer(self._root, self._workspace.buffers, self._opening.journal)
            await committer.commit(merged.plan, self._opening.run)
        made = await self._make_copies(copies)
        try:
            await asyncio.to_thread(self._opening.swap)
            at = self._bundle.manifest.origin.made_at
            rows = with_copies(rows, {old: copy.id for old, copy in made.items()})
            await import_rows(self._store, rows, at=at)
        except BaseException:
            for copy in made.values():
                await copy.discard()
            raise
        await asyncio.to_thread(keep_copies, rows, list(made.values()), at)

    async def _make_copies(self, copies: dict[str, dict[str, FileImage | None]]) -> dict[str, GuardedCopy]:
        """Create the guarded copies; an agent without its copy starts again."""
        root = self._workspace.root
        made: dict[str, GuardedCopy] = {}
        if root is None:
            return made
        for old, files in copies.items():
            try:
                made[old] = await make_copy(root, files)
            except ScratchUnavailable as error:
                log.warning("the guarded copy %s cannot be created here: %s", old, error)
        return made

    def _stage(self, merged: MergedJournals, runs: Sequence[str], known: bool) -> None:
        events = self._bundle.rows[0].events
        mark = (len(events), *events[-1]) if events else None
        self._opening.begin(self._workspace.root, runs, mark, known=known)
        staged = Journal(self._opening.staged)
        for run, number in self._bundle.order():
            step, entries = merged.entries[run][number]
            staged.record(run, entries, step)
        for draft in self._bundle.manifest.drafts:
            folder = draft_folder(self._opening.staged, draft.run)
            make_private_directory(folder)
            _write_private(folder / draft.name, self._bundle.blobs[draft.blob])


def _write_private(path: Path, content: bytes) -> None:
    with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _known(reader: Reader, bundle: Bundle) -> list[str] | None:
    """Return the runs here that the bundle replaces, or None if it replaces none.

    :raises RunIsOwned: a living process has the run here.
    :raises RunIsHere: the run here has continued since the bundle was created.
    :raises InvalidBundle: a run of the bundle belongs to another run here.
    """
    here = _family(reader, bundle.run)
    for one in bundle.rows:
        if one.id not in here and _exists(reader, one.id):
            raise InvalidBundle(
                f"its run {one.id[:8]} is part of another run here", "open it in another clone"
            )
    if not here:
        return None
    run = reader.run(bundle.run)
    if run.lease is not None and run.lease.alive:
        raise RunIsOwned(
            f"run {run.id[:8]} is being run by process {run.lease.pid}, so nothing was changed; "
            "end that process first"
        )
    if run.parent is not None:
        raise InvalidBundle(
            f"its run {bundle.run[:8]} is a step of another run here", "open it in another clone"
        )
    theirs = bundle.rows[0].events
    ours = [(event.name, event.at) for event in reader.events(bundle.run)]
    their_memos = {(row["step_id"], row["key"]) for row in bundle.rows[0].tables["workflow_memos"]}
    is_ahead = ours == theirs and _lasting_memos(reader, bundle.run) > their_memos  # killed after an answer
    if ours != theirs[: len(ours)] or is_ahead:
        if theirs == ours[: len(theirs)]:
            raise RunIsHere(
                f"run {bundle.run[:8]} is here already and has continued since this bundle was created; "
                f"nothing was changed, and `tideate show {bundle.run[:8]}` shows it"
            )
        raise RunIsHere(
            f"run {bundle.run[:8]} has continued here and, separately, where this bundle was created; "
            "nothing was changed. To continue the run of the bundle, open it in another clone",
            diverged=True,
        )
    return here


def is_unchanged(reader: Reader, bundle: Bundle) -> bool:
    """Tell whether a run here is as in a bundle that was made of it; blocking."""
    run = reader.run(bundle.run)
    same_memos = len(_lasting_memos(reader, bundle.run)) == len(bundle.rows[0].tables["workflow_memos"])
    same_events = len(reader.events(bundle.run)) == len(bundle.rows[0].events)
    return same_events and same_memos and run.ended == (bundle.rows[0].run["status"] in ENDED)


def _lasting_memos(reader: Reader, run: str) -> set[tuple[str, str]]:
    """Return the step and key of each memo that a bundle of the run here would hold."""
    memos = reader.memos(run).items()
    return {(step, key) for step, kept in memos for key in kept if not is_permission(key, kept[key])}


def _family(reader: Reader, run: str) -> list[str]:
    if not _exists(reader, run):
        return []
    found = [run]
    for one in found:
        found += [child.id for child in reader.within(one)]
    return list(dict.fromkeys(found))


def _exists(reader: Reader, run: str) -> bool:
    try:
        return reader.run(run).id == run
    except RunNotFound:
        return False


def _listed(reasons: dict[str, str]) -> str:
    shown = [f"{label(name)} {why}" for name, why in list(reasons.items())[:MOST_SHOWN]]
    more = len(reasons) - len(shown)
    return "; ".join([*shown, *([f"and {more} more"] if more else [])])
