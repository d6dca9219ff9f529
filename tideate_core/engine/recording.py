"""Recorder of one run: its events and steps go into the store, to the front end and to the hooks."""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.events import TRANSIENT, Event, EventName
from tideate_core.errors import StoreError
from tideate_core.store import StepOutcome, StepStart, Tokens

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

    from tideate_core.adapters import Usage
    from tideate_core.engine.confirmation import FrontEnd
    from tideate_core.engine.driver import Settled, Work
    from tideate_core.engine.events import WorkflowHooks
    from tideate_core.machines import ExecutionState
    from tideate_core.store import CheckpointRow, Ending, RunLog

    Export = Callable[[str], Awaitable[object]]

__all__ = ["Recorder", "now_ms", "tokens_of"]

_STORED_ELSEWHERE: Final[Mapping[EventName, frozenset[str]]] = {
    EventName.STEP_COMPLETED: frozenset({"result"}),
    EventName.WORKFLOW_COMPLETED: frozenset({"response"}),
}
"""Data that the store has in the record of the step or the run and does not keep twice."""


_OF_WORKFLOW: Final = frozenset(name for name in EventName if name.name.startswith("WORKFLOW_"))
"""Events of the workflow as a whole."""


def now_ms() -> int:
    """Return milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def tokens_of(usage: Usage) -> Tokens:
    """Return what models took as the store has it."""
    return Tokens(usage.input_tokens, usage.output_tokens, usage.cost, usage.cached_tokens)


class Recorder:
    """Records one run in order, and tells the front end and the hooks.

    Until it has a log, events are only told.

    :param log: None of a run that is not in the store yet; see `attach`.
    :param agents: what did the steps that ended in earlier processes.
    :param checkpoints: ids of those that were made there.
    :param moves: the number of the last move of a machine that an earlier process recorded.
    """

    def __init__(
        self,
        execution_id: str,
        front: FrontEnd,
        log: RunLog | None = None,
        *,
        hooks: WorkflowHooks | None = None,
        agents: Iterable[str] = (),
        checkpoints: Iterable[str] = (),
        moves: int = 0,
    ) -> None:
        self.execution_id = execution_id
        self.replaying = False
        """Nothing is recorded or told: an earlier process did."""
        self.agents = dict.fromkeys(agents)
        """Agents of the steps, in the order of their first."""
        self.checkpoints = list(checkpoints)
        self.identify: Callable[[], Mapping[str, str]] = dict
        """Returns the `identity` that events of the workflow as a whole have."""
        self._attached = log
        self._export: Export | None = None
        self._front = front
        self._hooks = hooks
        self._moves = moves

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
        """Log an event with the next commit and tell it; what is transient is only told."""
        if self.replaying or (name is EventName.TRANSITION and data["move"] <= self._moves):
            return
        self._notify(self._logged(name, data))

    async def durable_event(self, name: EventName, data: dict[str, Any]) -> None:
        """Log an event and tell it once it is durable, and all before it.

        :raises StoreError: it could not be written, nor was it told.
        """
        if self.replaying:
            return
        event = self._logged(name, data)
        await self._log.flush()
        self._notify(event)

    def _logged(self, name: EventName, data: dict[str, Any]) -> Event:
        at, data = now_ms(), self._identified(name, data)
        sequence = None
        if self._attached is not None and name not in TRANSIENT:
            sequence = self._attached.event(name.value, at, _kept(name, data))
        return Event(name, self.execution_id, data, at, sequence)

    @contextmanager
    def silenced(self, silent: bool = True) -> Iterator[None]:
        """Neither record nor tell what happens meanwhile: an earlier process did."""
        before, self.replaying = self.replaying, silent
        try:
            yield
        finally:
            self.replaying = before

    def status(self, state: ExecutionState, step: str | None) -> None:
        """Write down, with the next commit, where the run stands."""
        if not self.replaying:
            self._log.status(state.value, step)

    async def started(self, work: Work, attempt: int) -> None:
        """Write down that a step starts.

        Of one that must not start twice it is durable when this returns.
        """
        if self.replaying:
            return
        self.agents[work.agent] = None
        start = StepStart(
            work.step, work.name, work.agent, work.task, attempt, now_ms(), tuple(work.dependencies)
        )
        self._log.started(start)
        if not work.idempotent:
            await self._log.flush()

    async def settled(self, work: Work, settled: Settled) -> None:
        """Write down how a step ended; durable when it returns.

        :raises asyncio.CancelledError: the caller was cancelled meanwhile; it is durable all the same.
        :raises StoreError: it could not be written.
        """
        if self.replaying:
            return
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
            made = {"checkpoint_id": row.id, "step": work.step, "cursor": row.cursor, "manual": row.manual}
            try:
                if self._export is not None and not cancelled:
                    await self._exported(row, self._export)
            finally:  # the checkpoint is there, even if its export is cancelled
                self.event(EventName.CHECKPOINT_CREATED, made)
        if cancelled:
            raise asyncio.CancelledError

    async def _exported(self, row: CheckpointRow, export: Export) -> None:
        """Export a checkpoint; if that fails, the run continues with a notice."""
        try:
            await export(row.id)
        except StoreError as error:
            words = f"the checkpoint was not exported: {error}"
            self.event(EventName.NOTICE, {"step": row.step, "message": words, "level": "warn"})

    async def ended(self, ending: Ending, name: EventName, data: dict[str, Any]) -> None:
        """Write down how the run ended, its last event with it, then tell that; the run is nobody's then.

        :raises StoreError: it could not be written, nor was it told.
        """
        at, data = now_ms(), self._identified(name, data)
        sequence = await self._log.ended(ending, (name.value, at, _kept(name, data)))
        self._notify(Event(name, self.execution_id, data, at, sequence))

    def _identified(self, name: EventName, data: dict[str, Any]) -> dict[str, Any]:
        return {**self.identify(), **data} if name in _OF_WORKFLOW else data

    async def flush(self) -> None:
        """Wait until all so far is durable: a run that pauses is paused after a restart, too."""
        await self._log.flush()

    def _notify(self, event: Event) -> None:
        self._front.emit(event)
        if self._hooks is not None:
            self._hooks.notify(event)


def _kept(name: EventName, data: dict[str, Any]) -> dict[str, Any]:
    """Return what the store keeps of an event's data."""
    left_out = _STORED_ELSEWHERE.get(name)
    return {key: value for key, value in data.items() if key not in left_out} if left_out else data
