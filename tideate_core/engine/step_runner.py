"""Step runner: confirmation, attempts, retries and result of one step, with their events."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.confirmation import ConfirmationRequest
from tideate_core.engine.driver import Settled
from tideate_core.engine.events import EventName, error_fields, failure_fields
from tideate_core.engine.recovery import leftover_notice, restored_notices
from tideate_core.engine.step_context import StepRun
from tideate_core.engine.step_output import check_json, check_output, is_checked
from tideate_core.errors import (
    AuthenticationFailed,
    BudgetReached,
    ConfigError,
    CostLimitReached,
    EditConflict,
    FrontEndGone,
    InvalidArguments,
    InvalidDefinition,
    InvalidInput,
    MissingStepHandler,
    OutputMismatch,
    RateLimited,
    ServerNotTrusted,
    StoreError,
    ToolNotPermitted,
    UnknownAdapter,
    UnknownServer,
    UnknownTool,
    UnknownWorkflow,
)
from tideate_core.machines import ExecutionEvent
from tideate_core.workflows import Confirm, Declined, StepContext, persons_time

if TYPE_CHECKING:
    from tideate_core.engine.driver import Work
    from tideate_core.engine.memory import Memory
    from tideate_core.engine.recorded_run import RecordedRun
    from tideate_core.engine.recording import Recorder
    from tideate_core.engine.step_context import StepEnvironment
    from tideate_core.engine.task_group import TaskGroup
    from tideate_core.workflows import WorkflowStep

__all__ = ["FATAL", "ContextOf", "StepEnd", "StepRunner", "TaskExecutor"]


FATAL: Final = (
    AuthenticationFailed,
    BudgetReached,
    ConfigError,
    CostLimitReached,
    Declined,
    FrontEndGone,
    InvalidArguments,
    InvalidDefinition,
    InvalidInput,
    MissingStepHandler,
    ServerNotTrusted,
    StoreError,
    ToolNotPermitted,
    UnknownAdapter,
    UnknownServer,
    UnknownTool,
    UnknownWorkflow,
)
"""Errors that another attempt would meet again."""

LONGEST_BACK_OFF: Final = 60_000
"""Milliseconds between two attempts at most, where a provider does not ask for more."""

ContextOf = Callable[[int], "StepRun"]
"""Makes what a handler is given for an attempt, from 1."""


class TaskExecutor:
    """Runs the steps of one run; knows nothing of their order.

    :param task_group: whose tasks call it.
    :param gated: whether a person is asked where a step wants it.
    """

    def __init__(self, recorder: Recorder, memory: Memory, task_group: TaskGroup, *, gated: bool) -> None:
        self._recorder = recorder
        self._memory = memory
        self._task_group = task_group
        self._gated = gated

    async def execute(
        self, work: Work, context_of: ContextOf, begin: Callable[[], None], *, failed_attempts: int = 0
    ) -> Settled:
        """Do the work; returns what came of it, or that it was not wanted.

        :param begin: called when the work is wanted and permitted, before it starts.
        :param failed_attempts: of a process before this one; they count.
        :raises Declined: the person said no.
        :raises Exception: the last attempt's error.
        """
        # the questions before a step belong to its first attempt, so that a later one does not ask again
        first = context_of(1)
        if not wanted(work, first):
            return Settled(work.step, "skipped")
        await self._permit(work, first)
        begin()
        begun = time.monotonic()
        attempt = failed_attempts + 1
        while True:
            context = first if attempt == 1 else context_of(attempt)
            await self._recorder.started(work, attempt)
            try:
                value = await self._try(work, context)
            except Exception as error:  # noqa: BLE001 raised again where there is no next attempt
                await self._before_next(work, attempt, error)
                attempt += 1
            else:
                duration = round((time.monotonic() - begun) * 1000)
                return Settled(work.step, "completed", value, duration_ms=duration)

    async def _permit(self, work: Work, context: StepContext) -> None:
        """Ask the person before the work starts, where that is wanted."""
        if not self._gated:
            return
        question, step = work.question, work.step_definition
        if question is not None:
            decision = await context.confirm(
                "gate", question.message, details=question.details, payload=question.payload
            )
            _accept(decision.accepted, decision.reason)
        if step is not None and step.confirm is not None:
            # here, because templates are slow to load and rarely needed
            from tideate_core.workflows import render_task

            decision = await context.confirm("gate", render_task(step.confirm, context.values()))
            _accept(decision.accepted, decision.reason)

    async def _try(self, work: Work, context: StepRun) -> Any:
        step = work.step_definition
        timeout = step.timeout if step is not None else None
        outcome = await self._task_group.handle(work.step, work.handler(context), timeout, context.leave)
        value = outcome.value if isinstance(outcome, Confirm) else outcome
        value = check_result(work, value)
        if not isinstance(outcome, Confirm) or not self._gated:
            return value
        decision = await context.confirm(
            outcome.kind, outcome.message, details=outcome.details, payload=outcome.payload
        )
        _accept(decision.accepted, decision.reason)
        return value if decision.value is None else decision.value

    async def _before_next(self, work: Work, attempt: int, error: Exception) -> None:
        """Wait for the time of the next attempt.

        :raises Exception: the error, where there is no next one.
        """
        step = work.step_definition
        if step is None or attempt > step.retries or isinstance(error, FATAL):
            raise error
        wait = wait_before(step, attempt, error)
        data = {**work.place, "attempt": attempt, "wait_ms": wait, **failure_fields(error)}
        self._memory.failed(work.step, attempt, str(error) if isinstance(error, OutputMismatch) else "")
        self._recorder.event(EventName.STEP_RETRYING, data)
        await asyncio.sleep(wait / 1000)


def wanted(work: Work, context: StepContext) -> bool:
    """Say whether a step's condition holds."""
    step = work.step_definition
    if step is None or step.when is None:
        return True
    # here, because templates are slow to load and rarely needed
    from tideate_core.workflows import evaluate, holds

    return holds(evaluate(step.when, context.values()))


