"""Recorder of a run: stores its events and steps' ends durably, and tells the front end and hooks."""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.events import TRANSIENT, Event, EventName
from tideate_core.errors import StoreError
from tideate_core.store import StepOutcome, StepStart, Tokens

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from tideate_core.adapters import Usage
    from tideate_core.engine.driver import Settled, Work
    from tideate_core.engine.events import FrontEnd, WorkflowHooks
    from tideate_core.engine.past import RecordedRun
    from tideate_core.machines import ExecutionState
    from tideate_core.store import CheckpointRow, Ending, RunLog

    Export = Callable[[str], Awaitable[object]]

_STORED_ELSEWHERE: Final[Mapping[EventName, str]] = {
    EventName.STEP_COMPLETED: "result",
    EventName.WORKFLOW_COMPLETED: "response",
}
"""Data that the store keeps in the record of the step or the run, by event."""
_OF_WORKFLOW: Final = frozenset(name for name in EventName if name.name.startswith("WORKFLOW_"))
"""Events of the workflow as a whole."""


def now_ms() -> int:
    """Return milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def tokens_of(usage: Usage) -> Tokens:
    """Return the usage of models as the store keeps it."""
    return Tokens(usage.input_tokens, usage.output_tokens, usage.cost, usage.cached_tokens)


class Recorder:
    """Records one run in order.

    Before a log is attached, events are only told.

    :param log: None for a run that is not in the store yet; see `attach`.
    :param recorded: the part of the run that earlier processes did.
    """

    def __init__(
        self,
        execution_id: str,
        front: FrontEnd,
        log: RunLog | None = None,
        *,
        hooks: WorkflowHooks | None = None,
        recorded: RecordedRun | None = None,
    ) -> None:
        self.execution_id = execution_id
        self.replaying = False
        """Record and tell nothing: an earlier process did."""
        self.agents = dict.fromkeys(recorded.agents if recorded else ())
        """Agents of the steps, in order of their first step."""
        self.checkpoints = list(recorded.checkpoints if recorded else ())
        self.identify: Callable[[], Mapping[str, str]] = dict
        """Returns the `identity` fields of events of the workflow as a whole."""
        self._attached = log
        self._export: Export | None = None
        self._front = front
        self._hooks = hooks
        self._moves = recorded.moves if recorded else 0

    def attach(self, log: RunLog, export: Export | None = None) -> None:
        """Record in this log from now on.

        :param export: writes a checkpoint to a file, by its id; called after each completed step.
        """
        self._attached, self._export = log, export

    @property
    def _log(self) -> RunLog:
        assert self._attached is not None  # noqa: S101 no step starts before the run is in the store
        return self._attached

    def event(self, name: EventName, data: dict[str, Any]) -> None:
        """Log an event with the next commit, and tell it; a transient event is only told."""
        if self.replaying or (name is EventName.TRANSITION and data["move"] <= self._moves):
            return
        self._notify(self._logged(name, data))

    async def durable_event(self, name: EventName, data: dict[str, Any]) -> None:
        """Log an event, and tell it once it and all events before it are durable.

        :raises StoreError: it could not be written, and was not told.
        """
        if self.replaying:
            return
        event = self._logged(name, data)
        await self._log.flush()
        self._notify(event)

    def _logged(self, name: EventName, data: dict[str, Any]) -> Event:
        at, sequence = now_ms(), None
        if name in _OF_WORKFLOW:
            data = {**self.identify(), **data}
        if self._attached is not None and name not in TRANSIENT:
            sequence = self._attached.event(name.value, at, _stored(name, data))
        return Event(name, self.execution_id, data, at, sequence)

    def _notify(self, event: Event) -> None:
        self._front.emit(event)
        if self._hooks is not None:
            self._hooks.notify(event)

    @contextmanager
    def silenced(self, silent: bool = True) -> Iterator[None]:
        """Record and tell nothing meanwhile: an earlier process did."""
        before, self.replaying = self.replaying, silent
        try:
            yield
        finally:
            self.replaying = before

    def status(self, state: ExecutionState, step: str | None) -> None:
        """Store the state and the current step of the run with the next commit."""
        self._log.status(state.value, step)

    async def started(self, work: Work, attempt: int) -> None:
        """Record that a step starts; durable on return if the step must not start twice."""
        self.agents[work.agent] = None
        start = StepStart(
            work.step, work.name, work.agent, work.task, attempt, now_ms(), tuple(work.dependencies)
        )
        self._log.started(start)
        if not work.idempotent:
            await self._log.flush()

    async def settled(self, settled: Settled) -> None:
        """Record the end of a step; durable on return.

        :raises asyncio.CancelledError: the caller was cancelled meanwhile; the end is durable even so.
        :raises StoreError: it could not be written.
        """
        outcome = StepOutcome(
            settled.step,
            settled.status,
            now_ms(),
            settled.duration_ms,
            settled.value,
            settled.error,
            settled.error_code,
            tokens_of(settled.usage),
            settled.files,
        )
        delivery = self._log.finish(outcome)
        cancelled = await delivery.outlast()
        row: CheckpointRow | None = delivery.result
        if row is not None:
            self.checkpoints.append(row.id)
            try:
                if self._export is not None and not cancelled:
                    await self._export(row.id)
            except StoreError as error:
                words = f"the checkpoint was not exported: {error}"
                self.event(EventName.NOTICE, {"step": row.step, "message": words, "level": "warn"})
            finally:  # the checkpoint exists, even if its export is cancelled
                self.event(EventName.CHECKPOINT_CREATED, checkpoint_fields(row))
        if cancelled:
            raise asyncio.CancelledError

    async def ended(self, ending: Ending, name: EventName, data: dict[str, Any]) -> None:
        """Record the end of the run with its last event, then tell it; the run has no owner afterwards.

        :raises StoreError: it could not be written, and was not told.
        """
        at, data = now_ms(), {**self.identify(), **data}
        sequence = await self._log.ended(ending, (name.value, at, _stored(name, data)))
        self._notify(Event(name, self.execution_id, data, at, sequence))

    async def flush(self) -> None:
        """Wait until everything so far is durable."""
        await self._log.flush()


def checkpoint_fields(row: CheckpointRow) -> dict[str, Any]:
    """Return the data of the event about a new checkpoint."""
    return {"checkpoint_id": row.id, "step": row.step, "cursor": row.cursor, "manual": row.manual}


def _stored(name: EventName, data: dict[str, Any]) -> dict[str, Any]:
    """Return the part of an event's data that the store keeps with the event."""
    left_out = _STORED_ELSEWHERE.get(name)
    return data if left_out is None else {key: value for key, value in data.items() if key != left_out}
