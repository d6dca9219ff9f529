"""Step runner: confirmation, attempts, retries and result of one step, with their events."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.confirmation import ConfirmationRequest
from tideate_core.engine.driver import Settled
from tideate_core.engine.events import EventName
from tideate_core.engine.lifecycle import words_of
from tideate_core.engine.recorded_run import still_there
from tideate_core.errors import (
    AuthenticationFailed,
    ConfigError,
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
from tideate_core.machines import ExecutionEvent, ExecutionState
from tideate_core.workflows import Confirm, Declined, StepContext, persons_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.engine.confirmation import FrontEnd
    from tideate_core.engine.driver import Work
    from tideate_core.engine.memory import Memory
    from tideate_core.engine.recorded_run import Past
    from tideate_core.engine.recording import Recorder
    from tideate_core.engine.run import Execution
    from tideate_core.engine.step_context import StepRun
    from tideate_core.engine.task_group import Crew
    from tideate_core.workflows import WorkflowStep

__all__ = ["ContextOf", "FATAL", "Performer", "TaskExecutor"]


FATAL: Final = (
    AuthenticationFailed,
    ConfigError,
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
"""What another attempt would meet again."""

LONGEST_BACK_OFF: Final = 60_000
"""Milliseconds between two attempts at most, where a provider does not ask for more."""

ContextOf = Callable[[int], StepContext]
"""Makes what a handler is given for an attempt, from 1."""


class TaskExecutor:
    """Runs the steps of one run; knows nothing of their order.

    :param crew: whose tasks call it.
    :param gated: whether a person is asked where a step wants it.
    """

    def __init__(self, recorder: Recorder, memory: Memory, crew: Crew, *, gated: bool) -> None:
        self._recorder = recorder
        self._memory = memory
        self._crew = crew
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

    async def _try(self, work: Work, context: StepContext) -> Any:
        step = work.step_definition
        timeout = step.timeout if step is not None else None
        outcome = await self._crew.handle(work.step, work.handler(context), timeout)
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
        data = {**work.place, "attempt": attempt, "wait_ms": wait, **words_of(error)}
        self._memory.failed(work.step, attempt, str(error) if isinstance(error, OutputMismatch) else "")
        self._recorder.event(EventName.STEP_RETRYING, data)
        await asyncio.sleep(wait / 1000)


def wanted(work: Work, context: StepContext) -> bool:
    """Say whether a step's condition holds."""
    step = work.step_definition
    if step is None or step.when is None:
        return True
    # here, because templates are slow to load and rarely needed
    from tideate_core.workflows import evaluate

    return bool(evaluate(step.when, context.values()))


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
    # here, because the kinds of steps need what this module needs
    from tideate_core.engine.step_output import check_json, check_output

    text = check_json(work.step, value)
    if isinstance(value, dict | list | tuple):
        value = json.loads(text)
    step = work.step_definition
    if step is not None and step.output_schema is not None:
        check_output(step, value)
    return value


def _accept(accepted: bool, reason: str) -> None:
    if not accepted:
        raise Declined(reason)


