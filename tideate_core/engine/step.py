"""Execution of one step: permission, attempts, retries, result and events."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.context.context import Context
from tideate_core.engine.driver import Settled
from tideate_core.engine.events import ConfirmationRequest, EventName, error_fields, failure_fields
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
    StepFailed,
    StoreError,
    ToolNotPermitted,
    UnknownAdapter,
    UnknownServer,
    UnknownTool,
    UnknownWorkflow,
    UnusableSchema,
)
from tideate_core.machines import ExecutionEvent
from tideate_core.store import DEPTH, is_deeper
from tideate_core.workflows import Confirm, Declined, StepContext, persons_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from jsonschema.exceptions import ValidationError

    from tideate_core.engine.driver import Work
    from tideate_core.engine.run import Run
    from tideate_core.workflows import WorkflowStep

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
"""Errors that another attempt would raise again."""

LONGEST_BACK_OFF: Final = 60_000
"""Milliseconds between two attempts at most, unless a provider asks for more."""

MOST_LISTED: Final = 5
"""Mistakes listed in one error."""
_encode = json.JSONEncoder(allow_nan=False).encode
LONGEST_REASON: Final = 300
"""Characters of one mistake: a value may be of any length, and jsonschema repeats it."""


class TaskExecutor:
    """Executes the steps of one run and reports them; the step loop chooses the next step."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._recorder = run.recorder
        self._attempts = run.recorded.attempts if run.recorded else {}
        """Failed attempts of earlier processes, by step."""
        self._interrupted = run.recorded.running if run.recorded else frozenset[str]()
        """Steps that were running when an earlier process ended."""
        self._begun: dict[str, float] = {}
        """Time at which running steps began, of the monotonic clock."""

    async def execute(self, work: Work) -> tuple[Settled, Exception | None, Context | None]:
        """Execute a step; return how it ended, its error if it failed, and the context of its last attempt.

        :raises Declined: the person declined.
        :raises StoreError: it cannot be recorded.
        :raises Exception: a machine's state could not even begin.
        """
        contexts: list[Context] = []
        try:
            if (skipped := await self._enter(work, contexts)) is not None:
                return skipped, None, contexts[0]
            attempt = self._attempts.get(work.step, 0) + 1
            while True:
                if attempt > 1:
                    contexts.append(Context(self._run, work.step, attempt, work.step_definition))
                await self._recorder.started(work, attempt)
                try:
                    value = await self._attempt(work, contexts[-1])
                except Exception as error:  # noqa: BLE001 raised again if there is no next attempt
                    await self._before_next(work, attempt, error)
                    attempt += 1
                else:
                    return self._completed(work, value, contexts), None, contexts[-1]
        except Declined:
            self._report_time(work, success=False, declined=True)
            raise
        except StoreError:
            raise  # a step that cannot be recorded has not failed
        except Exception as error:
            # a state is not entered only to fail in it
            if work.step not in self._begun and work.step_definition is None:
                raise
            return self._failed(work, error, contexts), error, contexts[-1] if contexts else None

    async def _enter(self, work: Work, contexts: list[Context]) -> Settled | None:
        """Begin a step that is wanted and permitted; return the end of one that is skipped.

        :param contexts: receives the context of the first attempt.
        """
        interrupted = work.step in self._interrupted
        if interrupted and not work.idempotent:
            await self._confirm_second_run(work)
        # the questions before a step belong to its first attempt, so that a later one does not ask again
        first = Context(self._run, work.step, 1, work.step_definition)
        contexts.append(first)
        if not wanted(work, first):
            when = work.step_definition.when if work.step_definition else None
            return self.skip(work, f"its condition does not hold: {when}")
        if self._run.gated:
            await self._permit(work, first)
        self._begin(work, interrupted=interrupted)
        return None

    def skip(self, work: Work, reason: str) -> Settled:
        """Report that a step is not executed."""
        self._recorder.event(EventName.STEP_SKIPPED, {**work.event_data, "reason": reason})
        return Settled(work.step, "skipped")

    async def _permit(self, work: Work, context: StepContext) -> None:
        """Ask the person before the step starts, if the driver or the definition wants that."""
        question, step = work.question, work.step_definition
        if question is not None:
            decision = await context.confirm(
                "gate", question.message, details=question.details, payload=question.payload
            )
            _accept(decision.accepted, decision.reason)
        if step is not None and step.confirm is not None:
            # imported here: templates are slow to load and rarely needed
            from tideate_core.workflows import render_task

            decision = await context.confirm("gate", render_task(step.confirm, context.values()))
            _accept(decision.accepted, decision.reason)

    def _begin(self, work: Work, *, interrupted: bool) -> None:
        run = self._run
        if interrupted:
            with self._recorder.silenced():  # the driver reported it in an earlier process
                run.driver.begin_step(work)
        else:
            run.driver.begin_step(work)
        run.begun.add(work.step)
        self._recorder.status(run.machine.state, work.step)
        self._recorder.event(EventName.STEP_STARTED, work.event_data)
        self._begun[work.step] = time.monotonic()

    async def _attempt(self, work: Work, context: Context) -> Any:
        step = work.step_definition
        timeout = step.timeout if step is not None else None
        outcome = await self._run.task_group.handle(
            work.step, work.handler(context), timeout, context.abandon
        )
        value = outcome.value if isinstance(outcome, Confirm) else outcome
        value = check_result(work, value)
        if not isinstance(outcome, Confirm) or not self._run.gated:
            return value
        decision = await context.confirm(
            outcome.kind, outcome.message, details=outcome.details, payload=outcome.payload
        )
        _accept(decision.accepted, decision.reason)
        return value if decision.value is None else decision.value

    async def _before_next(self, work: Work, attempt: int, error: Exception) -> None:
        """Wait until the next attempt is due.

        :raises Exception: the error, if there is no next attempt.
        """
        step = work.step_definition
        if step is None or attempt > step.retries or isinstance(error, FATAL):
            raise error
        wait = wait_before(step, attempt, error)
        data = {**work.event_data, "attempt": attempt, "wait_ms": wait, **failure_fields(error)}
        self._run.memory.failed(work.step, attempt, str(error) if isinstance(error, OutputMismatch) else "")
        self._recorder.event(EventName.STEP_RETRYING, data)
        await asyncio.sleep(wait / 1000)

    def _completed(self, work: Work, value: Any, contexts: list[Context]) -> Settled:
        duration = self._elapsed(work)
        settled = _with_totals(Settled(work.step, "completed", value, duration_ms=duration), contexts)
        self._run.move(ExecutionEvent.STEP_COMPLETED)
        data = {**work.event_data, "duration_ms": settled.duration_ms, "result": value}
        self._recorder.event(EventName.STEP_COMPLETED, data)
        self._report_time(work, success=True)
        return settled

    def _failed(self, work: Work, error: Exception, contexts: list[Context]) -> Settled:
        if work.step not in self._begun:
            self._begin(work, interrupted=False)
        self._run.move(ExecutionEvent.STEP_FAILED)
        self._recorder.event(
            EventName.STEP_FAILED, {**work.event_data, **failure_fields(error), **_refused_at(error)}
        )
        duration = self._elapsed(work)
        self._report_time(work, success=False, declined=False)
        settled = Settled(work.step, "failed", **error_fields(error), duration_ms=duration)
        return _with_totals(settled, contexts)

    def _elapsed(self, work: Work) -> int:
        """Return the milliseconds since the step began."""
        return round((time.monotonic() - self._begun[work.step]) * 1000)

    def _report_time(self, work: Work, **end: bool) -> None:
        """Report how long the step took, if it began; it runs no longer."""
        if work.step in self._begun:
            data = {"step": work.step, "duration_ms": self._elapsed(work), **end}
            del self._begun[work.step]
            self._recorder.event(EventName.STEP_EXECUTED, data)

    async def _confirm_second_run(self, work: Work) -> None:
        """Ask whether to repeat a step that must not run twice; each crash is a question of its own.

        :raises Declined: the person declined.
        """
        from tideate_core.engine.recovery import leftover_notice, restored_notices

        run, name = self._run, self._run.definition.name
        message = (
            f"{name}: the process ended while the step {work.step!r} was running. It may have done its work, "
            "and says of itself that it must not be done twice. Run it again?"
        )
        request = ConfirmationRequest(run.id, name, work.step, "gate", message, work.task, None)
        place = {"step": work.step, "kind": "gate"}
        self._recorder.event(EventName.CONFIRMATION_REQUIRED, {**place, "message": message})
        with persons_time():
            decision = await run.front.confirm(request)
        self._recorder.event(EventName.CONFIRMATION_ANSWERED, {**place, "accepted": decision.accepted})
        _accept(decision.accepted, decision.reason)
        assert run.recorded is not None  # noqa: S101 the step was interrupted in an earlier process
        left: list[str] = []
        restored = await run.workspace.rollback_unfinished_steps(
            run.id, run.recorded.finished, only=work.step, on_left=left.append
        )
        leftovers = (leftover_notice(file, work.step) for file in left)
        for notice in (*restored_notices(restored, work.step), *leftovers):
            self._recorder.event(EventName.NOTICE, notice)


