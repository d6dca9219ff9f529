"""Rules for one step: its condition, retries, confirmation, and the checks of its result."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import (
    AuthenticationFailed,
    BudgetReached,
    ConfigError,
    CostLimitReached,
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
from tideate_core.store import DEPTH, is_deeper
from tideate_core.workflows import Confirm, Declined

if TYPE_CHECKING:
    from collections.abc import Callable

    from jsonschema.exceptions import ValidationError

    from tideate_core.engine.driver import Work
    from tideate_core.workflows import Decision, StepContext, WorkflowStep

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


def wanted(step: WorkflowStep, context: StepContext) -> bool:
    """Tell whether the condition of a step holds."""
    if step.when is None:
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


async def confirmed(context: StepContext, outcome: Any, value: Any, *, gated: bool) -> Any:
    """Return a handler's checked value, or the value that the person gave instead.

    :param outcome: the value, or the `Confirm` around it.
    :param gated: the person is asked.
    :raises Declined: the person declined.
    """
    if not isinstance(outcome, Confirm) or not gated:
        return value
    decision = await context.confirm(
        outcome.kind, outcome.message, details=outcome.details, payload=outcome.payload
    )
    accept(decision)
    return value if decision.value is None else decision.value


def accept(decision: Decision) -> None:
    """Continue if the person agreed.

    :raises Declined: the person declined.
    """
    if not decision.accepted:
        raise Declined(decision.reason)


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
