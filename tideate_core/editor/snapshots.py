"""Snapshot requests of the editor: list, create, compare, restore, delete."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from tideate_core.app import choose_snapshot, note_project, snapshot_json

if TYPE_CHECKING:
    from tideate_core.editor.projects import Projects
    from tideate_core.snapshots import Snapshot, SnapshotManager

__all__ = ["Snapshots"]

MOST: Final = 2_000
"""Files of one answer."""
LONGEST: Final = 2_000_000
"""Characters of all changes of one answer."""


class Snapshots:
    """Requests about the snapshots of a folder's project; ids may be the beginnings of them."""

    def __init__(self, projects: Projects) -> None:
        self._projects = projects

    async def list(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the snapshots, the newest first, and why some cannot be read.

        :raises ConfigError: the folder is in no project.
        """
        manager = self._manager(params)
        found, damaged = (await manager.list())[::-1], await manager.damaged()
        return {"ok": True, "snapshots": [_shape(one) for one in found], "damaged": damaged}

    async def create(self, params: dict[str, Any]) -> dict[str, Any]:
        """Make a snapshot; `skipped` is what was left out, and why.

        :raises WorkspaceError: it cannot be made.
        """
        manager = self._manager(params)
        made = await manager.get(await manager.create(str(params.get("name") or "by hand")))
        await asyncio.to_thread(note_project, manager.root)
        skipped = dict(list(made.skipped.items())[:MOST])
        return {"ok": True, "snapshot": _shape(made), "skipped": skipped}

    async def diff(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return what differs from a snapshot; with `changes` also the lines that differ.

        With `recover`, for a restore that the person asked for, an interrupted one is rolled back before.

        :raises SnapshotNotFound: there is none.
        :raises WorkspaceError: it is damaged.
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
        return {"ok": True, "files": files, "more": max(0, len(found) - MOST)}

    async def restore(self, params: dict[str, Any]) -> dict[str, Any]:
        """Bring a snapshot back, all of it or nothing; see `SnapshotManager.restore`.

        :raises RollbackConflict: a file has unsaved changes in the editor; nothing was restored.
        :raises WorkspaceError: it cannot be restored; everything was rolled back.
        """
        manager = self._manager(params)
        chosen = await _chosen(manager, params)
        await self._projects.recover(params.get("folder"))
        done = await manager.restore(chosen, delete_added=bool(params.get("delete_added")))
        return {"ok": True, **asdict(done)}

    async def delete(self, params: dict[str, Any]) -> dict[str, Any]:
        """Delete a snapshot, also a damaged one by its whole id.

        :raises SnapshotNotFound: there is none.
        :raises WorkspaceError: it cannot be deleted.
        """
        manager = self._manager(params)
        chosen = await _chosen(manager, params)
        await manager.delete(chosen)
        return {"ok": True, "snapshot_id": chosen}

    def _manager(self, params: dict[str, Any]) -> SnapshotManager:
        return self._projects.snapshots(self._projects.root(params.get("folder")))


async def _chosen(manager: SnapshotManager, params: dict[str, Any]) -> str:
    wanted = str(params.get("snapshot_id") or "")
    return await choose_snapshot(manager, wanted, damaged=True, hint="`:Workflow snapshot` lists them")


def _shape(one: Snapshot) -> dict[str, Any]:
    return {**snapshot_json(one), "pinned": list(one.pinned)}
