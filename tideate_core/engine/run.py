"""Run: its request, its execution with pause and cancellation, its result."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import Counter
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from tideate_core.adapters import Usage
from tideate_core.engine.events import EventName
from tideate_core.engine.outgoing import Outgoing, texts_in
from tideate_core.engine.state import StateManager, about
from tideate_core.machines import ExecutionEvent, ExecutionMachine, ExecutionMetrics, ExecutionState
from tideate_core.workflows import RunContext

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping

    from tideate_core.engine.driver import Driver, Settled
    from tideate_core.engine.recording import Recorder
    from tideate_core.errors import TideateError
    from tideate_core.store import Message
    from tideate_core.workflows import MachineWorkflow, WorkflowDefinition

__all__ = ["TAKE_OVER_AFTER", "Execution", "RunMachine", "RunRequest"]


T = TypeVar("T")

TAKE_OVER_AFTER: Final = 10.0
"""Seconds without a heartbeat after which a run of another machine may be taken over."""


class RunRequest(BaseModel):
    """A person's request for a run, as the editor and the shell send it."""

    model_config = ConfigDict(extra="forbid")

    name: str
    prompt: str = ""
    context: RunContext = Field(default_factory=RunContext)
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    options: dict[str, JsonValue] = Field(default_factory=dict)
    adapter: str | None = None
    require_confirmation: bool | None = None
    """None: as the configuration or the workflow says."""
    step: str | None = None
    """The only step of a graph that is wanted, with those that it depends on; None: all."""
    obfuscate: bool = False
    """Nobody outside sees the names of a machine's states."""
    memory: bool = True
    """Send the project's memory, unless the configuration turns it off."""
    continues: str | None = None
    """The run whose conversation this one goes on with: its id, the beginning of it, or `last` for the newest
    that has one."""
    turn: int | None = None
    """The turn of that conversation after which it goes on; None: the last."""
    compared: dict[str, str] = Field(default_factory=dict)
    """Of an attempt of a comparison: the models of all of them, by their runs' ids."""
    execution_id: str = Field(default_factory=lambda: uuid.uuid4().hex, pattern=r"^[0-9a-f]{32}$")

    def inheriting(self, parent: RunRequest) -> RunRequest:
        """Return this request with what it leaves open as it is in the run that it is within."""
        open_keys = ("adapter", "require_confirmation")
        own = {key: getattr(parent, key) for key in open_keys if getattr(self, key) is None}
        return self.model_copy(update={**own, "memory": self.memory and parent.memory})


class RunMachine(ExecutionMachine):
    """The lifecycle of one run after the other; its guards ask what drives the run, once that is known."""

    def __init__(self) -> None:
        self.driver: Driver | None = None
        self.failed: set[str] = set()
        """Steps that the run does not go on without."""
        super().__init__(
            {
                # a driver is known by then, but of a text whose steps have no order
                "has_steps": lambda: self.driver is None or self.driver.has_steps,
                "has_graph": lambda: self.driver is not None and self.driver.prepared,
                "has_more_batches": lambda: self.driver is not None and self.driver.has_more,
                "has_fatal_failure": lambda: bool(self.failed),
                "all_settled": lambda: self.driver is not None and not self.driver.has_more,
            }
        )

    def _restart(self) -> None:
        super()._restart()
        self.driver = None
        self.failed.clear()


