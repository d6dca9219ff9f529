"""Templates inside the values of a definition: a tool's arguments, a workflow's inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tideate_core.errors import InvalidDefinition
from tideate_core.util.deadline import Deadline
from tideate_core.workflows import LIMITS, evaluate, render_task

__all__ = ["render_value"]

_ONE_EXPRESSION: Final = re.compile(r"\{\{(?P<expression>(?:(?!\{\{|\}\}|\{%).)+)\}\}", re.DOTALL)


def render_value(value: Any, values: Mapping[str, Any]) -> Any:
    """Fill in all texts of a JSON value.

    A text that is one `{{ expression }}` and nothing else becomes what that gives, so that a number stays a
    number and a list a list.

    :param values: what templates see.
    :raises InvalidDefinition: a text is wrong, or they take too much time or room.
    """
    return _rendered(value, values, Deadline(LIMITS.filling_all_seconds))


def _rendered(value: Any, values: Mapping[str, Any], deadline: Deadline) -> Any:
    if isinstance(value, str):
        if deadline.is_over:
            raise InvalidDefinition(
                f"filling in all templates takes more than {LIMITS.filling_all_seconds:.0f} s; use fewer"
            )
        one = _ONE_EXPRESSION.fullmatch(value.strip())
        return evaluate(one["expression"].strip("-"), values) if one else render_task(value, values)
    if isinstance(value, Mapping):
        return {key: _rendered(item, values, deadline) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rendered(item, values, deadline) for item in value]
    return value
