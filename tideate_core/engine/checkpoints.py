"""Checkpoints: points of a run that a new run can start from, listed, read and exported as JSON."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.recorded_run import settled_of
from tideate_core.engine.recording import now_ms
from tideate_core.engine.repeated_steps import repeated_steps
from tideate_core.engine.reports import Report, iso_time, write_report
from tideate_core.engine.run import RunRequest
from tideate_core.engine.state import StateManager, about
from tideate_core.engine.stored_definition import stored_graph
from tideate_core.errors import InvalidInput, UnusableFile

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tideate_core.project import Documents
    from tideate_core.store import CheckpointRow, Definition, Reader, StepRow, Store

__all__ = [
    "CheckpointDTO",
    "CheckpointManager",
    "CheckpointMetadata",
    "CheckpointRestoreDTO",
    "CheckpointState",
    "read_checkpoint",
    "remove_exports",
]

MOST_EXPORTS: Final = 1_000_000
"""Exported files, and checkpoints of a run, that are looked through for those to remove."""
_FOLDER: Final = "checkpoints"
LARGEST: Final = 64 * 1024 * 1024
"""Bytes that are read of an existing export, to find out which checkpoint it holds."""


class CheckpointState(Report):
    """Progress of the run at the checkpoint."""

    current_step_index: int
    """From 0: the place of the checkpoint's step among those that had ended."""
    completed_steps: list[str]
    pending_steps: list[str]
    """Steps that a run from here runs: of a machine those that the run visited later."""
    artifacts: list[str]
    """Files that were changed until then."""
    context: dict[str, Any]
    """What the next step's templates would have seen: `inputs`, `context`, `steps`, `prompt`."""


class CheckpointMetadata(Report):
    """About the step after which it was made."""

    agent_id: str
    duration: int
    """Milliseconds that the step took."""
    memory_usage: int
    """Peak memory of the process when it was made, in bytes."""


class CheckpointDTO(Report):
    """A checkpoint as other tools read it."""

    checkpoint_id: str
    workflow_id: str
    """The run's id."""
    step_id: str
    timestamp: str
    """When it was made: ISO 8601, UTC."""
    state: CheckpointState
    metadata: CheckpointMetadata


class CheckpointRestoreDTO(Report):
    """Result of a restore: the new run and its state."""

    checkpoint_id: str
    workflow_id: str
    """The id of the new run, which is paused and can be resumed."""
    restored: bool
    state: CheckpointState
    timestamp: str


class CheckpointManager:
    """Makes checkpoints, lists and reads them, starts new runs from them, and exports them.

    Automatic ones are made by the run itself, with every completed step.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    async def create(self, run_id: str) -> CheckpointRow:
        """Make a checkpoint where a run stands; retention spares it.

        :raises RunNotFound: no run has this id.
        :raises InvalidInput: its workflow had mistakes, so that no run can go on from it.
        """
        definition = await asyncio.to_thread(self._store.reader().definition, run_id)
        if definition.text in {"", "{}"}:
            raise InvalidInput(
                f"the run {run_id} was refused, its workflow has mistakes; nothing goes on from it"
            )
        return await self._store.checkpoint(run_id, at=now_ms())

    async def list(self, run_id: str | None = None, *, limit: int = 200) -> list[CheckpointRow]:
        """Return the checkpoints of a run, or of all of them.

        :raises RunNotFound: no run has this id.
        """
        return await asyncio.to_thread(self._store.reader().checkpoints, run_id, limit=limit)

    async def load(self, checkpoint_id: str) -> CheckpointDTO:
        """Return a checkpoint with the state of its run at that time.

        :raises CheckpointNotFound: no checkpoint has this id, nor one that begins so.
        """
        return await asyncio.to_thread(read_checkpoint, self._store.reader(), checkpoint_id)

    async def restore(self, checkpoint_id: str) -> CheckpointRestoreDTO:
        """Make a new run that stands where the checkpoint was made; the old run stays as it is.

        A step that the old run failed in is run again, and so is what was skipped for it.

        :raises CheckpointNotFound: no checkpoint has this id, nor one that begins so.
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

        :raises CheckpointNotFound: no checkpoint has this id, nor one that begins so.
        :raises StoreError: the file cannot be written.
        """
        checkpoint = await self.load(checkpoint_id)
        return await asyncio.to_thread(self._write, checkpoint)

    def _write(self, checkpoint: CheckpointDTO) -> Path:
        documents = self._store.documents
        named = _names(checkpoint.checkpoint_id, checkpoint.timestamp)
        name, longer = (f"{_FOLDER}/{one}" for one in named)
        if _is_of_another(documents, name, checkpoint.checkpoint_id):  # steps that ended together
            name = longer
        return write_report(documents, name, checkpoint, private=True)


def remove_exports(documents: Documents, reader: Reader, runs: Iterable[str]) -> list[str]:
    """Remove the files that the checkpoints of runs were exported to; returns those that stay. Blocking."""
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
    """Remove an export unless another checkpoint's; returns whether the checkpoint's is gone."""
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

    :raises CheckpointNotFound: no checkpoint has this id, nor one that begins so.
    """
    checkpoint, _ = _load(reader, checkpoint_id)
    return checkpoint


def _load(reader: Reader, checkpoint_id: str) -> tuple[CheckpointDTO, list[str]]:
    """Return a checkpoint, and the steps that a run from it runs though they had ended."""
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
    """Return the name of a checkpoint's file, and one to use if another checkpoint has the first."""
    stamp = "".join(sign for sign in timestamp if sign not in "-:.")
    beginning = f"checkpoint_{stamp}"
    return f"{beginning}.json", f"{beginning}_{checkpoint_id}.json"


def _is_of_another(documents: Documents, name: str, checkpoint_id: str) -> bool:
    try:
        return _id_in(documents, name) != checkpoint_id  # one that cannot be read is not ours to replace
    except FileNotFoundError:
        return False


def _id_in(documents: Documents, name: str) -> str | None:
    """Return the checkpoint that an export holds; None if it cannot be read.

    :raises FileNotFoundError: there is no such file.
    """
    try:
        found = json.loads(documents.read(name, LARGEST))
    except (UnusableFile, ValueError):
        return None
    return str(found.get("checkpointId")) if isinstance(found, dict) else None
