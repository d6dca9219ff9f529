"""A tool of the work loop: name, description for a model, arguments, effect, function."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from tideate_core.adapters import OfferedTool
from tideate_core.errors import ToolError, WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from tideate_core.agents.staged_files import StagedFiles
    from tideate_core.workflows import StepContext

Effect: TypeAlias = Literal["reads", "stages", "runs"]
"""Effect of a tool: only reads; changes staged files in memory; runs a program of the project."""


MayChange: TypeAlias = "Callable[[Sequence[str]], Awaitable[str]]"
"""Is given the paths of a change; returns the ones that may not change, with reasons; empty if all may."""


class Arguments(BaseModel):
    """Arguments of a tool; descriptions of fields are written for a model."""

    # built on first use: a step uses few of the tools
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_surrogates(cls, given: Any) -> Any:
        try:
            json.dumps(given, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ValueError("half a character (a lone surrogate) is not valid text") from error
        return given


A = TypeVar("A", bound=Arguments)
NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Context of a call: its step, and the files with the run's staged edits."""

    step: StepContext
    staged: StagedFiles
    may_change: MayChange | None = None
    """Called before the first staged edit of a file."""


@dataclass(frozen=True)
class WorkTool(Generic[A]):
    """One row of the table of tools."""

    name: str
    """Letters, digits and `_`."""
    description: str
    """For a model: purpose, result, and when to use another tool."""
    arguments: type[A]
    effect: Effect
    work: Callable[[ToolContext, A], Awaitable[str]]
    """Return the result for the model; raise `ToolError` with advice for it."""
    hides_secrets: bool = False
    """The tool hides secrets itself: a person may have agreed to show some of them."""
    needs_editor: bool = False
    """The tool is offered only in a running Neovim."""
    fit: Callable[[ToolContext, WorkTool[A]], WorkTool[A] | None] | None = None
    """Adapts the tool to the project; None if it cannot run there; blocking."""
    fitted: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)
    """Changes of arguments' schemas for this project; None: not offered, and refused by the tool."""

    @cached_property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments, reduced to the parts that a model needs."""
        return lean_schema(self.arguments, self.fitted)

    def parse(self, given: Any) -> A:
        """Validate a model's arguments; a number above the maximum is replaced by it.

        :raises ToolError: the arguments are invalid; names them.
        """
        try:
            return self.arguments.model_validate(given)
        except ValidationError as error:
            largest = {
                one["loc"][0]: one["ctx"]["le"]
                for one in error.errors(include_url=False)
                if one["type"] == "less_than_equal" and len(one["loc"]) == 1
            }
            if largest:
                return self.parse({**given, **largest})
            wrong = "; ".join(
                f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg'].lower()}"
                for one in error.errors(include_url=False)
            )
            raise ToolError(f"{self.name}: {wrong}") from error


def lean_schema(
    shape: type[BaseModel], fitted: Mapping[str, Mapping[str, Any] | None] = NOTHING
) -> dict[str, Any]:
    """Return a short JSON Schema for a model; each turn sends it.

    :param fitted: changes by property; None removes it.
    """
    schema = shape.model_json_schema()
    parts = {f"#/$defs/{name}": part for name, part in schema.get("$defs", {}).items()}
    for name, change in fitted.items():
        given = schema["properties"].pop(name)
        if change is not None:
            schema["properties"][name] = {**given, **change}
    lean: dict[str, Any] = _lean(schema, parts)
    return lean


def _lean(schema: Any, parts: Mapping[str, Any]) -> Any:
    """Remove parts of a schema that a model does not need: titles, checked bounds, defaults.

    Nullable values become optional, and references are replaced by their definitions.

    :param parts: definitions by reference.
    """
    if isinstance(schema, list):
        return [_lean(one, parts) for one in schema]
    if not isinstance(schema, dict):
        return schema
    schema = parts.get(schema.get("$ref", ""), schema)
    if len(kinds := [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]) == 1:
        schema = {**kinds[0], **{key: schema[key] for key in schema.keys() - {"anyOf", "default"}}}
    lean = {key: _lean(value, parts) for key, value in schema.items() if key not in _LEFT_OUT}
    if "properties" in schema:
        # an argument of earlier versions is still understood
        given = {name: value for name, value in schema["properties"].items() if not value.get("hidden")}
        lean["properties"] = {name: _lean(value, parts) for name, value in given.items()}
    lean.pop("default", None)
    if schema.get("minItems") == schema.get("maxItems") is not None:
        lean |= {"minItems": schema["minItems"], "maxItems": schema["maxItems"]}
    if lean.get("type") == "object":
        lean.pop("description", None)
    return lean


_BOUNDS: Final = (
    *("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"),
    *("exclusiveMinimum", "exclusiveMaximum"),
)
_LEFT_OUT: Final = frozenset({"title", "properties", "$defs", "additionalProperties", *_BOUNDS})


async def fit_tools(tools: Iterable[WorkTool[Any]], context: ToolContext) -> list[WorkTool[Any]]:
    """Return tools adapted to the project; tools that cannot run there are left out."""
    fitted = [await asyncio.to_thread(one.fit, context, one) if one.fit else one for one in tools]
    return [one for one in fitted if one is not None]


def offer_tools(tools: Iterable[WorkTool[Any]], context: ToolContext) -> list[OfferedTool]:
    """Return tools for a model, bound to a step; errors become results for the model."""
    return [
        OfferedTool(
            one.name,
            one.description,
            one.schema,
            _call(one, context),
            parallel=one.effect == "reads",
            failed=_FAILED.get(one.effect),
        )
        for one in tools
    ]


_FAILED: Final[Mapping[str, re.Pattern[str]]] = {
    "stages": re.compile(r"\Aerror:"),
    "runs": re.compile(
        r"^\w+ (?!passed)[a-z ]+: `(?s:.{1,2000}?) in \d+\.\d s, on a scratch copy", re.MULTILINE
    ),
}
"""Patterns of failed results by effect; a check that cannot run does not count as failed."""


def _call(tool: WorkTool[Any], context: ToolContext) -> Callable[[dict[str, Any], str], Awaitable[str]]:
    def shown(text: str) -> str:
        return text if tool.hides_secrets else str(context.step.hide_secrets(text))

    async def call(arguments: dict[str, Any], _key: str) -> str:
        with context.step.report_call(tool.name, arguments) as report:
            try:
                text = shown(await tool.work(context, tool.parse(arguments)))
            except (ToolError, WorkspaceError) as error:
                report.failed = shown(str(error))
                return f"error: {report.failed}"
            except OSError as error:  # a model's path may be invalid on this system
                report.failed = error.strerror or str(error)
                return f"error: {report.failed}; nothing was done"
            report.size, report.result = len(text), text
            return text

    return call
