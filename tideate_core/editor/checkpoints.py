"""Handlers of Lua's requests about checkpoints: create, list, show, restore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tideate_core.app import checkpoint_json, read_runs
from tideate_core.editor.projects import FolderRequests
from tideate_core.engine import CheckpointManager, read_checkpoint
from tideate_core.errors import RunNotFound

if TYPE_CHECKING:
    from tideate_core.store import CheckpointRow, Reader, RunRow

MOST: Final = 500
"""Checkpoints of one list."""


class Checkpoints(FolderRequests):
    """Requests about checkpoints of a folder's project; the start of an id is enough."""

    async def create(self, params: dict[str, Any]) -> dict[str, Any]:
        """Create a checkpoint at the present state of a run; a run under way here also emits an event."""
        folder, wanted = params.get("folder"), str(params["execution_id"])
        run = await read_runs(self._projects.root(folder), lambda reader: reader.run(wanted))
        try:
            row = await self._projects.runner_of(run.id).persist_checkpoint(run.id)
        except RunNotFound:  # not under way, or in another process
            row = await CheckpointManager(await self._projects.runner(folder).store()).create(run.id)
        return {"run": _named(run), "checkpoint": checkpoint_json(row)}

    async def list(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the checkpoints of a run, newest first."""

        def read(reader: Reader) -> tuple[RunRow, list[CheckpointRow]]:
            run = reader.run(str(params["execution_id"]))
            return run, reader.checkpoints(run.id, limit=MOST + 1)

        run, rows = await read_runs(self._root(params), read)
        shown = [checkpoint_json(row) for row in rows[:MOST]]
        return {"run": _named(run), "checkpoints": shown, "more": len(rows) > MOST}

    async def show(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the progress of a run at a checkpoint."""
        root = self._root(params)
        found = await read_runs(root, lambda reader: read_checkpoint(reader, str(params["checkpoint_id"])))
        state = found.state
        shape = {
            "completed": state.completed_steps,
            "pending": state.pending_steps,
            "files": state.artifacts,
            "agent": found.metadata.agent_id,
            "duration_ms": found.metadata.duration,
        }
        return {"state": shape}

    async def restore(self, params: dict[str, Any]) -> dict[str, Any]:
        """Create a paused run with the state of a checkpoint and return its id."""
        runner = self._projects.runner(params.get("folder"))
        made = await runner.restore_checkpoint(str(params["checkpoint_id"]))
        return {"execution_id": made.workflow_id}


def _named(run: RunRow) -> dict[str, Any]:
    return {"execution_id": run.id, "workflow": run.name}
