"""Runs workflows: starts, steps, gates, pauses, cancels, and always reports an end."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

from tideate_core.engine.ending import conclude, words_of
from tideate_core.engine.events import Event, EventName
from tideate_core.engine.execution import Execution, RunRequest, WorkflowResult
from tideate_core.engine.inputs import check_inputs
from tideate_core.engine.step import StepRun
from tideate_core.errors import InvalidInput, MissingStepHandler, RunNotFound, StepFailed, TideateError
from tideate_core.machines import ExecutionEvent
from tideate_core.workflows import Confirm, Declined, dependency_graph

if TYPE_CHECKING:
    from collections.abc import Callable

    from tideate_core.adapters import Adapter, AdapterPool, Reply
    from tideate_core.config import Config
    from tideate_core.engine.confirmation import FrontEnd
    from tideate_core.workflows import PromptLibrary, Registration, WorkflowRegistry
    from tideate_core.workspace import Workspace

__all__ = ["WorkflowRunner"]


class WorkflowRunner:
    """Several runs at once, each with its own lifecycle, task and result.

    :param workspace: called once for a run.
    """

    def __init__(
        self,
        registry: WorkflowRegistry,
        adapters: AdapterPool,
        config: Config,
        front: FrontEnd,
        workspace: Callable[[RunRequest], Workspace],
        prompts: PromptLibrary,
    ) -> None:
        self.registry = registry
        self._adapters = adapters
        self._config = config
        self._front = front
        self._workspace = workspace
        self._prompts = prompts
        self._running: dict[str, Execution] = {}

    @property
    def running(self) -> list[Execution]:
        """The runs under way, newest first."""
        return list(reversed(self._running.values()))

    async def run(self, request: RunRequest) -> WorkflowResult:
        """Run a workflow to its end. Failures are results, not exceptions.

        :raises asyncio.CancelledError: the caller was cancelled; the run is, too.
        """
        begun = time.monotonic()
        try:
            registration = self.registry.get(request.name)
            execution = Execution(request, registration.definition)
            if request.execution_id in self._running:
                raise InvalidInput(f"a run with the id {request.execution_id!r} is under way")
            check_inputs(registration.definition, request, self._config.limits)
        except TideateError as error:
            return self._refused(request, error, begun)
        task = asyncio.create_task(self._drive(execution, registration), name=f"run {execution.id}")
        execution.task = task
        self._running[execution.id] = execution
        cancelled = await _outlast(task)
        try:
            await execution.close()
        finally:
            del self._running[execution.id]
            event, result = conclude(execution, task)
            self._front.emit(event)
        if cancelled:
            raise asyncio.CancelledError
        return result

    def cancel(self, execution_id: str | None = None) -> list[str]:
        """Cancel a run, or all of them; returns the ids.

        :raises RunNotFound: nothing of this id is running.
        """
        runs = [self._get(execution_id)] if execution_id else list(self._running.values())
        for execution in runs:
            if execution.task:
                execution.task.cancel()
        return [execution.id for execution in runs]

    def pause(self, execution_id: str) -> None:
        """Stop a run before its next step.

        :raises RunNotFound: nothing of this id is running.
        """
        execution = self._get(execution_id)
        execution.pause()
        last = len(execution.results) + 1 >= len(execution.definition.steps)
        words = "no step is left to pause before" if last else "pauses before the next step"
        self._emit(execution, EventName.NOTICE, step=execution.step, message=words, level="info")

    def resume(self, execution_id: str) -> None:
        """Let a paused run go on.

        :raises RunNotFound: nothing of this id is running.
        """
        self._get(execution_id).resume()

    async def ask(self, execution_id: str, step: str, prompt: str, system: str = "") -> Reply:
        """Ask a run's adapter for a handler that lives in the front end.

        :raises RunNotFound: nothing of this id is running.
        """
        from tideate_core.adapters import Prompt

        execution = self._get(execution_id)
        return await execution.own(self._step(execution, step).ask(Prompt(prompt, system)))

    def _get(self, execution_id: str) -> Execution:
        try:
            return self._running[execution_id]
        except KeyError:
            raise RunNotFound(execution_id) from None

    def _refused(self, request: RunRequest, error: TideateError, begun: float) -> WorkflowResult:
        duration = round((time.monotonic() - begun) * 1000)
        data = {"name": request.name, "error": str(error), "error_code": error.code, "duration_ms": duration}
        self._front.emit(Event(EventName.WORKFLOW_FAILED, request.execution_id, data))
        return WorkflowResult(
            request.execution_id,
            request.name,
            ok=False,
            error=str(error),
            error_code=error.code,
            duration_ms=duration,
        )

    async def _drive(self, execution: Execution, registration: Registration) -> None:
        machine = execution.machine
        adapter = self._adapter(execution)
        machine.require(ExecutionEvent.INITIATE_WORKFLOW)
        machine.require(ExecutionEvent.WORKFLOW_PARSED)
        machine.require(ExecutionEvent.WORKFLOW_VALID)
        execution.graph = dependency_graph(registration.definition.steps)
        machine.require(ExecutionEvent.GRAPH_BUILT)
        machine.require(ExecutionEvent.STEPS_SCHEDULED)
        steps = [step for batch in execution.graph.execution_order for step in batch]
        self._emit(
            execution,
            EventName.WORKFLOW_STARTED,
            name=execution.definition.name,
            steps=steps,
            adapter=adapter.name,
            demonstration=adapter.demonstration,
            prompt=execution.request.prompt,
        )
        for index, step in enumerate(steps, start=1):
            if execution.pause_wanted:
                self._emit(execution, EventName.WORKFLOW_PAUSED, step=step)
                await execution.paused()
                self._emit(execution, EventName.WORKFLOW_RESUMED, step=step)
            machine.require(ExecutionEvent.EXECUTE_STEP_BATCH)
            await self._run_step(execution, registration, step, index, len(steps))
            machine.require(ExecutionEvent.BATCH_COMPLETED)
        machine.require(ExecutionEvent.RESULTS_AGGREGATED)

    async def _run_step(
        self, execution: Execution, registration: Registration, step: str, index: int, total: int
    ) -> None:
        execution.step = step
        place = {"step": step, "index": index, "total": total}
        begun = time.monotonic()
        self._emit(execution, EventName.STEP_STARTED, **place)
        try:
            value = await self._handle(execution, registration, step)
        except Exception as error:
            duration = round((time.monotonic() - begun) * 1000)
            declined = isinstance(error, Declined)
            if not declined:
                execution.failed.add(step)
                execution.machine.require(ExecutionEvent.STEP_FAILED)
                self._emit(execution, EventName.STEP_FAILED, **place, **words_of(error))
            self._emit(
                execution,
                EventName.STEP_EXECUTED,
                step=step,
                success=False,
                declined=declined,
                duration_ms=duration,
            )
            raise
        duration = round((time.monotonic() - begun) * 1000)
        execution.results[step] = value
        execution.machine.require(ExecutionEvent.STEP_COMPLETED)
        self._emit(execution, EventName.STEP_COMPLETED, **place, duration_ms=duration, result=value)
        self._emit(execution, EventName.STEP_EXECUTED, step=step, success=True, duration_ms=duration)

    async def _handle(self, execution: Execution, registration: Registration, step: str) -> Any:
        handler = registration.handlers.get(step)
        if handler is None:
            raise MissingStepHandler(step, execution.definition.name)
        context = self._step(execution, step)
        outcome = await handler(context)
        _check_json(step, outcome.value if isinstance(outcome, Confirm) else outcome)
        if not isinstance(outcome, Confirm):
            return outcome
        if not self._gated(execution):
            return outcome.value
        decision = await context.confirm(
            outcome.kind, outcome.message, details=outcome.details, payload=outcome.payload
        )
        if not decision.accepted:
            raise Declined(decision.reason)
        return outcome.value if decision.value is None else decision.value

    def _gated(self, execution: Execution) -> bool:
        configured = self._config.workflows.get(execution.definition.name)
        wishes = (
            execution.request.require_confirmation,
            configured.require_confirmation if configured else None,
            execution.definition.require_confirmation,
        )
        return next(wish for wish in wishes if wish is not None)

    def _adapter(self, execution: Execution) -> Adapter:
        name = execution.request.adapter or self._config.adapter_for(execution.definition.name)
        return self._adapters.get(name)

    def _step(self, execution: Execution, step: str) -> StepRun:
        return StepRun(
            execution,
            step,
            adapter=self._adapter(execution),
            front=self._front,
            workspace=self._workspace(execution.request),
            prompts=self._prompts,
            limits=self._config.limits,
        )

    def _emit(self, execution: Execution, event: EventName, /, **data: Any) -> None:
        self._front.emit(Event(event, execution.id, data))


async def _outlast(task: asyncio.Task[None]) -> bool:
    """Wait for a task's end; cancel it, and go on waiting, as often as the caller is cancelled."""
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
            task.cancel()
    return cancelled


def _check_json(step: str, value: Any) -> None:
    """Refuse what cannot be stored or sent (a step's output must be serializable)."""
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise StepFailed(f"step {step!r} returned what is no JSON value: {error}") from error
