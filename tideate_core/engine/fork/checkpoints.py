"""Checkpoints of runs: create, list, read, export, restore as a new run."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.context.context import StateManager, about
from tideate_core.engine.ending import Report, iso_time, write_report
from tideate_core.engine.fork.reuse import repeated_steps
from tideate_core.engine.past import settled_of, stored_graph
from tideate_core.engine.recorder import now_ms
from tideate_core.engine.request import RunRequest
from tideate_core.errors import InvalidInput, UnusableFile

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tideate_core.project import Documents
    from tideate_core.store import CheckpointRow, Definition, Reader, StepRow, Store


MOST_EXPORTS: Final = 1_000_000
"""Maximum number of exports and checkpoints searched for files to remove."""
_FOLDER: Final = "checkpoints"
LARGEST: Final = 64 * 1024 * 1024
"""Bytes read of an existing export to identify its checkpoint."""


class CheckpointState(Report):
    """Progress of a run at a checkpoint."""

    current_step_index: int
    """Index of the checkpoint's step among the ended steps, from 0."""
    completed_steps: list[str]
    pending_steps: list[str]
    """Steps that a run from here executes; for a machine, those that the run visited later."""
    artifacts: list[str]
    """Files changed until then."""
    context: dict[str, Any]
    """Values for the next step's templates: `inputs`, `context`, `steps`, `prompt`."""


class CheckpointMetadata(Report):
    """Facts about the step before a checkpoint."""

    agent_id: str
    duration: int
    """Duration of the step in milliseconds."""
    memory_usage: int
    """Peak memory of the process at that time, in bytes."""


class CheckpointDTO(Report):
    """Checkpoint in the form that other tools read."""

    checkpoint_id: str
    workflow_id: str
    """The run's id."""
    step_id: str
    timestamp: str
    """Time of creation: ISO 8601, UTC."""
    state: CheckpointState
    metadata: CheckpointMetadata


class CheckpointRestoreDTO(Report):
    """Result of a restore: the new run and its state."""

    checkpoint_id: str
    workflow_id: str
    """Id of the new run, which is paused and can be resumed."""
    restored: bool
    state: CheckpointState
    timestamp: str


