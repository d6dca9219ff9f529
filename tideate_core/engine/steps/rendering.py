"""Templates inside the values of a definition: in a tool's arguments and a workflow's inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tideate_core.workflows.expressions import evaluate, render_task

__all__ = ["render_value"]

_ONE_EXPRESSION: Final = re.compile(r"\{\{(?P<expression>(?:(?!\{\{|\}\}|\{%).)+)\}\}", re.DOTALL)


def render_value(value: Any, values: Mapping[str, Any]) -> Any:
    """Fill in all texts of a JSON value.

    A text that is one `{{ expression }}` and nothing else becomes what that gives, so that a number stays a
    number and a list a list.

    :param values: what templates see.
    """
    if isinstance(value, str):
        one = _ONE_EXPRESSION.fullmatch(value.strip())
        return evaluate(one["expression"].strip("-"), values) if one else render_task(value, values)
    if isinstance(value, Mapping):
        return {key: render_value(item, values) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [render_value(item, values) for item in value]
    return value
