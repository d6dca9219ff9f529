"""Taking back everything that a run wrote, by hash: nothing that was changed since is touched."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.errors import EditConflict, RollbackConflict, WorkspaceError
from tideate_core.workspace.journal import BufferEntry, FileEntry, MoveEntry
from tideate_core.workspace.restoring import buffer_entries, put_back, unwind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from tideate_core.workspace.buffers import Buffers, BufferText
    from tideate_core.workspace.journal import Journal, Record
    from tideate_core.workspace.paths import Root
    from tideate_core.workspace.restoring import Unwound

__all__ = ["Rollback", "written_by"]


class Rollback:
    """Takes back runs of one workspace."""

    def __init__(self, root: Root, buffers: Buffers | None, journal: Journal) -> None:
        self._root = root
        self._buffers = buffers
        self._journal = journal

    async def run(self, execution_id: str) -> list[str]:
        """Restore everything that a run wrote; return what was restored."""
        records = await asyncio.to_thread(self._journal.records, execution_id)
        unwound, conflicts = await self._unwound(records)
        if conflicts:
            raise RollbackConflict(
                f"changed since the run wrote to them, so nothing was restored: {', '.join(conflicts)}"
            )
        return await self._restored(records, unwound)

    async def unfinished(
        self,
        execution_id: str,
        finished: Collection[str],
        only: str | None = None,
        on_left: Callable[[str], None] | None = None,
    ) -> list[str]:
        """Restore what steps wrote that did not finish, and forget that they did; return what was restored.

        Where a step whose writes stay wrote after them, its text counts, and nothing is forgotten: a rollback
        of the run goes back through both.

        :param finished: steps whose writes stay, and items of others.
        :param only: the one step that is looked at.
        :param on_left: called with what was left as it is.
        """
        all_records = await asyncio.to_thread(self._journal.records, execution_id)
        records = [record for record in all_records if _unfinished(record, finished, only)]
        covered = _covered(all_records, records)
        unwound, conflicts = await self._unwound(records)
        over = frozenset[str]().union(*covered)
        for name in [name for name in conflicts if name in over]:
            conflicts.remove(name)
            if on_left is not None:
                on_left(name)
        # without a name and with another text, it may be another buffer: the step finds out where it edits
        unnamed = {f"buffer {entry.number}" for entry in buffer_entries(records) if not entry.path}
        if left := [name for name in conflicts if name not in unnamed]:
            steps = ", ".join(sorted({record.manifest.step or "" for record in records}))
            raise RollbackConflict(
                f"changed since the unfinished step {steps} wrote to them, so nothing was put back: "
                f"{', '.join(left)}. Bring them to what they were before or after that step and resume "
                f"again, or give the run up: `tideate cancel {execution_id}`"
            )
        names = await self._restored(records, unwound)
        for record, names_over in reversed(list(zip(records, covered, strict=True))):
            if not names_over:
                await asyncio.to_thread(self._journal.drop, record)
        return names

    async def _unwound(self, records: Sequence[Record]) -> tuple[Unwound, list[str]]:
        loaded = await self._loaded(records)
        unwound = await asyncio.to_thread(unwind, self._root, records, loaded)
        return unwound, unwound.conflicts + await self._unsaved(records, unwound)

    async def _restored(self, records: Sequence[Record], unwound: Unwound) -> list[str]:
        if unwound.edits and self._buffers is not None and await self._buffers.replace(unwound.edits):
            raise RollbackConflict("a buffer is just being changed, so nothing was restored; try again")
        try:
            await asyncio.to_thread(put_back, self._root, records, unwound.files)
        except (OSError, EditConflict) as error:
            raise WorkspaceError(f"not everything could be restored ({error}); try again") from error
        await self._tell(records, unwound)
        return unwound.names

    async def _loaded(self, records: Sequence[Record]) -> dict[BufferEntry, BufferText]:
        loaded: dict[BufferEntry, BufferText] = {}
        for entry in buffer_entries(records) if self._buffers is not None else []:
            if (buffer := await self._find(entry)) is not None:
                loaded[entry] = buffer
        return loaded

    async def _find(self, entry: BufferEntry) -> BufferText | None:
        if self._buffers is None:
            return None
        if not entry.path:
            buffer = await self._buffers.read(entry.number)
            return buffer if buffer is not None and not buffer.path else None
        base = self._root.path
        for path in filter(None, (entry.moved_to, entry.path)):
            buffer = await self._buffers.find(base / path if base else Path(path))
            if buffer is not None:
                return buffer
        return None

    async def _unsaved(self, records: Sequence[Record], unwound: Unwound) -> list[str]:
        """Name the files to restore that a loaded buffer would overwrite again.

        A buffer that is restored itself does not, nor one whose file only goes back to its old name.
        """
        if self._buffers is None:
            return []
        restored = {edit.number for edit in unwound.edits}
        moved = {name for move in _moves(records) for name in (move.old, move.new)}
        names: list[str] = []
        for file in unwound.files:
            name = self._root.relative(file.path)
            buffer = await self._buffers.find(file.path)
            if buffer is not None and buffer.modified and buffer.number not in restored and name not in moved:
                names.append(f"{name} (unsaved)")
        return names

    async def _tell(self, records: Sequence[Record], unwound: Unwound) -> None:
        if self._buffers is None:
            return
        for move in _moves(records):
            await self._buffers.moved(self._root.entry(move.new), self._root.entry(move.old))
        if unwound.files:
            await self._buffers.changed_on_disk([file.path for file in unwound.files])


def _unfinished(record: Record, finished: Collection[str], only: str | None) -> bool:
    step = record.manifest.step
    if step is None:
        return False
    whole = step[: step.rindex("[")] if step.endswith("]") and "[" in step else step
    return step not in finished and whole not in finished and only in (None, step, whole)


def written_by(records: Sequence[Record], steps: Collection[str]) -> list[str]:
    """Return the files and buffers that steps, or items of theirs, wrote to; sorted."""
    of_them = [record for record in records if not _unfinished(record, steps, None) and record.manifest.step]
    return sorted(frozenset[str]().union(*(_names(record) for record in of_them)))


def _covered(all_records: Sequence[Record], unfinished: Sequence[Record]) -> list[set[str]]:
    """Return for each unfinished record what others wrote again after it."""
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


def _moves(records: Sequence[Record]) -> list[MoveEntry]:
    """Return what was moved, the last first."""
    entries = [entry for record in records for entry in record.manifest.entries]
    return [entry for entry in reversed(entries) if isinstance(entry, MoveEntry)]