class Performer:
    """Has a run's steps done, and tells of them; what they are worth is the loop's to say.

    :param past: what earlier processes did of the run, None where it begins.
    """

    def __init__(
        self,
        execution: Execution,
        recorder: Recorder,
        executor: TaskExecutor,
        context_of: Callable[[Work, int], StepRun],
        front: FrontEnd,
        past: Past | None,
    ) -> None:
        self._context_of = context_of
        self._last: dict[str, StepRun] = {}
        """By step that is not handed on yet: what its last attempt was given."""
        self._execution = execution
        self._recorder = recorder
        self._executor = executor
        self._front = front
        self._past = past

    async def perform(self, work: Work) -> tuple[Settled, Exception | None]:
        """Do a step's work; returns how it ended and, of a failed one, its error.

        :raises Declined: the person said no.
        :raises StoreError: it cannot be written down.
        :raises Exception: of a machine's state, it could not even begin.
        """
        doing = _Doing(work, self)
        interrupted = self._past is not None and work.step in self._past.running
        failed_attempts = self._past.attempts.get(work.step, 0) if self._past else 0
        try:
            if interrupted and not work.idempotent:
                await self._ask_again(work)
            settled = await self._executor.execute(
                work,
                doing.context_of,
                partial(self._begin, doing, interrupted),
                failed_attempts=failed_attempts,
            )
        except Exception as error:
            if isinstance(error, Declined):
                self._executed(doing, success=False, declined=True)
                raise
            # what cannot be written down has not failed; a state is not entered only to fail in it
            if isinstance(error, StoreError) or (doing.begun is None and work.step_definition is None):
                raise
            return self._failed(doing, error), error
        return (self._skipped(work) if settled.status == "skipped" else self._done(doing, settled)), None

    def context_of(self, work: Work, attempt: int) -> StepRun:
        """Return what a handler is given for an attempt."""
        self._last[work.step] = context = self._context_of(work, attempt)
        return context

    def context_after(self, work: Work) -> StepRun:
        """Return what is asked with once the work is done."""
        return self._last.get(work.step) or self._context_of(work, 1)

    def release(self, work: Work) -> None:
        """The work was handed on: nothing is asked with its context any more."""
        self._last.pop(work.step, None)

    def skip(self, work: Work, reason: str) -> Settled:
        """Tell that a step is not run."""
        self._recorder.event(EventName.STEP_SKIPPED, {**work.place, "reason": reason})
        return Settled(work.step, "skipped")

    @contextmanager
    def silently(self, silent: bool = True) -> Iterator[None]:
        """Neither write down nor tell what happens meanwhile: it was, before."""
        before, self._recorder.replaying = self._recorder.replaying, silent
        try:
            yield
        finally:
            self._recorder.replaying = before

    def begin(self, work: Work, *, told: bool) -> None:
        """Tell the driver that a step begins.

        :param told: what it says of that was told in an earlier process.
        """
        if told:
            with self.silently():
                self._execution.driver.begin(work)
        else:
            self._execution.driver.begin(work)

    def _begin(self, doing: _Doing, interrupted: bool) -> None:
        self.begin(doing.work, told=interrupted)
        doing.begun = time.monotonic()
        self._recorder.status(ExecutionState.EXECUTING_STEPS, doing.work.step)
        self._recorder.event(EventName.STEP_STARTED, doing.work.place)

    def _done(self, doing: _Doing, settled: Settled) -> Settled:
        settled = doing.summed(settled)
        work, value, duration = doing.work, settled.value, settled.duration_ms
        self._execution.machine.require(ExecutionEvent.STEP_COMPLETED)
        data = {**work.place, "duration_ms": duration, "result": value}
        self._recorder.event(EventName.STEP_COMPLETED, data)
        self._executed(doing, success=True)
        return settled

    def _failed(self, doing: _Doing, error: Exception) -> Settled:
        words = words_of(error)
        if doing.begun is None:
            self._begin(doing, interrupted=False)
        self._execution.machine.require(ExecutionEvent.STEP_FAILED)
        self._recorder.event(EventName.STEP_FAILED, {**doing.work.place, **words})
        self._executed(doing, success=False, declined=False)
        return doing.summed(Settled(doing.work.step, "failed", **words, duration_ms=doing.elapsed_ms))

    def _skipped(self, work: Work) -> Settled:
        when = work.step_definition.when if work.step_definition else None
        return self.skip(work, f"its condition does not hold: {when}")

    def _executed(self, doing: _Doing, **how: bool) -> None:
        if doing.begun is not None:
            data = {"step": doing.work.step, "duration_ms": doing.elapsed_ms, **how}
            self._recorder.event(EventName.STEP_EXECUTED, data)

    async def _ask_again(self, work: Work) -> None:
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
            decision = await self._front.confirm(request)
        self._recorder.event(EventName.CONFIRMATION_ANSWERED, {**place, "accepted": decision.accepted})
        if not decision.accepted:
            raise Declined(decision.reason)
        assert self._past is not None  # noqa: S101 it was interrupted in an earlier process
        left: list[str] = []
        workspace = self._context_of(work, 1).workspace
        await workspace.put_back_unfinished(
            self._execution.id, self._past.finished, only=work.step, on_left=left.append
        )
        for name in left:
            self._recorder.event(EventName.NOTICE, still_there(name, work.step))


class _Doing:
    """A step while it is done: when it began, and what its attempts were given."""

    def __init__(self, work: Work, performer: Performer) -> None:
        self.work = work
        self.begun: float | None = None
        self._contexts: list[StepRun] = []
        self._performer = performer

    @property
    def elapsed_ms(self) -> int:
        return round((time.monotonic() - self.begun) * 1000) if self.begun is not None else 0

    def context_of(self, attempt: int) -> StepRun:
        self._contexts.append(self._performer.context_of(self.work, attempt))
        return self._contexts[-1]

    def summed(self, settled: Settled) -> Settled:
        """Return how it ended with what all its attempts took and changed."""
        if not self._contexts:
            return settled
        files = dict.fromkeys(path for context in self._contexts for path in context.files)
        usage = self._contexts[-1].usage
        if not files and usage == settled.usage:
            return settled
        return replace(settled, usage=usage, files=tuple(files))