def wanted(work: Work, context: StepContext) -> bool:
    """Tell whether the condition of a step holds."""
    step = work.step_definition
    if step is None or step.when is None:
        return True
    # here, because templates are slow to load and rarely needed
    from tideate_core.workflows import evaluate, holds

    return holds(evaluate(step.when, context.values()))


def wait_before(step: WorkflowStep, attempt: int, error: Exception) -> int:
    """Return the milliseconds between a failed attempt and the next.

    :param attempt: the number of the failed one, from 1.
    """
    back_off: int = min(step.retry_delay << (attempt - 1), LONGEST_BACK_OFF)
    asked = error.retry_after if isinstance(error, RateLimited) else None
    return max(back_off, round((asked or 0) * 1000))


def check_result(work: Work, value: Any) -> Any:
    """Check a step's result, and return it as a resumed run would read it: text keys, sequences as lists.

    :raises StepFailed: the result is not a JSON value, or nested too deeply.
    :raises OutputMismatch: it does not match the step's schema.
    """
    text = check_json(work.step, value)
    plain = json.loads(text) if isinstance(value, dict | list | tuple) else value
    step = work.step_definition
    if step is not None and step.output_schema is not None and not is_checked(value):
        check_output(step, plain)
    return plain


def _with_totals(settled: Settled, contexts: list[Context]) -> Settled:
    """Return the end of a step with the usage and the files of all its attempts."""
    if not contexts:
        return settled
    files = dict.fromkeys(path for context in contexts for path in context.files)
    usage = contexts[-1].usage
    if not files and usage == settled.usage:
        return settled
    return replace(settled, usage=usage, files=tuple(files))


