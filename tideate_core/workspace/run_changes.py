"""Apply, revert and journal the changes of runs: the writing half of `Workspace`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.errors import EditConflict
from tideate_core.util.uncancelled import run_uncancelled
from tideate_core.workspace.documents import text_of
from tideate_core.workspace.files import file_or_link, temporary_beside, text_digest
from tideate_core.workspace.journal import Images, Journal, entries_of
from tideate_core.workspace.journal_manifest import (
    BufferEntry,
    DirectoryEntry,
    FileEntry,
    KeptMetadata,
    ModeEntry,
    RemovedEntry,
)
from tideate_core.workspace.staging import Stager
from tideate_core.workspace.transaction import MAX_REBASES, Committer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tideate_core.workspace.buffers import Buffers
    from tideate_core.workspace.changes import FileChange, OutsideChanges
    from tideate_core.workspace.journal_manifest import Entry
    from tideate_core.workspace.paths import Root
    from tideate_core.workspace.staging import WritePlan
    from tideate_core.workspace.transaction import CommittedPlan


@dataclass(frozen=True, slots=True)
class AppliedChanges:
    """Changes that one `Workspace.apply` wrote."""

    execution_id: str
    paths: tuple[str, ...]
    """Changed paths in the given order; for a moved file, the new path."""
    rebased: tuple[str, ...] = ()
    """Files and buffers among them that the user had changed elsewhere meanwhile."""
    committed: CommittedPlan | None = None
    """None if there was nothing to write."""

    @property
    def open_files(self) -> dict[str, bool]:
        """Files changed in unsaved buffers, and whether each buffer had unsaved changes before."""
        buffers = self.committed.buffers if self.committed else ()
        found = {each.change.move_to or each.change.path: each.modified for each in buffers}
        return {path: modified for path, modified in found.items() if path}


class RunChanges:
    """Applies and reverts changes, journalled first; `Workspace` documents each method.

    :param private: returns the directory of the journal, created if missing.
    :param step: step of the run that writes.
    """

    def __init__(
        self, root: Root, buffers: Buffers | None, private: Callable[[], Path], step: str | None
    ) -> None:
        self._root = root
        self._buffers = buffers
        self._private = private
        self._step = step

    async def stage(self, changes: Sequence[FileChange]) -> WritePlan:
        return await Stager(self._root, self._buffers).stage(changes)

    async def apply(self, changes: Sequence[FileChange], execution_id: str) -> AppliedChanges:
        plan = await self.stage(changes)
        if not plan:
            return AppliedChanges(execution_id, ())
        committer = self._committer()
        writing = self._commit(committer, plan, changes, execution_id)
        committed = await run_uncancelled(writing, revert=committer.revert)
        wanted = [change for change in changes if change.changes_something]
        paths = tuple(change.move_to or change.path for change in wanted)
        rebased = [done.change.path for done in committed.buffers if done.before != done.change.before]
        rebased += committed.rebased
        return AppliedChanges(execution_id, paths, tuple(rebased), committed)

    async def _commit(
        self, committer: Committer, plan: WritePlan, changes: Sequence[FileChange], execution_id: str
    ) -> CommittedPlan:
        """Write a plan; stage and write again if files are saved meanwhile."""
        for _ in range(MAX_REBASES):
            try:
                return await committer.commit(plan, execution_id)
            except EditConflict as error:
                try:
                    plan = await self.stage(changes)
                except EditConflict:
                    raise error from None  # the first error names the actual conflict
        return await committer.commit(plan, execution_id)

    async def record_outside_changes(self, changes: OutsideChanges, execution_id: str) -> list[str]:
        journal = Journal(self._private())
        paths = await asyncio.to_thread(_record, self._root, journal, changes, execution_id, self._step)
        if self._buffers is not None and paths:
            await self._buffers.changed_on_disk(paths)
        return [self._root.relative(path) for path in paths]

    async def revert(self, applied: AppliedChanges) -> None:
        if applied.committed is None:
            return
        await run_uncancelled(self._committer().revert(applied.committed))

    async def unsaved(self, execution_id: str) -> dict[str, bool]:
        found: dict[str, list[BufferEntry]] = {}
        records = await asyncio.to_thread(Journal(self._private()).records, execution_id)
        for entry in entries_of(records, BufferEntry):
            if entry.path and entry.moved_to is None and not Path(entry.path).is_absolute():
                found.setdefault(entry.path, []).append(entry)
        unsaved = {}
        for name, entries in found.items():
            path = self._root.resolve(name)
            buffer = await self._buffers.find(path) if self._buffers is not None else None
            if buffer is not None and buffer.modified:
                as_written = text_digest(buffer.text) == entries[-1].after
                unsaved[name] = as_written and await asyncio.to_thread(_has_text, path, entries[0].before)
        return unsaved

    def _committer(self) -> Committer:
        return Committer(self._root, self._buffers, Journal(self._private()), self._step, merges=True)


def _has_text(path: Path, digest: str) -> bool:
    """Return whether a file has the text with this digest."""
    try:
        text = text_of(path.read_bytes())
    except OSError:
        return False
    return text is not None and text_digest(text) == digest


def _record(root: Root, journal: Journal, changes: OutsideChanges, run: str, step: str | None) -> list[Path]:
    """Journal changes that were already made, as an apply of the run; return the files.

    :raises OutsideRoot: a path is protected.
    :raises WorkspaceError: the journal cannot be written.
    """
    none = Images()
    entries: list[tuple[Entry, Images]] = []
    paths: list[Path] = []

    def name(path: str) -> str:
        return root.relative(root.lexical(path))

    entries += [(DirectoryEntry(path=name(path)), none) for path in changes.made]
    for path, (before, after) in changes.files.items():
        before, after = file_or_link(before), file_or_link(after)
        if "other" in (before.state.kind, after.state.kind):
            continue  # a device has no image
        paths.append(root.lexical(path))
        temp = temporary_beside(paths[-1]).name  # unused, but required by the schema
        entry = FileEntry(
            path=name(path),
            before=before.state,
            after=after.state,
            temp=temp,
            metadata=KeptMetadata.of(before.metadata),
        )
        kept = after.data if after.state.kind == "file" else None
        entries.append((entry, Images(before.data, kept)))
    # a rollback reads the journal backwards: outer directories are created first
    removed = reversed(changes.removed.items())
    entries += [(RemovedEntry(path=name(path), mode=mode), none) for path, mode in removed]
    entries += [
        (ModeEntry(path=name(path), before=then, after=now), none)
        for path, (then, now) in changes.modes.items()
    ]
    if entries:
        journal.record(run, entries, step)
    return paths
