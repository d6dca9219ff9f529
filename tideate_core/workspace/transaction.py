"""Transactions: changes committed as a whole or not at all, journalled first, buffers before files."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.errors import EditConflict, OutsideRoot, RollbackConflict, TideateError, WorkspaceError
from tideate_core.project import open_directory
from tideate_core.util.atomic_files import fsync_directory
from tideate_core.util.file_metadata import give_metadata
from tideate_core.util.uncancelled import run_uncancelled
from tideate_core.workspace.buffers import BufferEdit
from tideate_core.workspace.changes import diff_lines, lines_of, rebase
from tideate_core.workspace.documents import text_of
from tideate_core.workspace.file_images import (
    FileImage,
    file_or_link,
    remove_directory,
    set_mode,
    text_digest,
    write_image,
)
from tideate_core.workspace.journal import (
    BufferEntry,
    DirectoryEntry,
    FileEntry,
    Images,
    JournalPlaces,
    KeptMetadata,
    ModeEntry,
    MoveEntry,
    RemovedEntry,
    entries_of,
)
from tideate_core.workspace.rollback import roll_back_files
from tideate_core.workspace.rollback_plan import plan_rollback
from tideate_core.workspace.staging import (
    DirectoryOperation,
    FileOperation,
    ModeOperation,
    Stager,
    WritePlan,
    buffer_operation,
    in_order,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from tideate_core.workspace.buffers import Buffers
    from tideate_core.workspace.changes import FileChange, OutsideChanges
    from tideate_core.workspace.journal import Entry, Journal, Record
    from tideate_core.workspace.paths import Root
    from tideate_core.workspace.staging import BufferOperation


_ODD = "surrogatepass"
_OWN = 0o300
"""The owner's permission to change a directory."""
MAX_REBASES = 5
"""Attempts to rebase an edit over concurrent typing."""


@dataclass(frozen=True, slots=True)
class CommittedPlan:
    """Committed plan, with the data to revert it."""

    record: Record
    buffers: tuple[BufferOperation, ...] = ()
    rebased: tuple[str, ...] = ()
    """Files that the user had changed elsewhere meanwhile."""


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