class Execution:
    """A run while it lasts. Its lifecycle is the execution table's; nobody else keeps one.

    :param inputs: the request's, checked against what the workflow declares, with its defaults.
    :param around: the run that this one is a step of.
    :param machine: as the preparation left it.
    """

    def __init__(
        self,
        request: RunRequest,
        definition: WorkflowDefinition | MachineWorkflow,
        driver: Driver,
        inputs: Mapping[str, Any] | None = None,
        around: Execution | None = None,
        machine: RunMachine | None = None,
    ) -> None:
        self.request = request
        self.id = request.execution_id
        self.definition = definition
        self.driver = driver
        self.inputs: Mapping[str, Any] = inputs if inputs is not None else request.inputs
        self.results: dict[str, Any] = {}
        """Results of the steps; of a failed one that the run goes on without, its error."""
        self.settled: dict[str, Settled] = {}
        """Ends of all steps that have ended, in their order."""
        self.begun: set[str] = set()
        """Steps that have started here, those that have ended included."""
        self.files: list[str] = []
        self.executed: dict[str, dict[str, str]] = {}
        """Of them those that other tools run by themselves, each `path` and `reason`, by path."""
        self.usage = Usage()
        self.cost_under_way = 0.0
        """US dollars that requests may cost that are not answered yet."""
        self.warned: set[str] = set()
        """Warnings that are not repeated at every step."""
        self.step: str | None = None
        self.task: asyncio.Task[Any] | None = None
        self.stopped_by: TideateError | None = None
        """The reason that its task was cancelled, where that was nobody's request."""
        self.cancel_wanted = False
        self.left = False
        """Its process leaves it, to be resumed by another."""
        self.elapsed_before = 0
        """Milliseconds that it took in processes that had it before this one."""
        self.takeover_after = TAKE_OVER_AFTER
        """Seconds, for the runs within it as for itself."""
        self.on_resume: Callable[[], None] | None = None
        """Called when it is resumed while steps are under way."""
        self._around = around
        self._within: set[Execution] = set()
        self._children: set[asyncio.Task[Any]] = set()
        self._started = time.monotonic()
        self._messages: list[Message] = []
        self._said: set[int] = set()  # numbers of all messages: several may find one in the store
        self.places: Counter[str] = Counter()
        """Items of a list that are worked on side by side, by their step."""
        self._waiting: Counter[str] = Counter()
        """How often a step stands still within because a pause is wanted: its items do so each on its own."""
        self._pause_wanted = False
        self._go_on = asyncio.Event()
        self.on_state: Callable[[ExecutionState], None] | None = None
        """Called when its state changes."""
        self.machine = machine or RunMachine()
        self.machine.driver = driver

    @cached_property
    def state(self) -> StateManager:
        """The values that the templates of its steps see."""
        own = getattr(self.definition, "context", {})  # a machine has none
        given = self.request.context.model_extra or {}
        context = {**about(self.request.context), **own, **given}
        return StateManager(self.inputs, context, self.settled, self.request.prompt)

    @cached_property
    def outgoing(self) -> Outgoing:
        """The filter of what models are sent; that of the outermost run counts.

        The inputs of a run within may be words of others.
        """
        typed = [self.request.prompt, *texts_in(dict(self.request.inputs))]
        return Outgoing(typed)

    @property
    def failed(self) -> set[str]:
        """Steps that the run does not go on without."""
        return self.machine.failed

    def move(self, event: ExecutionEvent) -> None:
        """Follow an event of its lifecycle.

        :raises InvalidTransition: it is not allowed now.
        """
        if self._is_checkpointing and not self.machine.can_transition(event):
            self.move(ExecutionEvent.CHECKPOINT_CREATED)  # the run goes on while it is being written
        before = self.machine.state
        self.machine.require(event)
        if self.on_state is not None and self.machine.state is not before:
            self.on_state(self.machine.state)

    async def checkpoint(self, write: Awaitable[T]) -> T:
        """Return a checkpoint once it is written; until then a run that may is in `creating_checkpoint`."""
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
        """The run's state; while a checkpoint is written, the state before."""
        return self.machine.get_history()[-1].from_state if self._is_checkpointing else self.machine.state

    def begin_completion(self) -> None:
        """Follow that the end of a run that succeeded is being written, with its summary."""
        if self.machine.state is ExecutionState.AGGREGATING_RESULTS:
            self.machine.require(ExecutionEvent.COMPLETE_WORKFLOW)

    def complete(self) -> None:
        """Follow that all of that is written; the store knows it by the run's end."""
        if self.machine.state is ExecutionState.AGGREGATING_RESULTS:
            self.machine.require(ExecutionEvent.RESULTS_AGGREGATED)

    @property
    def elapsed_ms(self) -> int:
        return self.elapsed_before + round((time.monotonic() - self._started) * 1000)

    @property
    def pause_wanted(self) -> bool:
        return self._pause_wanted

    def drive_with(self, task: asyncio.Task[Any]) -> None:
        """Be driven by a task from now on, paused and resumed with the run around."""
        self.task = task
        if self._around is not None:
            self._around._within.add(self)
            if self._around.pause_wanted:
                self.pause()

    def metrics(self, checkpoints: int) -> ExecutionMetrics:
        """Return the numbers of the run as it stands.

        :param checkpoints: how many there are of it.
        """
        graph = self.driver.graph()
        ended = {step: settled.status for step, settled in self.settled.items()}
        usage = self.usage
        # what was under way when the run ended has failed, as the store has it
        begun = "failed" if self.machine.is_terminal() else "running"
        return ExecutionMetrics.of(
            dict.fromkeys(self.begun, begun) | ended,
            graph.execution_order if graph else (),
            checkpoints=checkpoints,
            duration_ms=self.elapsed_ms,
            tokens=(usage.input_tokens, usage.output_tokens, usage.cost),
        )

    @property
    def outermost(self) -> Execution:
        """The run that this one is, directly or not, a step of; itself if it is none."""
        return self if self._around is None else self._around.outermost

    def committed_cost(self) -> float:
        """Return US dollars that are spent or under way, as far as prices are known, in runs within, too."""
        own = (self.usage.cost or 0.0) + self.cost_under_way
        return own + sum(execution.committed_cost() for execution in self._within)

    def cancel(self) -> None:
        """Cancel everything that is under way."""
        self.cancel_wanted = True
        if self.task is not None:
            self.task.cancel()

    async def leave(self) -> NoReturn:
        """Stop without an end, from within a step: the run can be resumed."""
        self.left = True
        self.cancel()
        await asyncio.Event().wait()
        raise AssertionError  # the task of the step is cancelled

    def pause(self) -> None:
        """Stop before the next step, in the runs within it, too; the steps that run are finished first."""
        self._pause_wanted = True
        self._go_on.clear()
        for execution in self._within:
            execution.pause()

    def resume(self) -> None:
        """Go on, now or, where the pause has not come yet, without it."""
        self._pause_wanted = False
        self._go_on.set()
        if self.on_resume is not None:
            self.on_resume()
        for execution in self._within:
            execution.resume()

    def settle(self, settled: Settled) -> None:
        """Keep how a step ended for those after it."""
        self.settled[settled.step] = settled
        if settled.status == "completed":
            self.results[settled.step] = settled.value

    def go_on_without(self, settled: Settled) -> None:
        """Give those after a failed step its error as its result."""
        self.results[settled.step] = {"error": settled.error, "error_code": settled.error_code}

    async def run_owned(self, work: Coroutine[Any, Any, T]) -> T:
        """Do work that ends with the run at the latest."""
        task = asyncio.ensure_future(work)
        self._children.add(task)
        task.add_done_callback(self._children.discard)
        return await task

    async def close(self) -> None:
        """End what a handler left behind."""
        if self._around is not None:
            self._around._within.discard(self)
        for task in self._children:
            task.cancel()
        await asyncio.gather(*self._children, return_exceptions=True)

    def say(self, message: Message) -> bool:
        """Give the next model that works, here or in a run within, a message; tells whether it is new."""
        if message.id in self._said:
            return False
        self._said.add(message.id)
        self._messages.append(message)
        return True

    def take_messages(self) -> list[Message]:
        """Return what the person said since the last call, to this run or to those around it."""
        return (self._around.take_messages() if self._around else []) + self.take_own_messages()

    def take_own_messages(self) -> list[Message]:
        """Return what the person said to this run, and nobody took."""
        said, self._messages = self._messages, []
        return said

    async def wait_if_paused(self, step: str, recorder: Recorder) -> None:
        """Wait, within a step, until a wanted pause is lifted; at once where none is wanted.

        :param step: of an item of a list with `[0]`.
        """
        whole = step.partition("[")[0]
        while self._pause_wanted:  # again, where one was wanted before this one woke
            self._waiting[whole] += 1
            try:
                await self.pause_if_still(recorder)
                await self.resumed()
            finally:
                self._waiting[whole] -= 1
            if self.is_paused:
                self.move(ExecutionEvent.RESUME_WORKFLOW)
                recorder.event(EventName.WORKFLOW_RESUMED, {"step": step})

    @asynccontextmanager
    async def place(self, step: str, recorder: Recorder) -> AsyncIterator[None]:
        """Have items of a step's list worked off, side by side with others that are."""
        self.places[step] += 1
        try:
            yield
        finally:
            self.places[step] -= 1
        await self.pause_if_still(recorder)

    async def pause_if_still(self, recorder: Recorder) -> None:
        """Be paused, where a pause is wanted and every step that is under way stands still within."""
        under_way = [step for step in self.begun if step not in self.settled]
        still = all(self._waiting[step] >= max(1, self.places[step]) for step in under_way)
        if self._pause_wanted and under_way and still and not self.is_paused:
            self.move(ExecutionEvent.PAUSE_WORKFLOW)
            await recorder.durable_event(EventName.WORKFLOW_PAUSED, {"step": under_way[0], "within": True})

    @property
    def is_paused(self) -> bool:
        """It stands before a step until it is resumed."""
        return self.state_without_checkpoint is ExecutionState.PAUSED

    async def resumed(self) -> None:
        """Wait until a paused run is resumed."""
        await self._go_on.wait()
