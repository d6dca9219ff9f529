"""Validation of step results: JSON, depth, output schema."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidDefinition, OutputMismatch, StepFailed, UnusableSchema
from tideate_core.store import DEPTH, is_deeper

if TYPE_CHECKING:
    from collections.abc import Callable

    from jsonschema.exceptions import ValidationError

    from tideate_core.workflows import WorkflowStep

__all__ = [
    "CheckedList",
    "CheckedMapping",
    "check_json",
    "check_output",
    "check_value",
    "is_checked",
    "is_error",
]


MOST_LISTED: Final = 5
"""Mistakes that one error names."""
LONGEST_REASON: Final = 300
"""Characters of one mistake: a value may be of any length, and jsonschema repeats it."""


class CheckedMapping(dict[str, Any]):
    """A result whose part that the step's schema is of was held against it where it was made."""


class CheckedList(list[Any]):
    """The same of the items of a loop."""


def is_checked(value: Any) -> bool:
    """Tell whether a result was held against its schema already."""
    return isinstance(value, CheckedMapping | CheckedList)


def check_json(name: str, value: Any) -> str:
    """Refuse what cannot be stored or sent.

    :returns: its text.
    :raises StepFailed: it is no JSON value, or too deep.
    """
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise StepFailed(f"step {name!r} returned what is not a JSON value: {error}") from error
    # few have so many lists and objects at all
    if text.count("[") + text.count("{") > DEPTH and is_deeper(value, DEPTH):
        raise StepFailed(f"step {name!r} returned what is nested deeper than {DEPTH} levels; flatten it")
    return text


def check_output(step: WorkflowStep, value: Any) -> None:
    """Check a step's result against its `output_schema`; of a step with `for_each` that of every item.

    :raises OutputMismatch: it does not fit; names the JSON path and the reason of each mistake.
    :raises InvalidDefinition: the schema is none.
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
    """Check one value.

    :param at: its own JSON path.
    :raises OutputMismatch: it does not fit.
    :raises InvalidDefinition: the schema is none.
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
    """Tell what stands in a result in place of an item that failed."""
    return isinstance(value, dict) and value.keys() == {"error", "error_code"}


def _mistakes(step: WorkflowStep, value: Any, most: int) -> list[ValidationError]:
    # here, because it is slow to load and few steps have a schema
    from tideate_core.util.json_schemas import check_schema, mistakes_in

    try:
        schema = step.output_schema or {}
        if wrong := _checked(_Schema(schema), check_schema):
            raise InvalidDefinition(f"step {step.id!r}: its output_schema is not a JSON Schema: {wrong}")
        return mistakes_in(value, schema, most)
    except UnusableSchema as error:
        raise InvalidDefinition(f"step {step.id!r}: its output_schema cannot be used: {error}") from error


class _Schema:
    """A schema as a cache's key: one of a frozen definition, which stays the object that it is."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Schema) and other.schema is self.schema


@lru_cache(maxsize=64)
def _checked(key: _Schema, check: Callable[[Any], ValidationError | None]) -> str:
    """Say what is wrong with a schema itself."""
    wrong = check(key.schema)
    return "" if wrong is None else f"{wrong.json_path}: {_brief(wrong.message)}"


def _brief(message: str) -> str:
    if len(message) <= LONGEST_REASON:
        return message
    half = LONGEST_REASON // 2
    return f"{message[:half]} … {message[-half:]}"