class Committer:
    """Commits and reverts the plans of one workspace.

    :param step: step of the run that writes.
    :param merges: journal the written content, too, so that later changes can be told from it.
    """

    def __init__(
        self,
        root: Root,
        buffers: Buffers | None,
        journal: Journal,
        step: str | None = None,
        *,
        merges: bool = False,
    ) -> None:
        self._root = root
        self._buffers = buffers
        self._journal = journal
        self._step = step
        self._merges = merges

    async def apply(self, changes: Sequence[FileChange], run: str) -> AppliedChanges:
        """Apply all changes or none; see `Workspace.apply`."""
        plan = await Stager(self._root, self._buffers).stage(changes)
        if not plan:
            return AppliedChanges(run, ())
        writing = self._commit_current(plan, changes, run)
        committed = await run_uncancelled(writing, revert=self.revert)
        wanted = [change for change in changes if change.changes_something]
        paths = tuple(change.move_to or change.path for change in wanted)
        rebased = [done.change.path for done in committed.buffers if done.before != done.change.before]
        return AppliedChanges(run, paths, (*rebased, *committed.rebased), committed)

    async def _commit_current(
        self, plan: WritePlan, changes: Sequence[FileChange], run: str
    ) -> CommittedPlan:
        """Write a plan; stage and write again if files are saved meanwhile."""
        for _ in range(MAX_REBASES):
            try:
                return await self.commit(plan, run)
            except EditConflict as error:
                try:
                    plan = await Stager(self._root, self._buffers).stage(changes)
                except EditConflict:
                    raise error from None  # the first error names the actual conflict
        return await self.commit(plan, run)

    async def record_outside_changes(self, changes: OutsideChanges, run: str) -> list[str]:
        """Record changes that were already made; see `Workspace.record_outside_changes`."""
        at = self._root.lexical
        plan = WritePlan(
            files=[
                FileOperation(path, at(path), file_or_link(before), file_or_link(after))
                for path, (before, after) in changes.files.items()
                if "other" not in (before.state.kind, after.state.kind)  # a device has no image
            ],
            # a rollback reads the journal backwards: outer directories are created first
            removed=[DirectoryOperation(at(path), mode) for path, mode in reversed(changes.removed.items())],
            modes=[ModeOperation(at(path), then, now) for path, (then, now) in changes.modes.items()],
        )
        made = list(map(at, changes.made))
        if plan or made:
            await asyncio.to_thread(self._record, plan, run, made)
        paths = [file.path for file in plan.files]
        await self._notify_editor((), paths)
        return list(map(self._root.relative, paths))

    async def unsaved(self, run: str) -> dict[str, bool]:
        """Return the files that a run changed in unsaved buffers; see `Workspace.unsaved_of`."""
        found: dict[str, list[BufferEntry]] = {}
        for entry in entries_of(await asyncio.to_thread(self._journal.records, run), BufferEntry):
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

    async def commit(self, plan: WritePlan, run: str) -> CommittedPlan:
        """Write all operations, or raise and leave everything unchanged.

        :raises EditConflict: a file or buffer changed where an edit goes.
        :raises WorkspaceError: a file cannot be written.
        """
        committed = await self._change_buffers(plan, run)
        begun: set[Path] = set()
        try:
            await asyncio.to_thread(_write, plan, begun)
            await self._notify_editor(plan.moves, [operation.path for operation in plan.files])
        except (OSError, TideateError) as error:
            untouched = {operation.path for operation in plan.files} - begun
            await self._revert_after(error, committed, untouched)
            raise
        return committed

    async def revert(self, committed: CommittedPlan, untouched: Collection[Path] = ()) -> None:
        """Revert a committed plan, keeping later changes elsewhere in its buffers.

        :param untouched: files that were not written yet.
        :raises RollbackConflict: written content was changed; the rest is reverted.
        """
        never_written = {self._root.relative(path) for path in untouched}
        left = [
            operation.change.path or f"buffer {operation.edit.number}"
            for operation in committed.buffers
            if not await self._revert_buffer(operation)
        ]
        conflicts = await self._revert_files(committed.record, never_written)
        left += [name for name in conflicts if name not in never_written]
        if left:
            raise RollbackConflict(
                f"changed since they were written, so they were left as they are: {', '.join(left)}",
                left,
            )
        await asyncio.to_thread(self._journal.drop, committed.record)

    async def _revert_after(
        self, error: Exception, committed: CommittedPlan, untouched: Collection[Path]
    ) -> None:
        try:
            await self.revert(committed, untouched)
        except (OSError, TideateError) as failure:
            run = committed.record.directory.parent.name
            raise WorkspaceError(
                f"{error}. Not everything could be rolled back ({failure}); "
                f"`tideate rollback {run}` tries again"
            ) from error

    async def _change_buffers(self, plan: WritePlan, run: str) -> CommittedPlan:
        """Journal the plan and change its buffers; repeat if the user typed meanwhile."""
        for _ in range(MAX_REBASES + 1):
            record = await asyncio.to_thread(self._record, plan, run, plan.new_directories)
            rebased = tuple(file.name for file in plan.files if file.rebased)
            committed = CommittedPlan(record, tuple(plan.buffers), rebased)
            if self._buffers is None or not plan.buffers:
                return committed
            try:
                changed = await self._buffers.replace([operation.edit for operation in plan.buffers])
                if not changed:
                    return committed
                now = {buffer.number: buffer for buffer in changed}
                plan.buffers = [
                    buffer_operation(operation.change, now[operation.edit.number], operation.disk)
                    if operation.edit.number in now
                    else operation
                    for operation in plan.buffers
                ]
            except EditConflict:
                await asyncio.to_thread(self._journal.drop, record)
                raise
            await asyncio.to_thread(self._journal.drop, record)
        names = ", ".join(operation.change.path or "the buffer" for operation in plan.buffers)
        raise EditConflict(f"{names} changed again and again while the edit was applied; nothing was written")

    def _record(self, plan: WritePlan, run: str, new_directories: Iterable[Path]) -> Record:
        relative, none = self._root.relative, Images()
        known = {file.before.state.digest for file in plan.files}
        entries: list[tuple[Entry, Images]] = [
            *((DirectoryEntry(path=relative(path)), none) for path in new_directories),
            *map(self._buffer_entry, plan.buffers),
            *(self._file_entry(item, keep=item.after.state.digest not in known) for item in plan.files),
            *(
                (RemovedEntry.of(relative(item.path), item.mode, item.metadata), none)
                for item in plan.removed
            ),
            *(
                (ModeEntry(path=relative(item.path), before=item.before, after=item.after), none)
                for item in plan.modes
            ),
            *((MoveEntry(old=relative(old), new=relative(new)), none) for old, new in plan.moves),
        ]
        return self._journal.record(run, entries, self._step)

    def _file_entry(self, file: FileOperation, *, keep: bool) -> tuple[FileEntry, Images]:
        """Return the entry of a file and its images.

        :param keep: keep the written content, which the record lacks; a merge may need it.
        """
        entry = FileEntry(
            path=self._root.relative(file.path),
            before=file.before.state,
            after=file.after.state,
            temp=file.temp.name,
            moved_from=None if file.moved_from is None else self._root.relative(file.moved_from),
            metadata=KeptMetadata.of(file.before.metadata),
        )
        kept = keep and self._merges and file.after.state.kind == "file"
        return entry, Images(file.before.data, file.after.data if kept else None)

    def _buffer_entry(self, buffer: BufferOperation) -> tuple[BufferEntry, Images]:
        path, disk = buffer.path, buffer.disk
        if path:
            # the user may have opened a file outside of the project and asked to change it
            with contextlib.suppress(OutsideRoot):
                path = self._root.relative(self._root.resolve(path))
        entry = BufferEntry(
            path=path,
            moved_to=buffer.change.move_to,
            number=buffer.edit.number,
            before=text_digest(buffer.before),
            after=text_digest(buffer.after),
            disk=None if disk is None else disk.state,
            saved=None if buffer.saved is None else FileImage.of_file(buffer.saved, 0).state,
        )
        images = Images(
            buffer.before.encode("utf-8", _ODD),
            buffer.after.encode("utf-8", _ODD),
            disk.data if disk is not None and disk.state.kind == "file" else None,
            buffer.saved,
        )
        return entry, images

    async def _notify_editor(self, moves: Sequence[tuple[Path, Path]], paths: Sequence[Path]) -> None:
        if self._buffers is None:
            return
        for old, new in moves:
            await self._buffers.moved(old, new)
        if paths:
            await self._buffers.changed_on_disk(paths)

    async def _revert_buffer(self, operation: BufferOperation) -> bool:
        """Revert one buffer's edit; return False if one of its lines changed."""
        if self._buffers is None:
            return True
        back = diff_lines(lines_of(operation.after), lines_of(operation.before))
        for _ in range(MAX_REBASES + 1):
            current = await self._buffers.read(operation.edit.number)
            if current is None or current.text == operation.before:
                return True
            hunks = rebase(back, operation.after, current.text)
            if hunks is None:
                return False
            edit = BufferEdit(current.number, current.tick, tuple(hunks))
            if not await self._buffers.replace([edit]):
                return True
        return False

    async def _revert_files(self, record: Record, untouched: Collection[str]) -> list[str]:
        plan = await asyncio.to_thread(plan_rollback, self._root, [record], None, whole=untouched)
        places = JournalPlaces(self._root, [record])
        await asyncio.to_thread(roll_back_files, places, [record], plan)
        moves = [(places.of(move.new), places.of(move.old)) for move in entries_of([record], MoveEntry)]
        await self._notify_editor(moves, [file.path for file in plan.files])
        return plan.conflicts


