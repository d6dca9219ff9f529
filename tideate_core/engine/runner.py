"""Runs workflows: starts, steps, gates, pauses, cancels, and always reports an end."""

from __future__ import annotations

import asyncio
import json
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from tideate_core.engine.drivers import driver_for
from tideate_core.engine.ending import conclude, words_of
from tideate_core.engine.events import Event, EventName
from tideate_core.engine.execution import Execution, RunRequest, WorkflowResult
from tideate_core.engine.inputs import check_inputs
from tideate_core.engine.step import StepRun
from tideate_core.errors import InvalidInput, RunNotFound, StepFailed, TideateError
from tideate_core.machines import ExecutionEvent
from tideate_core.workflows import Confirm, Declined

if TYPE_CHECKING:
    from collections.abc import Callable

    from tideate_core.adapters import Adapter, AdapterPool, Reply
    from tideate_core.config import Config
    from tideate_core.engine.confirmation import FrontEnd
    from tideate_core.engine.work import Work
    from tideate_core.workflows import PromptLibrary, Registration
    from tideate_core.workspace import Workspace

__all__ = ["WorkflowRunner"]


class Workflows(Protocol):
    """Where workflows are found by name: a `WorkflowRegistry`, or a `Catalog` with files beside it."""

    def get(self, name: str, *, obfuscate: bool = False) -> Registration: ...


class WorkflowRunner:
    """Several runs at once, each with its own lifecycle, task and result.

    :param workspace: called once for a run.
    """

    def __init__(
        self,
        registry: Workflows,
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
        begun, name = time.monotonic(), request.name
        try:
            registration = self.registry.get(name, obfuscate=request.obfuscate)
            name = registration.definition.name
            execution = self._prepared(request, registration)
        except TideateError as error:
            return self._refused(request, name, error, begun)
        task = asyncio.create_task(self._drive(execution), name=f"run {execution.id}")
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
        words = (
            "no step is left to pause before" if execution.driver.at_last else "pauses before the next step"
        )
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

    def _prepared(self, request: RunRequest, registration: Registration) -> Execution:
        """Return a run that can start, as far as can be told before it does.

        :raises TideateError: it cannot; says why.
        """
        if request.execution_id in self._running:
            raise InvalidInput(f"a run with the id {request.execution_id!r} is under way")
        check_inputs(registration.definition, request, self._config.limits)
        driver = driver_for(registration, request, self._config, partial(self._send, request.execution_id))
        return Execution(request, registration.definition, driver)

    def _get(self, execution_id: str) -> Execution:
        try:
            return self._running[execution_id]
        except KeyError:
            raise RunNotFound(execution_id) from None

    def _refused(self, request: RunRequest, name: str, error: TideateError, begun: float) -> WorkflowResult:
        duration = round((time.monotonic() - begun) * 1000)
        data = {"name": name, "error": str(error), "error_code": error.code, "duration_ms": duration}
        self._front.emit(Event(EventName.WORKFLOW_FAILED, request.execution_id, data))
        return WorkflowResult(
            request.execution_id,
            name,
            ok=False,
            error=str(error),
            error_code=error.code,
            duration_ms=duration,
        )

    async def _drive(self, execution: Execution) -> None:
        machine, driver = execution.machine, execution.driver
        adapter = self._adapter(execution)
        machine.require(ExecutionEvent.INITIATE_WORKFLOW)
        machine.require(ExecutionEvent.WORKFLOW_PARSED)
        machine.require(ExecutionEvent.WORKFLOW_VALID)
        driver.prepare()
        machine.require(ExecutionEvent.GRAPH_BUILT)
        machine.require(ExecutionEvent.STEPS_SCHEDULED)
        started = {
            "name": execution.definition.name,
            "adapter": adapter.name,
            "demonstration": adapter.demonstration,
            "prompt": execution.request.prompt,
            **driver.outline(),
        }
        self._emit(execution, EventName.WORKFLOW_STARTED, **started)
        while driver.has_more:
            work = driver.next()
            await self._pause(execution, work)
            machine.require(ExecutionEvent.EXECUTE_STEP_BATCH)
            execution.step = work.step
            await self._permit(execution, work)
            driver.begin(work)
            await self._run_step(execution, work)
            await driver.take(work, execution.results[work.step], self._step(execution, work.step))
            machine.require(ExecutionEvent.BATCH_COMPLETED)
        machine.require(ExecutionEvent.RESULTS_AGGREGATED)

    async def _pause(self, execution: Execution, work: Work) -> None:
        if execution.pause_wanted:
            self._emit(execution, EventName.WORKFLOW_PAUSED, step=work.step)
            await execution.paused()
            self._emit(execution, EventName.WORKFLOW_RESUMED, step=work.step)

    async def _permit(self, execution: Execution, work: Work) -> None:
        """Ask the person before the work starts, where that is wanted."""
        question = work.question
        if question is None or not self._gated(execution):
            return
        decision = await self._step(execution, work.step).confirm(
            "gate", question.message, details=question.details, payload=question.payload
        )
        if not decision.accepted:
            raise Declined(decision.reason)

    async def _run_step(self, execution: Execution, work: Work) -> None:
        begun = time.monotonic()
        self._emit(execution, EventName.STEP_STARTED, **work.place)
        try:
            value = await self._handle(execution, work)
        except Exception as error:
            declined = isinstance(error, Declined)
            if not declined:
                execution.failed.add(work.step)
                execution.machine.require(ExecutionEvent.STEP_FAILED)
                self._emit(execution, EventName.STEP_FAILED, **work.place, **words_of(error))
            self._executed(execution, work, begun, success=False, declined=declined)
            raise
        duration = round((time.monotonic() - begun) * 1000)
        execution.results[work.step] = value
        execution.machine.require(ExecutionEvent.STEP_COMPLETED)
        self._emit(execution, EventName.STEP_COMPLETED, **work.place, duration_ms=duration, result=value)
        self._executed(execution, work, begun, success=True)

    def _executed(self, execution: Execution, work: Work, begun: float, **how: bool) -> None:
        duration = round((time.monotonic() - begun) * 1000)
        self._emit(execution, EventName.STEP_EXECUTED, step=work.step, duration_ms=duration, **how)

    async def _handle(self, execution: Execution, work: Work) -> Any:
        context = self._step(execution, work.step)
        outcome = await work.handler(context)
        _check_json(work.step, outcome.value if isinstance(outcome, Confirm) else outcome)
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
        self._send(execution.id, event, data)

    def _send(self, execution_id: str, event: EventName, data: dict[str, Any]) -> None:
        self._front.emit(Event(event, execution_id, data))


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
