"""Checkpoint requests of the editor: create, list, show, restore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tideate_core.app import checkpoint_json, read_runs
from tideate_core.engine import CheckpointManager, read_checkpoint
from tideate_core.errors import RunNotFound

if TYPE_CHECKING:
    from tideate_core.editor.projects import Projects
    from tideate_core.engine import CheckpointDTO
    from tideate_core.store import CheckpointRow, Reader, RunRow

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
            row = await self._projects.runner_of(run.id).persist_checkpoint(run.id)
        except RunNotFound:  # it is not under way, or in another process
            row = await (await self._manager(params)).create(run.id)
        return {"ok": True, "run": _named(run), "checkpoint": checkpoint_json(row)}

    async def list(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the checkpoints of a run, the newest first.

        :raises RunNotFound: there is no such run.
        :raises StoreError: the store cannot be read.
        """

        def read(reader: Reader) -> tuple[RunRow, list[CheckpointRow]]:
            run = reader.run(str(params["execution_id"]))
            return run, reader.checkpoints(run.id, limit=MOST + 1)

        run, rows = await read_runs(self._projects.root(params.get("folder")), read)
        shown = [checkpoint_json(row) for row in rows[:MOST]]
        return {"ok": True, "run": _named(run), "checkpoints": shown, "more": len(rows) > MOST}

    async def show(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return how far a run had come at a checkpoint.

        :raises CheckpointNotFound: there is no such checkpoint.
        :raises StoreError: the store cannot be read.
        """
        root = self._projects.root(params.get("folder"))
        # also of a database that nothing is gone on with
        found = await read_runs(root, lambda reader: read_checkpoint(reader, str(params["checkpoint_id"])))
        return {"ok": True, "state": _state(found)}

    async def restore(self, params: dict[str, Any]) -> dict[str, Any]:
        """Make a paused run that stands where a checkpoint was made; returns its id.

        :raises CheckpointNotFound: there is no such checkpoint.
        :raises StoreError: it cannot be written.
        """
        runner = self._projects.runner(params.get("folder"))
        made = await runner.restore_checkpoint(str(params["checkpoint_id"]))
        return {"ok": True, "execution_id": made.workflow_id}

    async def _run(self, params: dict[str, Any]) -> RunRow:
        root = self._projects.root(params.get("folder"))
        return await read_runs(root, lambda reader: reader.run(str(params["execution_id"])))

    async def _manager(self, params: dict[str, Any]) -> CheckpointManager:
        store = await self._projects.runner(params.get("folder")).store()
        return CheckpointManager(store)


def _named(run: RunRow) -> dict[str, Any]:
    return {"execution_id": run.id, "workflow": run.name}


def _state(found: CheckpointDTO) -> dict[str, Any]:
    state = found.state
    return {
        "completed": state.completed_steps,
        "pending": state.pending_steps,
        "files": state.artifacts,
        "agent": found.metadata.agent_id,
        "duration_ms": found.metadata.duration,
    }