def _write(plan: WritePlan, begun: set[Path]) -> None:
    in_the_way, emptied, made, files, removed = in_order(plan.files, plan.made, plan.removed)
    try:
        for item in plan.modes:
            if item.after & ~item.before & _OWN and item.path.is_dir():  # make the directory writable first
                set_mode(item.path, item.before | item.after)
        _write_files(in_the_way, begun)
        for directory in emptied:
            remove_directory(directory.path)
        for directory in made:
            with open_directory(directory.path, make=True) as handle:
                if directory.metadata is not None:  # moved directory
                    give_metadata(handle, directory.metadata, directory.mode | _OWN)
                fsync_directory(directory.path.parent)
        _write_files(files, begun)
        for directory in removed:
            remove_directory(directory.path)
        for item in plan.modes:
            set_mode(item.path, item.after)
    except OSError as error:
        raise WorkspaceError(
            f"{error.filename or 'the project'} cannot be changed: {error.strerror}; "
            "everything was rolled back"
        ) from error


def _write_files(files: Sequence[FileOperation], begun: set[Path]) -> None:
    for file in files:
        begun.add(file.path)
        try:
            write_image(
                file.path,
                file.after,
                expected=file.before.state,
                temp=file.temp,
                new_mode=file.new_mode,
            )
        except EditConflict as error:
            begun.discard(file.path)
            raise EditConflict(f"{file.name}: {error}; nothing was written") from error
        except OSError as error:
            raise WorkspaceError(
                f"{file.name} cannot be written: {error.strerror}; everything was rolled back"
            ) from error


def _has_text(path: Path, digest: str) -> bool:
    """Return whether a file has the text with this digest."""
    try:
        text = text_of(path.read_bytes())
    except OSError:
        return False
    return text is not None and text_digest(text) == digest
