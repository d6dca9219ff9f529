"""Live run: an execution with its store log, its control requests, its steps and its end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tideate_core.adapters import NO_MODEL, TurnAdapter
from tideate_core.engine.driver_hooks import NO_HOOKS
from tideate_core.engine.events import Event, EventName, error_fields, failure_fields, identity
from tideate_core.engine.lifecycle import (
    conclude_execution,
    end_as_recorded,
    ending_of,
    restore_execution,
    start_execution,
    with_next_run,
    write_run_documents,
)
from tideate_core.engine.memory import NEXT_RUN, RUN, Memory
from tideate_core.engine.messages import RunMessages
from tideate_core.engine.recorded_run import recorded_result
from tideate_core.engine.review_drafts import forget_drafts
from tideate_core.engine.run_store import new_run, release_lease
from tideate_core.engine.scheduler import Scheduler
from tideate_core.engine.spending import Ledger
from tideate_core.engine.step_context import StepEnvironment
from tideate_core.engine.step_model import no_tools
from tideate_core.engine.step_runner import StepRunner, TaskExecutor
from tideate_core.engine.task_group import TaskGroup
from tideate_core.errors import RunLost, StoreError
from tideate_core.machines import ExecutionEvent
from tideate_core.store import Message
from tideate_core.util.uncancelled import wait_uncancelled
from tideate_core.workflows import MOST_CONCURRENT, WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from tideate_core.adapters import Adapter, AdapterPool
    from tideate_core.config import Config, LimitsConfig
    from tideate_core.engine.confirmation import FrontEnd
    from tideate_core.engine.driver_hooks import DriverHooks
    from tideate_core.engine.events import WorkflowHooks
    from tideate_core.engine.recorded_run import RecordedRun
    from tideate_core.engine.recording import Recorder
    from tideate_core.engine.result import WorkflowResult
    from tideate_core.engine.run import Execution, RunRequest
    from tideate_core.engine.step_model import OfferTools
    from tideate_core.machines import ExecutionState
    from tideate_core.project import Documents
    from tideate_core.store import (
        CheckpointRow,
        ControlRequest,
        Definition,
        Ending,
        Reader,
        RunLog,
        RunRow,
        Store,
    )
    from tideate_core.workflows import MachineWorkflow, PromptLibrary
    from tideate_core.workspace import Workspace

__all__ = ["LiveRun", "ParentStep", "RunDependencies", "asks_person"]

ParentStep: TypeAlias = "tuple[LiveRun, str] | None"
"""The run and the step that a nested run is part of, None of a run by itself."""

LATE: Final = 1.0
"""Seconds after which a person is told what the end of a cancelled run waits for."""


@dataclass(frozen=True, slots=True)
class RunDependencies:
    """Dependencies that all runs of a runner share."""

    adapters: AdapterPool
    config: Config
    front: FrontEnd
    workspace: Callable[[RunRequest], Workspace]
    prompts: PromptLibrary
    hooks: WorkflowHooks | None = None


def asks_person(
    request: RunRequest, definition: WorkflowDefinition | MachineWorkflow, config: Config
) -> bool:
    """Tell whether a person is asked where a step wants it: as run, configuration or workflow say."""
    configured = config.workflows.get(definition.name)
    choices = (
        request.require_confirmation,
        configured.require_confirmation if configured else None,
        definition.require_confirmation,
    )
    return next(choice for choice in choices if choice is not None)


class LiveRun:
    """An execution and what records it, while this process has it.

    :param gated: a person is asked where a step wants it.
    :param hooks: of its kind of workflow.
    :param offer: finds tools of MCP servers for its steps' questions.
    :param recorded: what earlier processes did of it, None where it begins.
    :param parent: the run and the step that it is part of, None of a run by itself.
    """

    def __init__(
        self,
        execution: Execution,
        dependencies: RunDependencies,
        recorder: Recorder,
        *,
        gated: bool = True,
        hooks: DriverHooks = NO_HOOKS,
        offer: OfferTools = no_tools,
        recorded: RecordedRun | None = None,
        parent: ParentStep = None,
    ) -> None:
        self.execution = execution
        self.recorder = recorder
        recorder.identify = self._identity
        self.memory: Memory = Memory(
            memos=recorded.memos if recorded else None, around=parent[0].memory if parent else None
        )
        if parent:
            parent[0].memory.ledger.open_within(execution.id, self.memory.ledger)
        self.task_group = TaskGroup()
        """The tasks of its steps."""
        self.parent = (parent[0].execution.id, parent[1]) if parent else None
        """The ids of the run and the step that it is part of."""
        self.messages: RunMessages = RunMessages(self)
        self.cancellation_notice = CancellationNotice(self, dependencies.front)
        self.over = asyncio.Event()
        """Set when its end, or that it was left, is in the store."""
        self._parent_run = parent[0] if parent else None
        self._dependencies = dependencies
        self._gated = gated
        self._hooks = hooks
        self._offer = offer
        self._recorded = recorded
        self._store: Store | None = None
        self._log: RunLog | None = None

    @property
    def was_resumed(self) -> bool:
        """An earlier process had it."""
        return self._recorded is not None

    @property
    def store_is_stuck(self) -> bool:
        """Nothing can be written at the moment."""
        return self._store is not None and self._store.is_stuck

    @cached_property
    def adapter(self) -> Adapter:
        """The adapter that answers the run's prompts.

        :raises UnknownAdapter: there is none of this name.
        """
        if not self._hooks.asks_model:
            return NO_MODEL
        request, config = self.execution.request, self._dependencies.config
        return self._dependencies.adapters.get(
            request.adapter or config.adapter_for(self.execution.definition.name)
        )

    @property
    def takes_turns(self) -> bool:
        """Its model can work with tools, in turns."""
        return isinstance(self.adapter, TurnAdapter) and self.adapter.tools

    @cached_property
    def step_environment(self) -> StepEnvironment:
        """The part that the contexts of its steps share."""
        dependencies = self._dependencies
        return StepEnvironment(
            self.execution,
            self.adapter,
            dependencies.front,
            dependencies.workspace(self.execution.request),
            dependencies.prompts,
            dependencies.config.limits,
            self.memory,
            self.recorder,
            dependencies.adapters.get,
            self._offer,
            dependencies.config.rules_files if dependencies.config.rules else None,
            self._memory_of,
            self._store,
            dependencies.config.land.executed == "refuse",
            dependencies.adapters.destination,
        )

    @property
    def _memory_of(self) -> str | None:
        wanted = self.execution.request.memory and self._dependencies.config.memory
        # a recording is found by its prompts, which must not change with the project's history
        recorded = self._dependencies.adapters.is_recorded(self.adapter.name)
        return self._dependencies.adapters.destination(self.adapter.name) if wanted and not recorded else None

    def _identity(self) -> dict[str, str]:
        plan = self._hooks.summary(self.execution.results).plan_id
        return identity(self.execution.id, plan or self.execution.definition.name)

    async def open_in(self, store: Store, definition: Definition) -> None:
        """Write down that the run begins.

        :raises StoreError: it cannot be written.
        """
        self.execution.move(ExecutionEvent.SCHEDULE_STEPS)
        opening = asyncio.create_task(store.begin(new_run(self.execution, definition, self.parent)))
        # a run that is in the store belongs to somebody
        cancelled = await wait_uncancelled(opening)
        self.attach(opening.result(), store)
        if cancelled:
            raise asyncio.CancelledError

    def attach(self, log: RunLog, store: Store) -> None:
        """Record in this log from now on, and follow the control requests of other processes."""
        self._store, self._log = store, log
        self.messages.attach(log, store)
        self.memory.attach(log)
        export = None
        if self._dependencies.config.workflow.checkpoints == "files":
            from tideate_core.engine.checkpoints import CheckpointManager

            export = CheckpointManager(store).export
        self.recorder.attach(log, export)
        self.execution.on_state = self._record_state
        log.on_control_request = self._obey
        log.on_lost = self._lost

    async def drive(self, notices: Iterable[dict[str, Any]] = ()) -> None:
        """Run the steps that are left.

        :param notices: of what a run that was taken up goes on with, for after the event of its restore.
        :raises Declined: the person said no.
        :raises Exception: what a step failed with.
        """
        execution, recorder, recorded = self.execution, self.recorder, self._recorded
        if recorded is None:
            start_execution(execution, recorder, self.adapter, self.parent)
        else:
            restore_execution(execution, recorder, self.adapter, self.parent, recorded)
            for notice in notices:
                recorder.event(EventName.NOTICE, notice)
            self.messages.repeat_unread()
            if recorded.pending_end is not None:
                end_as_recorded(execution, recorded)
        executor = TaskExecutor(recorder, self.memory, self.task_group, gated=self._gated)
        step_runner = StepRunner(self.step_environment, executor, recorded)
        limit = concurrency_of(execution.definition, self._dependencies.config.limits)
        scheduler = Scheduler(self.step_environment, step_runner, self.task_group, concurrency=limit)
        await scheduler.run_steps(recorded)

    async def finish(
        self, task: asyncio.Task[None], documents: Callable[[], Awaitable[Documents | None]]
    ) -> WorkflowResult:
        """Record how the run ended, and tell it.

        :param task: that drove it, done.
        :param documents: opens the directory of the summary of a run that could not begin.
        """
        event, result = self._conclude(task)
        try:
            return await self._finish(task, event, result, documents)
        finally:
            self.execution.complete()

    async def _finish(
        self,
        task: asyncio.Task[None],
        event: Event,
        result: WorkflowResult,
        documents: Callable[[], Awaitable[Documents | None]],
    ) -> WorkflowResult:
        front = self._dependencies.front
        event = replace(event, data={**self._identity(), **event.data})
        if self._log is None or self._store is None:
            self.messages.close()
            if self.parent is None and (place := await documents()) is not None:
                await self._write_documents(ending_of(self.execution, result), place)
            front.emit(event)
            return result
        error = None if task.cancelled() else task.exception()
        if self.execution.left or self.execution.stopped_by or isinstance(error, StoreError):
            front.emit(event)  # not the run's end: it can be resumed
            await release_lease(self._log)
            return result
        try:
            if self.execution.driver.reversible is not None:
                event, result = await self._roll_back_unless_complete(event, result)
            self.execution.begin_completion()
            ending = ending_of(self.execution, result)
            metrics = self.execution.metrics(len(self.recorder.checkpoints)).as_json()
            self.messages.close()
            await self.recorder.ended(ending, event.name, {**event.data, "metrics": metrics})
            if result.ok:  # else its question can be asked again
                warn = partial(self.notify, level="warn")
                await forget_drafts(self._store.private, self.execution.id, warn)
        except StoreError as failure:
            if not self.execution.machine.is_terminal():
                self.execution.machine.require(ExecutionEvent.WORKFLOW_FAILED)
            data = {"name": result.workflow, "step": self.execution.step, **failure_fields(failure)}
            front.emit(Event(EventName.WORKFLOW_FAILED, self.execution.id, {**self._identity(), **data}))
            return replace(result, ok=False, cancelled=False, reason=None, **error_fields(failure))
        if self.parent is None:
            await self._write_documents(ending, self._store.documents)
        return result

    async def _write_documents(self, ending: Ending, documents: Documents) -> None:
        definition = self.execution.definition
        await write_run_documents(
            self.execution.id,
            ending,
            documents,
            name=definition.name,
            total_steps=len(definition.steps) if isinstance(definition, WorkflowDefinition) else 0,
            hooks=self._hooks,
            results=self.execution.results,
            agents=self.recorder.agents,
            checkpoints=self.recorder.checkpoints,
        )

    def _conclude(self, task: asyncio.Task[None]) -> tuple[Event, WorkflowResult]:
        event, result = conclude_execution(self.execution, task)
        kept = self.memory.recall(RUN, NEXT_RUN) or None
        event, result = with_next_run(event, result, kept, self.execution.request, asks=self._gated)
        if self.parent is not None and result.next_run is not None:
            # nobody is asked about the parts of a run
            proposed, short = result.next_run, self.execution.id[:8]
            self.notify(f"{proposed['message']}; {proposed['workflow']} can go on with the run {short}")
        return event, result

    async def _roll_back_unless_complete(
        self, event: Event, result: WorkflowResult
    ) -> tuple[Event, WorkflowResult]:
        """Return how an all-or-nothing run ends.

        :raises StoreError: the rollback cannot be recorded, so nothing was rolled back; it can be resumed.
        """
        # here, because few runs are all or nothing
        from tideate_core.engine.automatic_rollback import AutomaticRollback

        workspace = self.step_environment.workspace
        rollback = AutomaticRollback(self.execution, self.memory, self.recorder, workspace)
        return await rollback.conclude(event, result)

    def add_usage(self, step: str, result: WorkflowResult) -> None:
        """Count the usage of a nested run here, too.

        :param step: whose run it is; of an item of `for_each` with `[0]`.
        """
        step = step.partition("[")[0]
        self.execution.usage += result.usage
        self.memory.spend(step, result.usage)
        self.memory.note_within(step, result.execution_id)

    async def ended_within(self, reader: Reader, run: RunRow) -> WorkflowResult:
        """Return how a nested run ended in an earlier process; what it took counts here, too.

        :raises StoreError: it cannot be read.
        """
        memos = await asyncio.to_thread(reader.memos, run.id)
        self.memory.ledger.open_within(run.id, Ledger(memos))
        return await asyncio.to_thread(recorded_result, reader, run)

    def report_checkpoint(self, row: CheckpointRow) -> None:
        """Tell of a checkpoint that a person wanted."""
        data = {"checkpoint_id": row.id, "step": row.step, "cursor": row.cursor, "manual": row.manual}
        self._tell(EventName.CHECKPOINT_CREATED, data)

    def cancel(self) -> None:
        """Cancel the run and everything that is under way in it."""
        self.cancellation_notice.schedule()
        self.execution.cancel()

    def cancel_with_caller(self) -> None:
        """Cancel, because the caller was cancelled; where the run around is left, this one is left, too."""
        around = self._parent_run.execution if self._parent_run else None
        if around is not None and (around.left or around.stopped_by):
            self.leave()
        else:
            self.cancel()

    def pause(self) -> None:
        """Stop before the next step or turn, and say whether there is one."""
        self.execution.pause()
        places = [] if self.execution.driver.at_last else ["the next step"]
        places += ["the model's next turn"] if self.takes_turns else []
        self.notify(f"pauses before {' or '.join(places)}" if places else "no step is left to pause before")

    def notify(self, message: str, *, level: str = "info") -> None:
        """Tell the person something of the run."""
        self._tell(EventName.NOTICE, {"step": self.execution.step, "message": message, "level": level})

    def _tell(self, name: EventName, data: dict[str, Any]) -> None:
        if self.messages.closed:  # its end is being written: nothing is recorded behind it
            self._dependencies.front.emit(Event(name, self.execution.id, data))
        else:
            self.recorder.event(name, data)

    def leave(self) -> None:
        """Stop it without an end: another process can resume it."""
        self.execution.left = True
        self.cancel()

    def _record_state(self, state: ExecutionState) -> None:
        """Write down, with the next commit, where the run stands."""
        self.recorder.status(state, self.execution.step)

    def _obey(self, request: ControlRequest) -> None:
        """Do what another process asks."""
        if request == "cancel":
            self.cancel()
        elif request == "pause":
            self.pause()
        elif isinstance(request, Message):
            self.messages.take(request)
        else:
            self.execution.resume()

    def _lost(self) -> None:
        failure = self._log.failure if self._log else None
        if isinstance(failure, RunLost):
            failure = RunLost(f"another process took the run {self.execution.id} over; it goes on there")
        self.execution.stopped_by = failure
        self.cancel()


def concurrency_of(definition: WorkflowDefinition | MachineWorkflow, limits: LimitsConfig) -> int:
    """Return how many steps of a run may be under way: as the workflow says, else as it is configured.

    Where nothing is said, handlers alone have the limit of definitions: they wait more than they work.
    """
    if not isinstance(definition, WorkflowDefinition):
        return limits.concurrency
    default = "concurrency" not in limits.model_fields_set
    handlers = all(step.kind == "handler" for step in definition.steps)
    return definition.concurrency or (MOST_CONCURRENT if default and handlers else limits.concurrency)


class CancellationNotice:
    """Tells what the end of a cancelled run waits for, where it takes longer than a person expects.

    :param front: is told; among the run's events it would stand behind the one of its end.
    """

    def __init__(self, live: LiveRun, front: FrontEnd) -> None:
        self.due: asyncio.TimerHandle | None = None
        self._live = live
        self._front = front

    def schedule(self) -> None:
        """Tell it in a moment, once."""
        if self.due is None:
            self.due = asyncio.get_running_loop().call_later(LATE, self._send)

    def withdraw(self) -> None:
        """Tell nothing: the run has ended."""
        if self.due is not None:
            self.due.cancel()

    def _send(self) -> None:
        live = self._live
        begun = "stopped, to be resumed" if live.execution.left else "cancelled"
        message = f"{begun}; waits for what is under way to end"
        if live.store_is_stuck:
            message = (
                f"{begun}, and no step goes on; its end waits for the database, which another process keeps "
                "locked, or the disk is full. If it cannot be written within 30 s, the run can be resumed"
            )
        data: dict[str, Any] = {"step": live.execution.step, "message": message, "level": "warn"}
        self._front.emit(Event(EventName.NOTICE, live.execution.id, data))
