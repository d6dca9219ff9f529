"""Checkpoints for the editor's windows: made, listed, shown, and taken up by a new run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine import CheckpointManager, read_checkpoint
from tideate_core.errors import RunNotFound
from tideate_core.project import project_state
from tideate_core.store import Reader

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.editor.projects import Projects
    from tideate_core.engine import CheckpointDTO
    from tideate_core.store import CheckpointRow, RunRow

__all__ = ["Checkpoints"]

MOST: Final = 500
"""Checkpoints of one list."""


class Checkpoints:
    """Requests about checkpoints of a folder's project; ids may be the beginnings of them."""

    def __init__(self, projects: Projects) -> None:
        self._projects = projects

    async def create(self, params: dict[str, Any]) -> dict[str, Any]:
        """Make a checkpoint where a run is now; one of a run that is under way here is told as an event.

        :raises RunNotFound: there is no such run.
        :raises StoreError: it cannot be written.
        """
        run = await self._run(params)
        try:
            row = await self._projects.runner_of(run.id).checkpoint(run.id)
        except RunNotFound:  # it is not under way, or in another process
            row = await (await self._manager(params)).create(run.id)
        return {"ok": True, "run": _named(run), "checkpoint": _row(row)}

    async def list(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the checkpoints of a run, the newest first.

        :raises RunNotFound: there is no such run.
        :raises StoreError: the store cannot be read.
        """
        root = self._projects.root(params.get("folder"))
        return {"ok": True, **await asyncio.to_thread(_list, root, str(params["execution_id"]))}

    async def show(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return how far a run had come at a checkpoint.

        :raises CheckpointNotFound: there is no such checkpoint.
        :raises StoreError: the store cannot be read.
        """
        root = self._projects.root(params.get("folder"))
        found = await asyncio.to_thread(_loaded, root, str(params["checkpoint_id"]))
        return {"ok": True, "state": _state(found)}

    async def restore(self, params: dict[str, Any]) -> dict[str, Any]:
        """Make a paused run that stands where a checkpoint was made; returns its id.

        :raises CheckpointNotFound: there is no such checkpoint.
        :raises StoreError: it cannot be written.
        """
        made = await (await self._manager(params)).restore(str(params["checkpoint_id"]))
        return {"ok": True, "execution_id": made.workflow_id}

    async def _run(self, params: dict[str, Any]) -> RunRow:
        root = self._projects.root(params.get("folder"))
        return await asyncio.to_thread(_found, root, str(params["execution_id"]))

    async def _manager(self, params: dict[str, Any]) -> CheckpointManager:
        store = await self._projects.runner(params.get("folder")).store()
        return CheckpointManager(store)


def _found(root: Path | None, run_id: str) -> RunRow:
    reader = Reader(project_state(root))
    try:
        return reader.run(run_id)
    finally:
        reader.close()


def _list(root: Path | None, run_id: str) -> dict[str, Any]:
    reader = Reader(project_state(root))
    try:
        run = reader.run(run_id)
        rows = reader.checkpoints(run.id, limit=MOST + 1)
    finally:
        reader.close()
    return {"run": _named(run), "checkpoints": [_row(row) for row in rows[:MOST]], "more": len(rows) > MOST}


def _loaded(root: Path | None, checkpoint: str) -> CheckpointDTO:
    reader = Reader(project_state(root))  # also of a database that nothing is gone on with
    try:
        return read_checkpoint(reader, checkpoint)
    finally:
        reader.close()


def _named(run: RunRow) -> dict[str, Any]:
    return {"execution_id": run.id, "name": run.name}


def _row(row: CheckpointRow) -> dict[str, Any]:
    return {
        "checkpoint_id": row.id,
        "step": row.step,
        "created_at": row.created_at,
        "manual": row.manual,
    }


def _state(found: CheckpointDTO) -> dict[str, Any]:
    state = found.state
    return {
        "completed": state.completed_steps,
        "pending": state.pending_steps,
        "files": state.artifacts,
        "agent": found.metadata.agent_id,
        "duration_ms": found.metadata.duration,
    }
