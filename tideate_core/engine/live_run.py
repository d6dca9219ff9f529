"""Live run: an execution with its store log, control requests, steps and end."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tideate_core.engine.events import Event, EventName
from tideate_core.engine.lifecycle import (
    conclude,
    end_as_before,
    ending_of,
    leave_summary,
    restore,
    start,
    words_of,
)
from tideate_core.engine.memory import Memory
from tideate_core.engine.recording import Recorder
from tideate_core.engine.run_store import let_go, new_run, outlast
from tideate_core.engine.scheduler import Driving
from tideate_core.engine.step_context import StepRun, no_tools
from tideate_core.engine.step_runner import Performer, TaskExecutor
from tideate_core.engine.task_group import Crew
from tideate_core.errors import RunLost, StoreError
from tideate_core.machines import ExecutionEvent
from tideate_core.workflows import WorkflowDefinition

if TYPE_CHECKING:
    from tideate_core.adapters import Adapter
    from tideate_core.engine.confirmation import FrontEnd
    from tideate_core.engine.driver import Work
    from tideate_core.engine.recorded_run import Past
    from tideate_core.engine.run import Execution, WorkflowResult
    from tideate_core.engine.run_store import Tools
    from tideate_core.engine.step_context import Offer
    from tideate_core.store import CheckpointRow, Definition, RunLog, Store, Wish
    from tideate_core.workflows import WorkflowStep
    from tideate_core.workspace import Workspace

__all__ = ["LiveRun", "Slow", "Within"]


Within: TypeAlias = "tuple[LiveRun, str] | None"
"""The run and the step that a run is part of, None of a run by itself."""
SLOW: Final = 1.0
"""Seconds after which a word is due."""


class LiveRun:
    """An execution and what writes it down.

    :param past: what earlier processes did of it, None where it begins.
    :param within: the run and the step that it is part of, None of a run by itself.
    """

    def __init__(
        self, execution: Execution, tools: Tools, past: Past | None = None, within: Within = None
    ) -> None:
        self.execution = execution
        self._within = within
        self.parent = (within[0].execution.id, within[1]) if within else None
        """The run and the step that it is part of."""
        self.offer: Offer = no_tools
        """Finds tools of MCP servers for its steps' questions."""
        self.crew = Crew()
        """Who does its steps."""
        self._tools = tools
        self._past = past
        self._store: Store | None = None
        self._log: RunLog | None = None
        self._recorder: Recorder | None = None
        self._memory: Memory | None = None

    @property
    def recorder(self) -> Recorder:
        assert self._recorder is not None  # noqa: S101 a run is attached before it is driven
        return self._recorder

    @property
    def memory(self) -> Memory:
        assert self._memory is not None  # noqa: S101 as above
        return self._memory

    @property
    def resumed(self) -> bool:
        """An earlier process had it."""
        return self._past is not None

    @property
    def store_is_stuck(self) -> bool:
        """Nothing can be written at the moment."""
        return self._store is not None and self._store.is_stuck

    @property
    def gated(self) -> bool:
        """A person is asked where a step wants it."""
        definition, request = self.execution.definition, self.execution.request
        configured = self._tools.config.workflows.get(definition.name)
        wishes = (
            request.require_confirmation,
            configured.require_confirmation if configured else None,
            definition.require_confirmation,
        )
        return next(wish for wish in wishes if wish is not None)

    async def begin(self, store: Store, definition: Definition) -> None:
        """Write down that the run begins.

        :raises StoreError: it cannot be written.
        """
        beginning = asyncio.create_task(store.begin(new_run(self.execution, definition, self.parent)))
        # a run that is in the store belongs to somebody
        cancelled = await outlast(beginning)
        self.attach(beginning.result(), store)
        if cancelled:
            raise asyncio.CancelledError

    def attach(self, log: RunLog, store: Store) -> None:
        """Write to this log from now on, and heed what other processes ask of the run."""
        past = self._past
        memos, agents, checkpoints = (past.memos, past.agents, past.checkpoints) if past else ({}, (), ())
        self._store = store
        self._log = log
        self._memory = Memory(log, memos, self._within[0].memory if self._within else None)
        self._recorder = Recorder(
            log, self._tools.front, hooks=self._tools.hooks, agents=agents, checkpoints=checkpoints
        )
        log.on_wish = self._heed
        log.on_lost = self._lost

    def emit(self, name: EventName, data: dict[str, Any]) -> None:
        """Log and tell an event of the run; before it is in the store, only tell it."""
        if self._recorder is None:
            self._tools.front.emit(Event(name, self.execution.id, data))
        else:
            self._recorder.event(name, data)

    async def drive(self) -> None:
        """Run it to the end of its steps.

        :raises Declined: the person said no.
        :raises Exception: what it failed with.
        """
        execution, past, front = self.execution, self._past, self._tools.front
        recorder, memory = self.recorder, self.memory
        if past is None:
            start(execution, recorder, self.adapter, self.parent)
        else:
            restore(execution, recorder, self.adapter, self.parent, past)
            if past.broken_off is not None:
                end_as_before(execution, past)
        executor = TaskExecutor(recorder, memory, self.crew, gated=self.gated)
        performer = Performer(execution, recorder, executor, self.context_of, front, past)
        concurrency = self._tools.config.limits.concurrency
        if isinstance(execution.definition, WorkflowDefinition):
            concurrency = execution.definition.concurrency or concurrency
        driving = Driving(execution, recorder, memory, performer, self.crew, concurrency=concurrency)
        await driving.run(past)

    async def finish(self, task: asyncio.Task[None]) -> WorkflowResult:
        """Write down how it ended, and tell it.

        :param task: that drove it, done.
        """
        event, result = conclude(self.execution, task)
        if self._recorder is None or self._log is None:
            self._tools.front.emit(event)
            return result
        error = None if task.cancelled() else task.exception()
        if self.execution.left or self.execution.stopped_by or isinstance(error, StoreError):
            self._tools.front.emit(event)  # not the run's end: it can be resumed
            await let_go(self._log)
            return result
        try:
            if self.execution.driver.reversible is not None:
                event, result = await self._all_or_nothing(event, result)
            ending = ending_of(self.execution, result)
            await self._recorder.ended(ending, event.name, event.data)
        except StoreError as failure:
            words = words_of(failure)
            data = {"name": result.workflow, "step": self.execution.step, **words}
            self._tools.front.emit(Event(EventName.WORKFLOW_FAILED, self.execution.id, data))
            return replace(result, ok=False, cancelled=False, reason=None, **words)
        if self.parent is None and self._store is not None:
            await leave_summary(self.execution, ending, self._recorder, self._store.documents)
        return result

    async def _all_or_nothing(self, event: Event, result: WorkflowResult) -> tuple[Event, WorkflowResult]:
        """Take back what the run wrote, where it breaks off.

        :raises StoreError: that cannot be written down, so nothing was taken back; it can be resumed.
        """
        # here, because few runs are all or nothing
        from tideate_core.engine.automatic_rollback import TakingBack

        taking_back = TakingBack(self.execution, self.memory, self.recorder, self.workspace)
        return await taking_back.conclude(event, result)

    def spend(self, step: str, result: WorkflowResult) -> None:
        """What a child took counts here, too.

        :param step: whose run it is; of an item of `for_each` with `[0]`.
        """
        self.execution.usage += result.usage
        self.memory.spend(step.partition("[")[0], result.usage)

    def checkpointed(self, row: CheckpointRow) -> None:
        """Tell of a checkpoint that a person wanted."""
        machine = self.execution.machine
        data = {"checkpoint_id": row.id, "step": row.step, "cursor": row.cursor, "manual": row.manual}
        if machine.transition(ExecutionEvent.CREATE_CHECKPOINT):
            machine.require(ExecutionEvent.CHECKPOINT_CREATED)
        self.emit(EventName.CHECKPOINT_CREATED, data)

    def context_of(self, work: Work, attempt: int) -> StepRun:
        """Return what a handler is given for an attempt."""
        return self.context_beside(work.step, attempt, work.step_definition)

    def context_beside(self, step: str, attempt: int = 1, definition: WorkflowStep | None = None) -> StepRun:
        """Return what a front end's own handler of a step asks with."""
        return StepRun(
            self.execution,
            step,
            adapter=self.adapter,
            front=self._tools.front,
            workspace=self.workspace,
            prompts=self._tools.prompts,
            limits=self._tools.config.limits,
            memory=self.memory,
            recorder=self.recorder,
            attempt=attempt,
            definition=definition,
            adapters=self._tools.adapters.get,
            offer=self.offer,
        )

    @cached_property
    def workspace(self) -> Workspace:
        """The run's."""
        return self._tools.workspace(self.execution.request)

    @cached_property
    def adapter(self) -> Adapter:
        """What answers the run's prompts.

        :raises UnknownAdapter: there is none of this name.
        """
        request = self.execution.request
        name = request.adapter or self._tools.config.adapter_for(self.execution.definition.name)
        return self._tools.adapters.get(name)

    def _heed(self, wish: Wish) -> None:
        """Do what another process asks."""
        if wish == "cancel":
            self.cancel()
        elif wish == "pause":
            self.pause()
        else:
            self.execution.resume()

    def cancel(self) -> None:
        """Cancel the run and everything that is under way in it."""
        self.execution.cancel()

    def cancel_with_caller(self) -> None:
        """Whoever waits for the run was cancelled: of a run that is left, those within it are left, too."""
        parent = self._within[0].execution if self._within else None
        if parent is not None and (parent.left or parent.stopped_by):
            self.leave()
        else:
            self.cancel()

    def pause(self) -> None:
        """Stop before the next step, and say whether there is one."""
        self.execution.pause()
        at_last = self.execution.driver.at_last
        words = "no step is left to pause before" if at_last else "pauses before the next step"
        data = {"step": self.execution.step, "message": words, "level": "info"}
        self.emit(EventName.NOTICE, data)

    def leave(self) -> None:
        """Stop it without an end: another process can resume it."""
        self.execution.left = True
        self.cancel()

    def _lost(self) -> None:
        failure = self._log.failure if self._log else None
        if isinstance(failure, RunLost):
            failure = RunLost(f"another process took the run {self.execution.id} over; it goes on there")
        self.execution.stopped_by = failure
        self.cancel()


class Slow:
    """Called when a run is cancelled, and told when it is over.

    :param front: is told; among the run's events it would stand behind the one of its end.
    """

    def __init__(self, live: LiveRun, front: FrontEnd) -> None:
        self._live = live
        self._front = front
        self._due: asyncio.TimerHandle | None = None

    def __call__(self) -> None:
        if self._due is None:
            self._due = asyncio.get_running_loop().call_later(SLOW, self._tell)

    def over(self) -> None:
        if self._due is not None:
            self._due.cancel()

    def _tell(self) -> None:
        live = self._live
        message = "cancelled; waits for what is under way to end"
        if live.store_is_stuck:
            message = (
                "cancelled, and no step goes on; its end waits for the database, which another process keeps "
                "locked, or the disk is full. If it cannot be written within 30 s, the run can be resumed"
            )
        data = {"step": live.execution.step, "message": message, "level": "warn"}
        self._front.emit(Event(EventName.NOTICE, live.execution.id, data))
