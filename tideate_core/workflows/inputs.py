"""The inputs that a workflow declares, and which values fit them."""

from __future__ import annotations

import math
from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from tideate_core.workflows.steps import LONGEST_NAME, Flag, Part

__all__ = ["WORDS", "InputDefinition", "InputName", "InputType", "shown"]

InputType = Literal["string", "integer", "number", "boolean", "array", "object"]
InputName = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=r"^[A-Za-z_]\w*$")]

WORDS: Final[dict[InputType, str]] = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
}


class InputDefinition(Part):
    """One input; without a default it has to be given, unless `required` is false: then it is null."""

    type: InputType = Field(default="string", description="What kind of value it is.")
    description: str = Field(default="", max_length=1000, description="What it is for, in a line.")
    default: Any = Field(default=None, description="Its value where none is given.")
    required: Flag = Field(
        default=True, description="Whether a run has to be given it; by default if it has no default."
    )
    enum: tuple[Any, ...] | None = Field(default=None, min_length=1, description="The values it may have.")

    @model_validator(mode="before")
    @classmethod
    def _required_by_default(cls, data: Any) -> Any:
        if isinstance(data, dict) and "required" not in data:
            return {**data, "required": data.get("default") is None}
        return data

    def problem_with(self, value: Any) -> str:
        """Say why a value does not fit: `must be a whole number, not a text`; an empty string if it does."""
        if not _fits(self.type, value):
            return f"must be {WORDS[self.type]}, not {shown(value)}"
        if self.enum is not None and not any(_same(value, known) for known in self.enum):
            return f"must be one of {', '.join(map(repr, self.enum))}, not {value!r}"
        return ""


def shown(value: Any) -> str:
    """Name the kind of a JSON value in words."""
    if value is None:
        return "nothing"
    for kind in ("boolean", "string", "integer", "number", "array", "object"):
        if _fits(kind, value):
            return "true or false" if kind == "boolean" else WORDS[kind]
    return f"a {type(value).__name__}"


def _fits(kind: InputType, value: Any) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        case "array":
            return isinstance(value, list | tuple)
        case "object":
            return isinstance(value, dict)


def _same(one: Any, other: Any) -> bool:
    # to Python, True is 1
    return one == other and isinstance(one, bool) == isinstance(other, bool)