def wait_before(step: WorkflowStep, attempt: int, error: Exception) -> int:
    """Return how many milliseconds pass between a failed attempt and the next.

    :param attempt: the one that failed, from 1.
    """
    back_off: int = min(step.retry_delay << (attempt - 1), LONGEST_BACK_OFF)
    asked = error.retry_after if isinstance(error, RateLimited) else None
    return max(back_off, round((asked or 0) * 1000))


def check_result(work: Work, value: Any) -> Any:
    """Refuse what cannot be stored or sent, and what is not what the step promises.

    :returns: the value as a resumed run has it: keys are texts, sequences are lists.
    :raises StepFailed: it is no JSON value, or too deep.
    :raises OutputMismatch: it does not fit the step's schema.
    """
    text = check_json(work.step, value)
    plain = json.loads(text) if isinstance(value, dict | list | tuple) else value
    step = work.step_definition
    if step is not None and step.output_schema is not None and not is_checked(value):
        check_output(step, plain)
    return plain


def _accept(accepted: bool, reason: str) -> None:
    if not accepted:
        raise Declined(reason)


@dataclass(frozen=True, slots=True)
class StepEnd:
    """The end of a step in this process."""

    settled: Settled
    error: Exception | None = None
    """Of a failed one."""
    context: StepRun | None = None
    """Of its last attempt, to ask with about what comes next."""