def _accept(accepted: bool, reason: str) -> None:
    if not accepted:
        raise Declined(reason)


def _refused_at(error: Exception) -> dict[str, Any]:
    """Return the place of a refused edit as a quickfix entry."""
    if not isinstance(error, EditConflict) or not error.path:
        return {}
    from tideate_core.toolchain import Failure

    return {"entries": [Failure(error.path, error.line, None, str(error), tool="edit").as_json()]}


class CheckedMapping(dict[str, Any]):
    """A result that was checked against the step's schema where it was made."""


class CheckedList(list[Any]):
    """Results of a list's items, each checked against the step's schema."""


def is_checked(value: Any) -> bool:
    """Tell whether a result was already checked against the schema."""
    return isinstance(value, CheckedMapping | CheckedList)


def check_json(name: str, value: Any) -> str:
    """Return a result as JSON text.

    :raises StepFailed: it is not a JSON value, or nested too deeply.
    """
    try:
        text = _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise StepFailed(f"step {name!r} returned a value that is not JSON: {error}") from error
    # cheaper than measuring the depth of every result
    if text.count("[") + text.count("{") > DEPTH and is_deeper(value, DEPTH):
        raise StepFailed(f"step {name!r} returned a value nested deeper than {DEPTH} levels; flatten it")
    return text


def check_output(step: WorkflowStep, value: Any) -> None:
    """Check a step's result against its `output_schema`; with `for_each`, check every item.

    :raises OutputMismatch: it does not match; names the JSON path and the reason of each mistake.
    :raises InvalidDefinition: the schema is invalid.
    """
    if step.output_schema is None:
        return
    if step.for_each is None or not isinstance(value, list):
        check_value(step, value)
        return
    for index, item in enumerate(value):
        if not (step.continue_on_error and is_error(item)):
            check_value(step, item, at=f"$[{index}]")


def check_value(step: WorkflowStep, value: Any, *, at: str = "$") -> None:
    """Check one value against the step's `output_schema`.

    :param at: the JSON path of the value.
    :raises OutputMismatch: it does not match.
    :raises InvalidDefinition: the schema is invalid.
    """
    if step.output_schema is None or is_checked(value):
        return
    found = _mistakes(step, value, MOST_LISTED + 1)
    if not found:
        return
    listed = [f"{at}{mistake.json_path[1:]}: {_brief(mistake.message)}" for mistake in found[:MOST_LISTED]]
    if len(found) > MOST_LISTED:
        listed.append("and more")
    raise OutputMismatch(
        f"the result of step {step.id!r} does not fit its output_schema: {'; '.join(listed)}"
    )


def is_error(value: Any) -> bool:
    """Tell whether an item of a result is the error of a failed item."""
    return isinstance(value, dict) and value.keys() == {"error", "error_code"}


def _mistakes(step: WorkflowStep, value: Any, most: int) -> list[ValidationError]:
    # imported here: slow to load, and few steps have a schema
    from tideate_core.util.json_schemas import check_schema, mistakes_in

    try:
        schema = step.output_schema or {}
        if wrong := _checked(_Schema(schema), check_schema):
            raise InvalidDefinition(f"step {step.id!r}: its output_schema is not a JSON Schema: {wrong}")
        return mistakes_in(value, schema, most)
    except UnusableSchema as error:
        raise InvalidDefinition(f"step {step.id!r}: its output_schema cannot be used: {error}") from error


class _Schema:
    """Cache key of a schema: its identity, as definitions are frozen."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Schema) and other.schema is self.schema


@lru_cache(maxsize=64)
def _checked(key: _Schema, check: Callable[[Any], ValidationError | None]) -> str:
    """Return the mistake in a schema itself; empty if it is valid."""
    wrong = check(key.schema)
    return "" if wrong is None else f"{wrong.json_path}: {_brief(wrong.message)}"


def _brief(message: str) -> str:
    if len(message) <= LONGEST_REASON:
        return message
    half = LONGEST_REASON // 2
    return f"{message[:half]} … {message[-half:]}"
