"""Taking back everything that a run wrote, by hash: nothing that was changed since is touched."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.errors import EditConflict, RollbackConflict, WorkspaceError
from tideate_core.workspace.journal import MoveEntry
from tideate_core.workspace.restoring import buffer_entries, clean_up, restore, unwind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.workspace.buffers import Buffers, BufferText
    from tideate_core.workspace.journal import BufferEntry, Journal, Record
    from tideate_core.workspace.paths import Root
    from tideate_core.workspace.restoring import Unwound

__all__ = ["Rollback"]


class Rollback:
    """Takes back runs of one workspace."""

    def __init__(self, root: Root, buffers: Buffers | None, journal: Journal) -> None:
        self._root = root
        self._buffers = buffers
        self._journal = journal

    async def run(self, execution_id: str) -> list[str]:
        """Restore everything that a run wrote; return what was restored."""
        records = await asyncio.to_thread(self._journal.records, execution_id)
        loaded = await self._loaded(records)
        unwound = await asyncio.to_thread(unwind, self._root, records, loaded)
        conflicts = unwound.conflicts + await self._unsaved(records, unwound)
        if conflicts:
            raise RollbackConflict(
                f"changed since the run wrote to them, so nothing was restored: {', '.join(conflicts)}"
            )
        if unwound.edits and self._buffers is not None and await self._buffers.replace(unwound.edits):
            raise RollbackConflict("a buffer is just being changed, so nothing was restored; try again")
        try:
            await asyncio.to_thread(restore, unwound.files)
            await asyncio.to_thread(clean_up, self._root, records)
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


def _moves(records: Sequence[Record]) -> list[MoveEntry]:
    """Return what was moved, the last first."""
    entries = [entry for record in records for entry in record.manifest.entries]
    return [entry for entry in reversed(entries) if isinstance(entry, MoveEntry)]
