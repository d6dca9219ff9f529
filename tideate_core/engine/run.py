"""Run: a workflow run in this process, with its state machine, steps, memory, messages and controls."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from tideate_core.adapters import NO_MODEL, TurnAdapter, Usage
from tideate_core.engine.context.context import StateManager, about
from tideate_core.engine.context.memory import Memory
from tideate_core.engine.driver import NO_HOOKS, Settled
from tideate_core.engine.events import Event, EventName, identity
from tideate_core.engine.loop import TaskExecutor
from tideate_core.engine.past import RecordedFailure, kept_adapter, release_lease, stored_definition
from tideate_core.engine.recorder import Recorder, checkpoint_fields, now_ms
from tideate_core.engine.task_group import TaskGroup
from tideate_core.errors import InvalidInput, RunLost
from tideate_core.machines import ExecutionEvent, ExecutionMachine, ExecutionMetrics, ExecutionState
from tideate_core.store import TAKEOVER_AFTER, Message, NewRun
from tideate_core.util.uncancelled import wait_uncancelled
from tideate_core.workflows import Declined, WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping

    from tideate_core.adapters import Adapter
    from tideate_core.engine.context.model import Outgoing
    from tideate_core.engine.driver import Driver, DriverHooks
    from tideate_core.engine.events import FrontEnd, WorkflowHooks
    from tideate_core.engine.past import RecordedRun
    from tideate_core.engine.request import RunRequest, WorkflowResult
    from tideate_core.engine.runner import WorkflowRunner
    from tideate_core.errors import TideateError
    from tideate_core.store import CheckpointRow, ControlRequest, Definition, RunLog, Store
    from tideate_core.workflows import MachineWorkflow, Registration
    from tideate_core.workspace import Workspace

T = TypeVar("T")

LATE: Final = 1.0
"""Seconds after which a person is told why a cancelled run has not ended."""


class Run:
    """A workflow run while this process executes it.

    `begin.prepare_run` sets the definition, the driver and the inputs.

    :param runner: the adapters, configuration and store that all runs share.
    :param front: shows the run's events and answers its questions; None: the runner's.
    :param hooks: called with the run's events; None: the runner's.
    :param recorded: the part of the run that earlier processes did; None: it begins here.
    :param parent: the run whose step `parent_step` this run is.
    """

    registration: Registration
    definition: WorkflowDefinition | MachineWorkflow
    driver: Driver
    inputs: Mapping[str, Any]
    """The request's inputs, typed and completed with the defaults that the workflow declares."""

    def __init__(
        self,
        runner: WorkflowRunner,
        request: RunRequest,
        *,
        front: FrontEnd | None = None,
        hooks: WorkflowHooks | None = None,
        recorded: RecordedRun | None = None,
        parent: Run | None = None,
        parent_step: str = "",
    ) -> None:
        self.runner = runner
        self.request = request
        self.id = request.execution_id
        self.name = request.name
        """The workflow's name; until the workflow is read, the requested one."""
        self.total_steps = 0
        """Number of the workflow's steps; 0 for a machine, or if it is not read yet."""
        self.front = front or runner.front
        self.recorded = recorded
        self.parent = parent
        self.parent_step = parent_step
        self.chosen_adapter: str | None = None
        """The person's choice for the rest of a resumed run."""
        self.driver_hooks: DriverHooks = NO_HOOKS
        self.recorder: Recorder = Recorder(
            self.id, self.front, hooks=hooks or runner.hooks, recorded=recorded
        )
        self.recorder.identify = self._identity
        self.memory: Memory = Memory(
            memos=recorded.memos if recorded else None, around=parent.memory if parent else None
        )
        if parent is not None:
            parent.memory.ledger.open_within(self.id, self.memory.ledger)
        self.task_group = TaskGroup()
        """The tasks of the steps."""
        self.failed: set[str] = set()
        """Failed steps without which the run cannot continue."""
        self.machine = ExecutionMachine(
            {
                # without a driver, the definition is a text with mistakes
                "has_steps": lambda: not hasattr(self, "driver") or self.driver.has_steps,
                "has_graph": lambda: hasattr(self, "driver"),
                "has_more_batches": lambda: self.driver.has_more,
                "has_fatal_failure": lambda: bool(self.failed),
                "all_settled": lambda: not self.driver.has_more,
            }
        )
        self.results: dict[str, Any] = {}
        """Results by step; for a failed step that the run continues without, its error."""
        self.settled: dict[str, Settled] = {}
        """Ends of all steps that have ended, in order."""
        self.begun: set[str] = set()
        """Steps that have started in this process."""
        self.files: list[str] = []
        """Files and buffers that the run changed."""
        self.executed: dict[str, dict[str, str]] = {}
        """Changed files that other tools execute by themselves: `path` and `reason`, by path."""
        self.usage = Usage()
        self.cost_under_way = 0.0
        """US dollars that unanswered requests may cost."""
        self.warned: set[str] = set()
        """Warnings that are shown once in a run."""
        self.step: str | None = None
        """The current step."""
        self.stopped_by: TideateError | None = None
        """The reason that the run was stopped without a request."""
        self.cancel_wanted = False
        self.left = False
        """This process leaves the run, so that another can resume it."""
        self.elapsed_before = 0
        """Milliseconds that earlier processes took."""
        self.takeover_after = TAKEOVER_AFTER
        """Seconds without a heartbeat after which a nested run of another process is taken over."""
        self.item_workers: Counter[str] = Counter()
        """Number of workers that process list items, by step."""
        self.over = asyncio.Event()
        """Set when the store has the run's end, or that it was left."""
        self.on_resume: Callable[[], None] | None = None
        """Called when the run is resumed while steps are running."""
        self.store: Store | None = None
        self.task: asyncio.Task[Any] | None = None
        self._log: RunLog | None = None
        self._nested: set[Run] = set()
        self._owned: set[asyncio.Task[Any]] = set()
        self._started = time.monotonic()
        self._waiting: Counter[str] = Counter()
        """Items of a step that stand still for a pause."""
        self._resumed = asyncio.Event()
        self._resumed.set()
        self._unread: list[Message] = []
        self._known_messages: set[int] = set()
        self._messages_open = asyncio.Event()
        """Set once messages can be stored, or never will be."""
        self._messages_closed = False
        self._late_notice: asyncio.TimerHandle | None = None

    # -- what its steps use -----------------------------------------------------------------------------

    @cached_property
    def adapter(self) -> Adapter:
        """The adapter that answers the run's prompts; a resumed run keeps the one that it had.

        :raises UnknownAdapter: no adapter has the name.
        """
        if not self.driver_hooks.asks_model:
            return NO_MODEL
        if self.chosen_adapter is None and self.recorded is not None and self.recorded.adapter is not None:
            return kept_adapter(self.runner.adapters, self.id, self.recorded.adapter)
        name = self.chosen_adapter or self.request.adapter or self.runner.config.adapter_for(self.name)
        return self.runner.adapters.get(name)

    @property
    def adapter_elsewhere(self) -> str | None:
        """The adapter that this run has from another machine; None if it is the configured one."""
        name = self.adapter.name
        configured = self.runner.config.adapter_for(self.name)
        return name if self.driver_hooks.asks_model and name != configured else None

    @property
    def takes_turns(self) -> bool:
        """The model works with tools, in turns."""
        return isinstance(self.adapter, TurnAdapter) and self.adapter.tools

    @cached_property
    def workspace(self) -> Workspace:
        return self.runner.workspace(self.request)

    @cached_property
    def gated(self) -> bool:
        """A person is asked if a step wants it: as the request, the configuration or the workflow says."""
        configured = self.runner.config.workflows.get(self.name)
        choices = (
            self.request.require_confirmation,
            configured.require_confirmation if configured else None,
            self.definition.require_confirmation,
        )
        return next(choice for choice in choices if choice is not None)

    @property
    def gives_prompt(self) -> bool:
        """Agents get the prompt as material because no template reads it."""
        if not self.request.prompt.strip() or not isinstance(self.definition, WorkflowDefinition):
            return False
        # imported here: a run without a prompt needs no Jinja for it
        from tideate_core.workflows import use_of_prompt

        return use_of_prompt(self.definition) == "given"

    @cached_property
    def memory_of(self) -> str | None:
        """Address of the model that may see earlier runs as context; None: no earlier run is sent."""
        adapters = self.runner.adapters
        # a recording is found by its prompts, which must not depend on the project's history
        if (
            not self.request.memory
            or not self.runner.config.memory
            or adapters.is_recorded(self.adapter.name)
        ):
            return None
        return adapters.destination(self.adapter.name)

    @cached_property
    def state(self) -> StateManager:
        """The values that templates of its steps can use."""
        own = getattr(self.definition, "context", {})  # a machine has none
        given = self.request.context.model_extra or {}
        context = {**about(self.request.context), **own, **given}
        return StateManager(self.inputs, context, self.settled, self.request.prompt)

    @cached_property
    def outgoing(self) -> Outgoing:
        """The filter of texts sent to models; that of the outermost run counts.

        A nested run's inputs may be words of others.
        """
        from tideate_core.engine.context.model import Outgoing, texts_in

        return Outgoing([self.request.prompt, *texts_in(dict(self.request.inputs))])

    @property
    def outermost(self) -> Run:
        """The run that contains this one, directly or not; itself if it is not nested."""
        return self if self.parent is None else self.parent.outermost

    def committed_cost(self) -> float:
        """Return US dollars spent or under way, including nested runs, as far as prices are known."""
        own = (self.usage.cost or 0.0) + self.cost_under_way
        return own + sum(run.committed_cost() for run in self._nested)

    async def nest(self, step: str, request: RunRequest) -> WorkflowResult:
        """Execute another workflow as a step of this run: begin it, resume it, or return its earlier end.

        The run fills in what the request leaves open (adapter, confirmation) and counts the usage.

        :param step: whose run it is; for an item of `for_each` with `[0]`.
        :param request: its id is derived from this run, the step and the attempt.
        :raises CannotGoOn: the nested run has not ended, but cannot continue now.
        """
        whole = step.partition("[")[0]
        # a nested run ends by itself when this one is stopped, and its end is recorded
        with self.task_group.unlimited_grace(whole):
            result = await self.runner.run_nested(self, step, request)
            self.usage += result.usage
            self.memory.spend(whole, result.usage)
            self.memory.note_within(whole, result.execution_id)
            return result

    async def run_owned(self, work: Coroutine[Any, Any, T]) -> T:
        """Do work that is cancelled when the run ends."""
        task = asyncio.ensure_future(work)
        self._owned.add(task)
        task.add_done_callback(self._owned.discard)
        return await task

    # -- from its first event to its last step ----------------------------------------------------------

    async def execute(self, notices: Iterable[dict[str, Any]] = ()) -> None:
        """Execute the steps that are left.

        :param notices: shown after the event that a resumed run was restored.
        :raises Declined: the person declined.
        :raises Exception: the error of a step.
        """
        adapter, recorded = self.adapter, self.recorded  # a run without an adapter does not begin
        if self._log is None:
            await self._open(await self.runner.store())
        facts = {
            "name": self.name,
            "adapter": adapter.name,
            "demonstration": adapter.demonstration,
            "prompt": self.request.prompt,
            **({"compared": list(self.request.compared)} if self.request.compared else {}),
            **({"parent": self.parent.id, "parent_step": self.parent_step} if self.parent else {}),
            **self.driver.outline(),
        }
        if recorded is None:
            self.move(ExecutionEvent.STEPS_SCHEDULED)
            self.recorder.event(EventName.WORKFLOW_STARTED, facts)
        else:
            self._restore(recorded, facts, notices)
        await TaskExecutor(self).execute_steps()

    def _restore(
        self, recorded: RecordedRun, facts: dict[str, Any], notices: Iterable[dict[str, Any]]
    ) -> None:
        self.usage = recorded.usage
        self.files = list(recorded.files)
        self.executed = dict(recorded.executed)
        self.elapsed_before = recorded.elapsed_ms
        self.state.restore_context(recorded.context)
        self.move(ExecutionEvent.CHECKPOINT_RESTORED)
        forked = {"forked": True} if recorded.forked else {}  # a notice tells what is reused
        facts |= {"completed": list(recorded.settled), **forked}
        self.recorder.event(EventName.WORKFLOW_RESTORED, facts)
        for notice in notices:
            self.recorder.event(EventName.NOTICE, notice)
        for message in self._log.unread if self._log else ():
            self.notify(f"you: {message.text}")
        if recorded.pending_end is not None:
            self._end_as_recorded(recorded, recorded.pending_end)

    def _end_as_recorded(self, recorded: RecordedRun, end: Mapping[str, Any]) -> NoReturn:
        """End as the run was about to end when its process stopped during the rollback.

        :raises Declined: the person had declined.
        :raises RecordedFailure: a step had failed.
        :raises asyncio.CancelledError: the run had been cancelled.
        """
        for settled in recorded.settled.values():
            self.settle(settled)
        self.step = end["step"]
        if end["reason"] == "declined":
            raise Declined(end["message"])
        if end["reason"] is not None:
            raise asyncio.CancelledError
        raise RecordedFailure(Settled(end["step"] or "", "failed", None, end["error"], end["error_code"]))

    async def _open(self, store: Store) -> None:
        """Add the run to the store.

        :raises StoreError: it cannot be written.
        """
        self.move(ExecutionEvent.SCHEDULE_STEPS)
        opening = asyncio.create_task(store.begin(self.row(stored_definition(self.registration))))
        # a stored run always has an owner
        cancelled = await wait_uncancelled(opening)
        self.attach(opening.result(), store)
        if cancelled:
            raise asyncio.CancelledError

    def row(self, definition: Definition) -> NewRun:
        """Return the run as the store adds it."""
        graph = self.driver.graph()
        steps = self.definition.steps if isinstance(self.definition, WorkflowDefinition) else ()
        return NewRun(
            self.id,
            definition,
            self.request.model_dump(mode="json"),
            self.total_steps,
            now_ms(),
            graph,
            self.parent.id if self.parent else None,
            self.parent_step if self.parent else None,
            self.machine.state.value,
            tuple((step.id, step.name or step.id, step.agent or step.kind) for step in steps),
        )

    def attach(self, run_log: RunLog, store: Store) -> None:
        """Record in this log from now on, and obey the control requests of other processes."""
        self.store, self._log = store, run_log
        for message in run_log.unread:
            self._keep_message(message)
        self._messages_open.set()
        self.memory.attach(run_log)
        export = None
        if self.runner.config.workflow.checkpoints == "files":
            from tideate_core.engine.fork.checkpoints import CheckpointManager

            export = CheckpointManager(store).export
        self.recorder.attach(run_log, export)
        run_log.on_control_request = self._obey
        run_log.on_lost = self._lose

    def drive_with(self, task: asyncio.Task[Any]) -> None:
        """Let a task execute the run; a nested run is paused and resumed with the run around it."""
        self.task = task
        if self.parent is not None:
            self.parent._nested.add(self)
            if self.parent.pause_wanted:
                self.pause_steps()

    async def close(self) -> None:
        """Cancel work that handlers left behind."""
        if self.parent is not None:
            self.parent._nested.discard(self)
        for task in self._owned:
            task.cancel()
        await asyncio.gather(*self._owned, return_exceptions=True)

    async def release(self) -> None:
        """Give the run up, so that another process can resume it."""
        if self._log is not None:
            await release_lease(self._log)

    # -- its state --------------------------------------------------------------------------------------

    def move(self, event: ExecutionEvent) -> None:
        """Follow an event of the lifecycle; a new state is written with the next commit.

        :raises InvalidTransition: it is not allowed now.
        """
        machine = self.machine
        before = machine.state
        if before is ExecutionState.CREATING_CHECKPOINT and not machine.can_transition(event):
            self.move(ExecutionEvent.CHECKPOINT_CREATED)  # the run continues while it is written
            before = machine.state
        machine.require(event)
        if machine.state is not before and self._log is not None:
            self.recorder.status(machine.state, self.step)

    async def checkpoint(self, write: Awaitable[T]) -> T:
        """Return a checkpoint once it is written; the state is `creating_checkpoint` meanwhile if allowed."""
        begun = self.machine.can_transition(ExecutionEvent.CREATE_CHECKPOINT)
        if begun:
            self.move(ExecutionEvent.CREATE_CHECKPOINT)
        try:
            return await write
        finally:
            if begun and self._is_checkpointing:
                self.move(ExecutionEvent.CHECKPOINT_CREATED)

    @property
    def _is_checkpointing(self) -> bool:
        return self.machine.state is ExecutionState.CREATING_CHECKPOINT

    @property
    def state_without_checkpoint(self) -> ExecutionState:
        """The state; while a checkpoint is written, the state before."""
        return self.machine.get_history()[-1].from_state if self._is_checkpointing else self.machine.state

    @property
    def elapsed_ms(self) -> int:
        return self.elapsed_before + round((time.monotonic() - self._started) * 1000)

    def metrics(self) -> ExecutionMetrics:
        """Return the numbers of the run so far."""
        graph, usage = self.driver.graph(), self.usage
        ended = {step: settled.status for step, settled in self.settled.items()}
        # a step that was running when the run ended has failed, as in the store
        begun = "failed" if self.machine.is_terminal() else "running"
        return ExecutionMetrics.of(
            dict.fromkeys(self.begun, begun) | ended,
            graph.execution_order if graph else (),
            checkpoints=len(self.recorder.checkpoints),
            duration_ms=self.elapsed_ms,
            tokens=(usage.input_tokens, usage.output_tokens, usage.cost),
        )

    def settle(self, settled: Settled) -> None:
        """Keep the end of a step for the steps after it."""
        self.settled[settled.step] = settled
        if settled.status == "completed":
            self.results[settled.step] = settled.value

    def continue_without(self, settled: Settled) -> None:
        """Give the steps after a failed one its error as its result."""
        self.results[settled.step] = {"error": settled.error, "error_code": settled.error_code}

    # -- controls ---------------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Cancel the run with its steps and nested runs."""
        if self._late_notice is None:
            self._late_notice = asyncio.get_running_loop().call_later(LATE, self._explain_delay)
        self.cancel_wanted = True
        if self.task is not None:
            self.task.cancel()

    def cancel_with_caller(self) -> None:
        """Cancel because the caller was cancelled; if the run around is left, this one is left, too."""
        if self.parent is not None and (self.parent.left or self.parent.stopped_by):
            self.leave()
        else:
            self.cancel()

    def leave(self) -> None:
        """Stop without an end: another process can resume the run."""
        self.left = True
        self.cancel()

    async def leave_from_step(self) -> NoReturn:
        """Stop without an end, from within a step."""
        self.leave()
        await asyncio.Event().wait()
        raise AssertionError  # the step's task is cancelled

    def forget_delay(self) -> None:
        """Do not explain a delay: the run has ended."""
        if self._late_notice is not None:
            self._late_notice.cancel()

    def _explain_delay(self) -> None:
        begun = "stopped, to be resumed" if self.left else "cancelled"
        message = f"{begun}; waiting for running work to end"
        if self.store is not None and self.store.is_stuck:
            message = (
                f"{begun}, and no step is running; its end waits for the database, which another process "
                "keeps locked, or the disk is full. If that lasts for 30 s, the run can be resumed"
            )
        # only shown: among the run's events it would follow the run's end
        data = {"step": self.step, "message": message, "level": "warn"}
        self.front.emit(Event(EventName.NOTICE, self.id, data))

    def pause(self) -> None:
        """Stop before the next step or turn, and say before which."""
        self.pause_steps()
        places = [] if self.driver.at_last else ["the next step"]
        places += ["the model's next turn"] if self.takes_turns else []
        self.notify(f"pauses before {' or '.join(places)}" if places else "no step is left to pause before")

    def pause_steps(self) -> None:
        """Stop before the next step, in nested runs, too; running steps are finished first."""
        self._resumed.clear()
        for run in self._nested:
            run.pause_steps()

    def resume(self) -> None:
        """Continue a paused run, or withdraw a pause that has not come yet."""
        self._resumed.set()
        if self.on_resume is not None:
            self.on_resume()
        for run in self._nested:
            run.resume()

    @property
    def pause_wanted(self) -> bool:
        return not self._resumed.is_set()

    @property
    def is_paused(self) -> bool:
        """The run waits before a step until it is resumed."""
        return self.state_without_checkpoint is ExecutionState.PAUSED

    async def resumed(self) -> None:
        """Wait until a paused run is resumed."""
        await self._resumed.wait()

    async def wait_if_paused(self, step: str) -> None:
        """Wait within a step while a pause is wanted.

        :param step: for a list item with `[0]`.
        """
        whole = step.partition("[")[0]
        while self.pause_wanted:  # again: another pause may be wanted before this wait ends
            self._waiting[whole] += 1
            try:
                await self.pause_if_still()
                await self.resumed()
            finally:
                self._waiting[whole] -= 1
            if self.is_paused:
                self.move(ExecutionEvent.RESUME_WORKFLOW)
                self.recorder.event(EventName.WORKFLOW_RESUMED, {"step": step})

    @asynccontextmanager
    async def item_worker(self, step: str) -> AsyncIterator[None]:
        """Count a worker that processes items of a step's list."""
        self.item_workers[step] += 1
        try:
            yield
        finally:
            self.item_workers[step] -= 1
        await self.pause_if_still()

    async def pause_if_still(self) -> None:
        """Pause if a pause is wanted and every running step stands still."""
        if not self.pause_wanted:
            return
        running = [step for step in self.begun if step not in self.settled]
        still = all(self._waiting[step] >= max(1, self.item_workers[step]) for step in running)
        if running and still and not self.is_paused:
            self.move(ExecutionEvent.PAUSE_WORKFLOW)
            await self.recorder.durable_event(EventName.WORKFLOW_PAUSED, {"step": running[0], "within": True})

    def _obey(self, request: ControlRequest) -> None:
        """Execute a control request of another process."""
        if isinstance(request, Message):
            self._take_message(request)
        else:
            {"cancel": self.cancel, "pause": self.pause, "resume": self.resume}[request]()

    def _lose(self) -> None:
        failure = self._log.failure if self._log else None
        if isinstance(failure, RunLost):
            failure = RunLost(f"another process took over the run {self.id} and continues it")
        self.stopped_by = failure
        self.cancel()

    # -- notices and messages ---------------------------------------------------------------------------

    def notify(self, message: str, *, level: str = "info") -> None:
        """Show the person a notice about the run."""
        self._tell(EventName.NOTICE, {"step": self.step, "message": message, "level": level})

    def report_checkpoint(self, row: CheckpointRow) -> None:
        """Report a checkpoint that a person made."""
        self._tell(EventName.CHECKPOINT_CREATED, checkpoint_fields(row))

    def _tell(self, name: EventName, data: dict[str, Any]) -> None:
        if self._messages_closed:  # the end is being written: no event may follow it in the store
            self.front.emit(Event(name, self.id, data))
        else:
            self.recorder.event(name, data)

    def _identity(self) -> dict[str, str]:
        plan = self.driver_hooks.summary(self.results).plan_id
        return identity(self.id, plan or self.name)

    async def send(self, text: str) -> None:
        """Tell the model something before its next turn, whichever process has the run then.

        :raises InvalidInput: the text is empty, or no model would read it.
        :raises StoreError: the message cannot be stored.
        """
        self._refuse_unreadable(text)
        await self._messages_open.wait()
        self._refuse_unreadable(text)  # the run may have ended meanwhile
        assert self.store is not None  # noqa: S101 otherwise messages are closed
        await self.store.send_control_request(self.id, Message(text))

    def _take_message(self, message: Message) -> None:
        """Take a stored message; notices report its fate."""
        try:
            self._refuse_unreadable(message.text)
        except InvalidInput as error:
            if self._log is not None and not self._messages_closed:
                self._log.drop(message)
            self.notify(f"a message was not passed on: {error}", level="warn")
        else:
            if self._keep_message(message):
                self.notify(f"you: {message.text}")

    def _keep_message(self, message: Message) -> bool:
        """Keep a message for the next turn, here or in a nested run; False if it is already known."""
        if message.id in self._known_messages:
            return False
        self._known_messages.add(message.id)
        self._unread.append(message)
        return True

    def take_messages(self) -> list[Message]:
        """Return the messages since the last call, to this run or to the runs around it."""
        around = self.parent.take_messages() if self.parent else []
        said, self._unread = self._unread, []
        return around + said

    def close_messages(self) -> None:
        """Report the messages that no model read, and take no more: the run ends."""
        said, self._unread = self._unread, []
        for message in said:
            self.notify(f"no model read your message: {message.text}", level="warn")
        self._messages_closed = True
        self._messages_open.set()

    def _refuse_unreadable(self, text: str) -> None:
        if not text.strip():
            raise InvalidInput("there is nothing to say; add the message")
        if self._messages_closed:
            raise InvalidInput("the run is ending; no model reads messages any more")
        if not self.takes_turns:
            raise InvalidInput(
                f"the run reads no messages: the model of the adapter {self.adapter.name!r} does not work "
                "with tools, so it takes no turns between which it could be told something"
            )
