"""Roll back runs or unfinished steps: carry out a rollback plan on files and open buffers."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import EditConflict, OutsideRoot, RollbackConflict, WorkspaceError
from tideate_core.project import open_directory
from tideate_core.util.escaping import counted
from tideate_core.util.file_metadata import give_metadata
from tideate_core.util.uncancelled import run_uncancelled
from tideate_core.workspace.documents import text_of
from tideate_core.workspace.file_images import read_image, remove_directory, set_mode, write_image
from tideate_core.workspace.journal import (
    BufferEntry,
    DirectoryEntry,
    FileEntry,
    JournalPlaces,
    ModeEntry,
    MoveEntry,
    entries_of,
)
from tideate_core.workspace.rollback_notes import mark_rolled_back, write_notes
from tideate_core.workspace.rollback_plan import plan_rollback
from tideate_core.workspace.staging import FileOperation, in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from tideate_core.workspace.buffers import Buffers, BufferText
    from tideate_core.workspace.journal import Journal, Record
    from tideate_core.workspace.paths import Root
    from tideate_core.workspace.rollback_plan import BufferSave, RollbackPlan
    from tideate_core.workspace.staging import DirectoryOperation

log = logging.getLogger(__name__)

TRIES: Final = 5
"""Attempts to plan a rollback while its files keep changing."""


@dataclass(frozen=True, slots=True)
class RollbackResult:
    """Result of a rollback: names of files and unnamed buffers."""

    restored: list[str]
    """Restored exactly."""
    merged: list[str]
    """Restored, with later changes of the user or another run merged in."""
    left: list[str]
    """Unchanged, because the lines that the run wrote were changed later."""


class Rollback:
    """Rolls back the runs of one workspace."""

    def __init__(self, root: Root, buffers: Buffers | None, journal: Journal) -> None:
        self._root = root
        self._buffers = buffers
        self._journal = journal

    async def rollback_all(
        self, runs: Sequence[str], on_write: Callable[[], object] = lambda: None
    ) -> RollbackResult:
        """Roll back all writes of runs, or none; return the restored names.

        A cancellation during the writes is raised after them.

        :param on_write: called before the first write.
        :raises RollbackConflict: later changes conflict; nothing was restored.
        """
        records = await asyncio.to_thread(self._journal.records, *runs)
        plan = await self._plan(records)
        if plan.reasons:
            reasons = ", ".join(f"{name} ({why})" for name, why in plan.reasons.items())
            raise RollbackConflict(f"changed since the run wrote to them, so nothing was restored: {reasons}")
        # if a run only created directories, report these
        made = [] if plan.names else await asyncio.to_thread(self._made_directories, records)
        on_write()
        return await run_uncancelled(self._restore_all(runs, records, plan, made))

    async def _restore_all(
        self, runs: Sequence[str], records: Sequence[Record], plan: RollbackPlan, made: Sequence[str]
    ) -> RollbackResult:
        if not await self._carry_out(records, plan):
            raise RollbackConflict("a buffer is being changed, so nothing was restored; try again")
        kept = [name for name in plan.names if name not in plan.merged]
        if made:
            left = await asyncio.to_thread(self._made_directories, records)
            kept += [name for name in made if name not in left]
        await asyncio.to_thread(mark_rolled_back, records, [*kept, *plan.merged], [])
        _log(runs, [*kept, *plan.merged])
        return RollbackResult(kept, plan.merged, [])

    async def plan(self, runs: Sequence[str]) -> RollbackPlan:
        """Return the planned changes of `rollback_all`, including open buffers, and the conflicts.

        :raises WorkspaceError: the journal is damaged, or a file cannot be read.
        """
        return await self._plan(await asyncio.to_thread(self._journal.records, *runs))

    async def rollback_best_effort(self, execution_id: str) -> RollbackResult:
        """Roll back a run's writes, except for conflicting later changes.

        Repeated, even after it was killed, it reports the same restored names.
        """
        records = await asyncio.to_thread(self._journal.records, execution_id)
        done: dict[str, bool] = {}
        for attempt in range(TRIES):
            plan = await self._plan(records)
            for name, merged in [
                *plan.before.items(),
                *((name, name in plan.merged) for name in plan.names),
            ]:
                done[name] = done.get(name, False) or merged
            try:
                if await self._carry_out(records, plan):
                    break
            except WorkspaceError as error:
                if not isinstance(error.__cause__, EditConflict) or attempt == TRIES - 1:
                    raise
        else:
            raise WorkspaceError("buffers change again and again, so not everything was restored; try again")
        came = {name: merged for name, merged in done.items() if name not in plan.left}
        await asyncio.to_thread(mark_rolled_back, records, list(came), plan.left)
        _log([execution_id], list(came), plan.left)
        return RollbackResult(
            [name for name, merged in came.items() if not merged],
            [name for name, merged in came.items() if merged],
            plan.left,
        )

    async def rollback_unfinished_steps(
        self,
        execution_id: str,
        finished: Collection[str],
        only: str | None = None,
        on_left: Callable[[str], None] | None = None,
    ) -> list[str]:
        """Roll back the writes of unfinished steps and delete their records; return the restored names.

        If a finished step wrote the same file later, its text stays, and no record is deleted: a rollback of
        the run goes through both.

        :param finished: finished steps, and finished items of others.
        :param only: restrict to this step.
        :param on_left: called with each name that is left unchanged.
        """
        all_records = await asyncio.to_thread(self._journal.records, execution_id)
        records = [record for record in all_records if _unfinished(record, finished, only)]
        covered = _overwritten(all_records, records)
        over = frozenset[str]().union(*covered)
        plan = await self._plan(records, over)
        conflicts = plan.conflicts
        for name in [name for name in conflicts if name in over]:
            conflicts.remove(name)
            if on_left is not None:
                on_left(name)
        _refuse_changed_since(records, conflicts, execution_id)
        if not await self._carry_out(records, plan, over):
            raise RollbackConflict("a buffer is being changed, so nothing was restored; try again")
        for record, names_over in reversed(list(zip(records, covered, strict=True))):
            if not names_over:
                await asyncio.to_thread(self._journal.drop, record)
        _log([execution_id], plan.names)
        return plan.names

    def written_by(self, execution_id: str, steps: Collection[str]) -> list[str]:
        """Return the files and buffers that steps or their items wrote, sorted; blocking."""
        records = self._journal.records(execution_id)
        of_them = [each for each in records if not _unfinished(each, steps, None) and each.manifest.step]
        return sorted(frozenset[str]().union(*(_names(record) for record in of_them)))

    async def _plan(self, records: Sequence[Record], whole: Collection[str] = ()) -> RollbackPlan:
        loaded = await self._loaded(records)
        return await asyncio.to_thread(plan_rollback, self._root, records, loaded, whole=whole)

    async def _carry_out(
        self, records: Sequence[Record], plan: RollbackPlan, whole: Collection[str] = ()
    ) -> bool:
        """Execute a plan; return False if a buffer changed meanwhile and nothing was restored.

        :raises WorkspaceError: not everything could be restored.
        """
        await asyncio.to_thread(write_notes, plan.notes)
        if plan.edits and self._buffers is not None and await self._buffers.replace(plan.edits):
            return False
        unsaved = dict[int, str]()
        if plan.saves and self._buffers is not None:
            unsaved = await self._buffers.save([save.number for save in plan.saves])
            # the files now hold the editor's output
            again = await self._plan(records, whole)
            saved = [save for save in plan.saves if save.number not in unsaved]
            plan.files = await asyncio.to_thread(_exact_files, again, saved)
        try:
            await asyncio.to_thread(roll_back_files, JournalPlaces(self._root, records), records, plan)
        except (OSError, EditConflict) as error:
            raise WorkspaceError(f"not everything could be restored ({error}); try again") from error
        await self._notify_editor(records, [file.path for file in plan.files], plan.left)
        if unsaved:
            names = {self._root.relative(save.path): unsaved.get(save.number) for save in plan.saves}
            listed = ", ".join(f"{name} ({why})" for name, why in names.items() if why)
            raise WorkspaceError(
                f"restored in their buffers and not saved: {listed}. Save with `:w` and roll back again"
            )
        return True

    async def _loaded(self, records: Sequence[Record]) -> dict[BufferEntry | Path, BufferText]:
        loaded: dict[BufferEntry | Path, BufferText] = {}
        if self._buffers is None:
            return loaded
        for entry in entries_of(records, BufferEntry):
            if (buffer := await self._find_buffer(entry, self._buffers)) is not None:
                loaded[entry] = buffer
        for path in self._written_paths(records):
            if (buffer := await self._buffers.find(path)) is not None:
                loaded[path] = buffer
        return loaded

    def _made_directories(self, records: Sequence[Record]) -> list[str]:
        """Return the created directories that still exist."""
        places, found = JournalPlaces(self._root, records), list[str]()
        for entry in entries_of(records, DirectoryEntry):
            with contextlib.suppress(OutsideRoot):
                place = places.of(entry.path)
                if place.is_dir() and not place.is_symlink():
                    found.append(entry.path)
        return found

    def _written_paths(self, records: Sequence[Record]) -> list[Path]:
        places, found = JournalPlaces(self._root, records), dict[Path, None]()
        for entry in entries_of(records, FileEntry):
            with contextlib.suppress(OutsideRoot):  # it is not written, and the plan reports it
                found[places.of(entry.path)] = None
        return list(found)

    async def _find_buffer(self, entry: BufferEntry, buffers: Buffers) -> BufferText | None:
        if not entry.path:
            buffer = await buffers.read(entry.number)
            return buffer if buffer is not None and not buffer.path else None
        base = self._root.path
        for path in filter(None, (entry.moved_to, entry.path)):
            buffer = await buffers.find(base / path if base else Path(path))
            if buffer is not None:
                return buffer
        return None

    async def _notify_editor(
        self, records: Sequence[Record], paths: Sequence[Path], left: Collection[str]
    ) -> None:
        if self._buffers is None:
            return
        places = JournalPlaces(self._root, records)
        for move in reversed(entries_of(records, MoveEntry)):
            if move.new not in left and move.old not in left:
                await self._buffers.moved(places.of(move.new), places.of(move.old))
        if paths:
            await self._buffers.changed_on_disk(paths)


def _log(runs: Sequence[str], restored: Sequence[str], left: Sequence[str] = ()) -> None:
    """Log the restored files as a warning: the user may look for these changes."""
    if words := counted(restored=restored, left=left):
        log.warning("rollback of %s: %s", ", ".join(runs), words)


def _exact_files(again: RollbackPlan, saves: Sequence[BufferSave]) -> list[FileOperation]:
    """Return the files to write, including files that the editor saved in another style.

    :param again: plan made after the save.
    """
    given = {file.path: file for file in again.files}
    unsaved = {save.path for save in again.saves}  # an unmodified buffer had no unsaved text
    for save in saves:
        file = given.get(save.path)
        if file is None:
            saved = read_image(save.path)
            file = FileOperation(save.path.name, save.path, saved, saved)
        if file.after.state.holds_same_as(save.wanted.state):
            continue
        # a saved file with its earlier text differs only in style
        before = "" if save.wanted.state.kind == "absent" else text_of(save.wanted.data)
        if save.path in unsaved or text_of(file.after.data) == save.text == before:
            given[save.path] = replace(file, after=save.wanted)
    return list(given.values())


def _refuse_changed_since(records: Sequence[Record], conflicts: Sequence[str], execution_id: str) -> None:
    # an unnamed buffer with another text may be another buffer; the step checks it
    unnamed = {f"buffer {entry.number}" for entry in entries_of(records, BufferEntry) if not entry.path}
    if left := [name for name in conflicts if name not in unnamed]:
        steps = ", ".join(sorted({record.manifest.step or "" for record in records}))
        raise RollbackConflict(
            f"changed since the unfinished step {steps} wrote to them, so nothing was rolled back: "
            f"{', '.join(left)}. Restore their content from before or after that step and resume "
            f"again, or cancel the run: `tideate cancel {execution_id}`"
        )


def _unfinished(record: Record, finished: Collection[str], only: str | None) -> bool:
    step = record.manifest.step
    if step is None:
        return False
    whole = step[: step.rindex("[")] if step.endswith("]") and "[" in step else step
    return step not in finished and whole not in finished and only in (None, step, whole)


def _overwritten(all_records: Sequence[Record], unfinished: Sequence[Record]) -> list[set[str]]:
    """Return, for each unfinished record, the names that other steps wrote later."""
    later: set[str] = set()
    covered: list[set[str]] = []
    left = list(unfinished)
    for record in reversed(all_records):
        if left and record is left[-1]:
            left.pop()
            covered.append(_names(record) & later)
        else:
            later |= _names(record)
    return covered[::-1]


def _names(record: Record) -> set[str]:
    names: set[str] = set()
    for entry in record.manifest.entries:
        if isinstance(entry, FileEntry):
            names.add(entry.path)
        elif isinstance(entry, BufferEntry):
            names |= {entry.path or f"buffer {entry.number}", entry.moved_to or entry.path}
        elif isinstance(entry, MoveEntry):
            names |= {entry.old, entry.new}
    return names - {""}


def roll_back_files(places: JournalPlaces, records: Sequence[Record], plan: RollbackPlan) -> None:
    """Write a plan's files, directories and permissions, and remove temporary files.

    A failed file does not prevent the others, except for moves and removals: a file to be removed may hold
    the only copy of one that could not be written. Only files in the way are removed first.

    :raises OSError: a file cannot be restored; a second attempt continues with the rest.
    :raises EditConflict: a file changed at the last moment.
    """
    _restore_modes(places, records)  # directories may have to be writable again
    _remove_leftovers(places)
    in_the_way, emptied, made, files, removed = in_order(plan.files, plan.made, plan.removed)
    for file in in_the_way:
        _write(file)
    for directory in emptied:
        _remove_empty(directory.path)
    for directory in made:
        _remake(directory)
    failure: OSError | EditConflict | None = None
    moved = _moved_paths(places, records)
    for file in files:
        if failure is not None and (file.after.state.kind == "absent" or file.path in moved):
            continue
        try:
            _write(file)
        except (OSError, EditConflict) as error:
            failure = failure or error
    if failure is not None:
        raise failure
    for directory in removed:
        _remove_empty(directory.path)
    _restore_modes(places, records)  # for the files just written


def _write(file: FileOperation) -> None:
    write_image(file.path, file.after, expected=file.before.state, temp=file.temp)


def _remake(wanted: DirectoryOperation) -> None:
    """Create a removed directory again, unless another file is there."""
    with contextlib.suppress(NotADirectoryError, FileExistsError):
        is_there = wanted.path.is_dir()
        with open_directory(wanted.path, make=True) as directory:
            # also a directory created just before a kill
            give_metadata(directory, None if is_there else wanted.metadata, wanted.mode)


def _moved_paths(places: JournalPlaces, records: Sequence[Record]) -> set[Path]:
    names = {name for move in entries_of(records, MoveEntry) for name in (move.old, move.new)}
    for entry in entries_of(records, FileEntry):
        if entry.moved_from is not None:
            names |= {entry.path, entry.moved_from}
    found: set[Path] = set()
    for name in names:
        with contextlib.suppress(OutsideRoot):
            found.add(places.of(name))
    return found


def _restore_modes(places: JournalPlaces, records: Sequence[Record]) -> None:
    """Restore permissions that still have the value the run set."""
    for entry in reversed(entries_of(records, ModeEntry)):
        with contextlib.suppress(OutsideRoot, FileNotFoundError, NotADirectoryError):
            path = places.of(entry.path)
            if stat.S_IMODE(path.lstat().st_mode) in (entry.after, entry.before | entry.after):
                set_mode(path, entry.before)


def _remove_leftovers(places: JournalPlaces) -> None:
    """Remove temporary files of an interrupted apply."""
    for path in places.temporaries:
        with (
            contextlib.suppress(FileNotFoundError, NotADirectoryError),
            open_directory(path.parent) as directory,
        ):
            os.unlink(path.name, dir_fd=directory)


def _remove_empty(directory: Path) -> None:
    try:
        remove_directory(directory)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.ENOENT, errno.ENOTDIR, errno.EEXIST}:
            raise