class StepRunner:
    """Has the steps of one run done and reports them; what follows from their ends is the scheduler's.

    :param recorded: what earlier processes did of the run, None where it begins.
    """

    def __init__(
        self, environment: StepEnvironment, executor: TaskExecutor, recorded: RecordedRun | None
    ) -> None:
        self._environment = environment
        self._execution = environment.execution
        self._recorder = environment.recorder
        self._executor = executor
        self._recorded = recorded

    async def run_step(self, work: Work) -> StepEnd:
        """Do a step's work; returns how it ended.

        :raises Declined: the person said no.
        :raises StoreError: it cannot be recorded.
        :raises Exception: of a machine's state, it could not even begin.
        """
        progress = _StepProgress(work, self._environment)
        recorded = self._recorded
        interrupted = recorded is not None and work.step in recorded.running
        try:
            if interrupted and not work.idempotent:
                await self._confirm_second_run(work)
            settled = await self._executor.execute(
                work,
                progress.new_context,
                partial(self._begin, progress, interrupted),
                failed_attempts=recorded.attempts.get(work.step, 0) if recorded else 0,
            )
        except Exception as error:
            if isinstance(error, Declined):
                self._report_time(progress, success=False, declined=True)
                raise
            # what cannot be recorded has not failed; a state is not entered only to fail in it
            if isinstance(error, StoreError) or (progress.begun is None and work.step_definition is None):
                raise
            return StepEnd(self._failed(progress, error), error, progress.last_context)
        if settled.status == "skipped":
            when = work.step_definition.when if work.step_definition else None
            settled = self.skip_step(work, f"its condition does not hold: {when}")
        else:
            settled = self._completed(progress, settled)
        return StepEnd(settled, None, progress.last_context)

    def skip_step(self, work: Work, reason: str) -> Settled:
        """Report that a step is not run."""
        self._recorder.event(EventName.STEP_SKIPPED, {**work.place, "reason": reason})
        return Settled(work.step, "skipped")

    def _begin(self, progress: _StepProgress, interrupted: bool) -> None:
        with self._recorder.silenced(interrupted):  # the driver reported it in an earlier process
            self._execution.driver.begin_step(progress.work)
        progress.begun = time.monotonic()
        self._execution.begun.add(progress.work.step)
        self._recorder.status(self._execution.machine.state, progress.work.step)
        self._recorder.event(EventName.STEP_STARTED, progress.work.place)

    def _completed(self, progress: _StepProgress, settled: Settled) -> Settled:
        settled = progress.totalled(settled)
        self._execution.move(ExecutionEvent.STEP_COMPLETED)
        data = {**progress.work.place, "duration_ms": settled.duration_ms, "result": settled.value}
        self._recorder.event(EventName.STEP_COMPLETED, data)
        self._report_time(progress, success=True)
        return settled

    def _failed(self, progress: _StepProgress, error: Exception) -> Settled:
        words, work = error_fields(error), progress.work
        if progress.begun is None:
            self._begin(progress, interrupted=False)
        self._execution.move(ExecutionEvent.STEP_FAILED)
        self._recorder.event(
            EventName.STEP_FAILED, {**work.place, **failure_fields(error), **_refused_at(error)}
        )
        self._report_time(progress, success=False, declined=False)
        return progress.totalled(Settled(work.step, "failed", **words, duration_ms=progress.elapsed_ms))

    def _report_time(self, progress: _StepProgress, **end: bool) -> None:
        if progress.begun is not None:
            data = {"step": progress.work.step, "duration_ms": progress.elapsed_ms, **end}
            self._recorder.event(EventName.STEP_EXECUTED, data)

    async def _confirm_second_run(self, work: Work) -> None:
        """Ask whether a step that may not run twice does; every crash is a question of its own.

        :raises Declined: it does not.
        """
        name = self._execution.definition.name
        message = (
            f"{name}: the process ended while the step {work.step!r} was running. It may have done its work, "
            "and says of itself that it must not be done twice. Run it again?"
        )
        request = ConfirmationRequest(self._execution.id, name, work.step, "gate", message, work.task, None)
        place = {"step": work.step, "kind": "gate"}
        self._recorder.event(EventName.CONFIRMATION_REQUIRED, {**place, "message": message})
        with persons_time():
            decision = await self._environment.front.confirm(request)
        self._recorder.event(EventName.CONFIRMATION_ANSWERED, {**place, "accepted": decision.accepted})
        _accept(decision.accepted, decision.reason)
        assert self._recorded is not None  # noqa: S101 it was interrupted in an earlier process
        left: list[str] = []
        restored = await self._environment.workspace.rollback_unfinished_steps(
            self._execution.id, self._recorded.finished, only=work.step, on_left=left.append
        )
        told = (leftover_notice(name, work.step) for name in left)
        for notice in (*restored_notices(restored, work.step), *told):
            self._recorder.event(EventName.NOTICE, notice)


class _StepProgress:
    """A step under way: when it began, and the contexts of its attempts."""

    def __init__(self, work: Work, environment: StepEnvironment) -> None:
        self.work = work
        self.begun: float | None = None
        self._environment = environment
        self._contexts: list[StepRun] = []

    @property
    def elapsed_ms(self) -> int:
        return round((time.monotonic() - self.begun) * 1000) if self.begun is not None else 0

    @property
    def last_context(self) -> StepRun | None:
        return self._contexts[-1] if self._contexts else None

    def new_context(self, attempt: int) -> StepRun:
        """Return what the handler is given for an attempt."""
        context = StepRun(self._environment, self.work.step, attempt, self.work.step_definition)
        self._contexts.append(context)
        return context

    def totalled(self, settled: Settled) -> Settled:
        """Return how it ended with the usage and the files of all its attempts."""
        if not self._contexts:
            return settled
        files = dict.fromkeys(path for context in self._contexts for path in context.files)
        usage = self._contexts[-1].usage
        if not files and usage == settled.usage:
            return settled
        return replace(settled, usage=usage, files=tuple(files))


def _refused_at(error: Exception) -> dict[str, Any]:
    """Return the place of an edit that was refused, as an entry of the quickfix list."""
    if not isinstance(error, EditConflict) or not error.path:
        return {}
    from tideate_core.toolchain import Failure

    return {"entries": [Failure(error.path, error.line, None, str(error), tool="edit").as_json()]}
