"""Handlers of Lua's requests about snapshots: list, create, compare, restore, delete."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from tideate_core.app import choose_snapshot, note_project, snapshot_json
from tideate_core.editor.projects import FolderRequests

if TYPE_CHECKING:
    from tideate_core.snapshots import Snapshot, SnapshotManager

MOST: Final = 2_000
"""Files in one answer."""
LONGEST: Final = 2_000_000
"""Characters of all changes in one answer."""


class Snapshots(FolderRequests):
    """Requests about the snapshots of a folder's project; the start of an id is enough."""

    async def list(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the snapshots, newest first, and the reasons for unreadable snapshots."""
        manager = self._manager(params)
        found, damaged = (await manager.list())[::-1], await manager.damaged()
        return {"snapshots": [_shape(one) for one in found], "damaged": damaged}

    async def create(self, params: dict[str, Any]) -> dict[str, Any]:
        """Create a snapshot; `skipped` has the files left out, with the reasons."""
        manager = self._manager(params)
        made = await manager.get(await manager.create(str(params.get("name") or "by hand")))
        await asyncio.to_thread(note_project, manager.root)
        skipped = dict(list(made.skipped.items())[:MOST])
        return {"snapshot": _shape(made), "skipped": skipped}

    async def diff(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the files that differ from a snapshot.

        :param params: `changes`: include the different lines; `recover`: first roll back an interrupted
            restore, as the person asked for a restore.
        """
        manager = self._manager(params)
        chosen = await _chosen(manager, params)
        if params.get("recover"):
            await self._projects.recover(params.get("folder"))
        found = await manager.diff(chosen, changes=bool(params.get("changes")))
        files, room = [], LONGEST
        for one in found[:MOST]:
            room -= len(one.changes)
            changes = one.changes if room >= 0 else "too much to show; `tideate snapshot diff --changes` does"
            files.append({"path": one.path, "status": one.status, "changes": changes})
        return {"files": files, "more": max(0, len(found) - MOST)}

    async def restore(self, params: dict[str, Any]) -> dict[str, Any]:
        """Restore a whole snapshot or nothing.

        :raises RollbackConflict: a file has unsaved changes in the editor; nothing was restored.
        :raises WorkspaceError: the restore failed; everything was rolled back.
        """
        manager = self._manager(params)
        chosen = await _chosen(manager, params)
        await self._projects.recover(params.get("folder"))
        done = await manager.restore(chosen, delete_added=bool(params.get("delete_added")))
        return {**asdict(done)}

    async def delete(self, params: dict[str, Any]) -> dict[str, Any]:
        """Delete a snapshot; a damaged one needs its whole id."""
        manager = self._manager(params)
        chosen = await _chosen(manager, params)
        await manager.delete(chosen)
        return {"snapshot_id": chosen}

    def _manager(self, params: dict[str, Any]) -> SnapshotManager:
        return self._projects.snapshots(self._root(params))


async def _chosen(manager: SnapshotManager, params: dict[str, Any]) -> str:
    wanted = str(params.get("snapshot_id") or "")
    return await choose_snapshot(manager, wanted, damaged=True, hint="`:Workflow snapshot` lists them")


def _shape(one: Snapshot) -> dict[str, Any]:
    return {**snapshot_json(one), "pinned": list(one.pinned)}
