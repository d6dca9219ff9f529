"""Does one step's work: asks before it, tries it as often as it may be tried, and checks what comes of it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.ending import words_of
from tideate_core.engine.events import EventName
from tideate_core.engine.work import Settled
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
from tideate_core.workflows import Confirm, Declined, StepContext

if TYPE_CHECKING:
    from tideate_core.engine.crew import Crew
    from tideate_core.engine.memory import Memory
    from tideate_core.engine.recording import Recorder
    from tideate_core.engine.work import Work
    from tideate_core.workflows import WorkflowStep

__all__ = ["FATAL", "ContextOf", "TaskExecutor"]

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
    from tideate_core.engine.steps.output import check_json, check_output

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