class CheckpointManager:
    """Create, list, read, restore and export checkpoints.

    A run itself makes a checkpoint with every completed step.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    async def create(self, run_id: str) -> CheckpointRow:
        """Create a checkpoint of a run's current state; retention keeps it.

        :raises RunNotFound: no run has this id.
        :raises InvalidInput: its workflow had mistakes, so no run can continue from it.
        """
        definition = await asyncio.to_thread(self._store.reader().definition, run_id)
        if definition.text in {"", "{}"}:
            raise InvalidInput(
                f"the run {run_id} was refused because its workflow has mistakes; it has no checkpoints"
            )
        return await self._store.checkpoint(run_id, at=now_ms())

    async def list(self, run_id: str | None = None, *, limit: int = 200) -> list[CheckpointRow]:
        """Return the checkpoints of a run, or of all runs.

        :raises RunNotFound: no run has this id.
        """
        return await asyncio.to_thread(self._store.reader().checkpoints, run_id, limit=limit)

    async def load(self, checkpoint_id: str) -> CheckpointDTO:
        """Return a checkpoint with the state of its run at that time.

        :raises CheckpointNotFound: no checkpoint has this id or prefix.
        """
        return await asyncio.to_thread(read_checkpoint, self._store.reader(), checkpoint_id)

    async def restore(self, checkpoint_id: str) -> CheckpointRestoreDTO:
        """Create a new run in the state of the checkpoint; the old run stays.

        Failed steps run again, and so do steps skipped because of them.

        :raises CheckpointNotFound: no checkpoint has this id or prefix.
        """
        checkpoint, again = await asyncio.to_thread(_load, self._store.reader(), checkpoint_id)
        new_id, at = uuid.uuid4().hex, now_ms()
        await self._store.fork(checkpoint.checkpoint_id, new_id, at, again=again)
        return CheckpointRestoreDTO(
            checkpoint_id=checkpoint.checkpoint_id,
            workflow_id=new_id,
            restored=True,
            state=checkpoint.state,
            timestamp=iso_time(at),
        )

    async def export(self, checkpoint_id: str) -> Path:
        """Write a checkpoint to `checkpoints/checkpoint_{timestamp}.json`; returns the file.

        :raises CheckpointNotFound: no checkpoint has this id or prefix.
        :raises StoreError: the file cannot be written.
        """
        checkpoint = await self.load(checkpoint_id)
        return await asyncio.to_thread(self._write, checkpoint)

    def _write(self, checkpoint: CheckpointDTO) -> Path:
        documents = self._store.documents
        named = _names(checkpoint.checkpoint_id, checkpoint.timestamp)
        name, longer = (f"{_FOLDER}/{one}" for one in named)
        if _is_of_another(documents, name, checkpoint.checkpoint_id):  # steps that ended at the same time
            name = longer
        return write_report(documents, name, checkpoint, private=True)


def remove_exports(documents: Documents, reader: Reader, runs: Iterable[str]) -> list[str]:
    """Remove the exported checkpoints of runs; return the files that stay. Blocking."""
    try:
        there = set(documents.names(_FOLDER, MOST_EXPORTS))
    except UnusableFile as error:
        return [str(error)]
    stay: list[str] = []
    for run in runs if there else ():
        for row in reader.checkpoints(run, limit=MOST_EXPORTS):
            names = (
                f"{_FOLDER}/{name}" for name in _names(row.id, iso_time(row.created_at)) if name in there
            )
            stay += (name for name in names if not _is_removed(documents, name, row.id))
    return stay


def _is_removed(documents: Documents, name: str, checkpoint_id: str) -> bool:
    """Remove an export if it is of this checkpoint; return whether the checkpoint has no export any more."""
    try:
        found = _id_in(documents, name)
    except FileNotFoundError:
        return True
    if found == checkpoint_id:
        documents.remove(name)
        return not documents.path(name).exists()
    return found is not None


def read_checkpoint(reader: Reader, checkpoint_id: str) -> CheckpointDTO:
    """Return a checkpoint with the state of its run at that time; blocking.

    :raises CheckpointNotFound: no checkpoint has this id or prefix.
    """
    checkpoint, _ = _load(reader, checkpoint_id)
    return checkpoint


def _load(reader: Reader, checkpoint_id: str) -> tuple[CheckpointDTO, list[str]]:
    """Return a checkpoint, and the ended steps that a run from it repeats."""
    row = reader.checkpoint(checkpoint_id)
    steps, definition = reader.steps(row.run), reader.definition(row.run)
    ended = sorted(
        (step for step in steps if step.order is not None and step.order <= row.cursor),
        key=lambda step: step.order or 0,
    )
    again = repeated_steps(ended, definition)
    kept = [step for step in ended if step.step not in again]
    has = {step.step for step in kept}
    at = next((step for step in ended if step.step == row.step), None)
    request = RunRequest.model_validate(reader.request(row.run))
    checkpoint = CheckpointDTO(
        checkpoint_id=row.id,
        workflow_id=row.run,
        step_id=row.step,
        timestamp=iso_time(row.created_at),
        state=CheckpointState(
            current_step_index=max(0, len(kept) - 1),
            completed_steps=[step.step for step in kept if step.status == "completed"],
            pending_steps=[step.step for step in steps if step.step not in has],
            artifacts=list(dict.fromkeys(path for step in kept for path in step.files)),
            context=_context(request, definition, kept),
        ),
        metadata=CheckpointMetadata(
            agent_id=at.agent if at else "",
            duration=(at.duration_ms or 0) if at else 0,
            memory_usage=row.memory,
        ),
    )
    return checkpoint, list(again)


def _context(request: RunRequest, definition: Definition, ended: list[StepRow]) -> dict[str, Any]:
    settled = {step.step: settled_of(step) for step in ended}
    given = request.context.model_extra or {}
    context = {**about(request.context), **stored_graph(definition).context, **given}
    return StateManager(request.inputs, context, settled, request.prompt).snapshot()


def _names(checkpoint_id: str, timestamp: str) -> tuple[str, str]:
    """Return the file name of a checkpoint's export, and a second one if the first is taken."""
    stamp = "".join(sign for sign in timestamp if sign not in "-:.")
    beginning = f"checkpoint_{stamp}"
    return f"{beginning}.json", f"{beginning}_{checkpoint_id}.json"


def _is_of_another(documents: Documents, name: str, checkpoint_id: str) -> bool:
    try:
        return _id_in(documents, name) != checkpoint_id  # an unreadable file is not ours to replace
    except FileNotFoundError:
        return False


def _id_in(documents: Documents, name: str) -> str | None:
    """Return the id of the checkpoint in an export; None if it cannot be read.

    :raises FileNotFoundError: there is no such file.
    """
    try:
        found = json.loads(documents.read(name, LARGEST))
    except (UnusableFile, ValueError):
        return None
    return str(found.get("checkpointId")) if isinstance(found, dict) else None
