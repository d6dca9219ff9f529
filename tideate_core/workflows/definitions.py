"""What a workflow is, before it runs."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID  # noqa: TC003 - pydantic reads it

from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from tideate_core.errors import InvalidDefinition
from tideate_core.workflows.inputs import InputDefinition, InputName, InputType
from tideate_core.workflows.steps import (
    DEFAULT_AGENT,
    KNOWN_AGENTS,
    LONGEST_NAME,
    NAME_PATTERN,
    STEP_KINDS,
    Flag,
    ForEach,
    Name,
    NestedWorkflow,
    Part,
    StepKind,
    ToolCall,
    WorkflowStep,
)

__all__ = [
    "DEFAULT_AGENT",
    "KNOWN_AGENTS",
    "LONGEST_NAME",
    "MOST_CONCURRENT",
    "RESERVED_NAMES",
    "STEP_KINDS",
    "ForEach",
    "InputDefinition",
    "InputType",
    "Needs",
    "NestedWorkflow",
    "StepKind",
    "ToolCall",
    "WorkflowDefinition",
    "WorkflowStep",
    "check_name",
]

RESERVED_NAMES = frozenset(
    {
        *("cancel", "pause", "resume", "status", "list", "history", "show", "graph", "review", "rollback"),
        *("retry", "context", "tools", "log", "trust", "install", "output", "health", "checkpoint"),
        "snapshot",
    }
)
"""Subcommands of `:Workflow`; a workflow may not take such a name."""

Needs = Literal["prompt", "text", "lines", "place"]
"""What a run cannot do without: a prompt, a text, or a text that may be changed; `place` is where lines go,
a new buffer if there is none."""

MOST_CONCURRENT: Final = 64


class WorkflowDefinition(Part):
    """A named set of steps, and what a run of it needs.

    `name` is how it is called, for a file its stem; `title` is what people are shown.
    """

    name: Name
    title: str = Field(default="", max_length=200, description="Shown to people; by default the name.")
    id: UUID | None = Field(default=None, description="A UUID that tools may know the workflow by.")
    description: str = Field(default="", max_length=1000, description="What it is for, in a line.")
    version: Annotated[str, Field(min_length=1, max_length=100)] = Field(
        default="1.0.0", description="Yours to count; text, so in quotes where it looks like a number."
    )
    inputs: dict[InputName, InputDefinition] = Field(
        default_factory=dict, description="What a run is given, by name; templates have it as `inputs.NAME`."
    )
    context: dict[str, Any] = Field(
        default_factory=dict, description="Values for templates, as `context.NAME`."
    )
    metadata: dict[str, Any] = Field(default_factory=dict, description="Yours: kept, not looked at.")
    needs: tuple[Needs, ...] = Field(default=(), description="What a run cannot do without.")
    require_confirmation: Flag = Field(
        default=True, description="Whether a person is asked where a step's result wants it."
    )
    concurrency: Annotated[int, Field(strict=True, ge=1, le=MOST_CONCURRENT)] | None = Field(
        default=None, description="How many steps may run at the same time; by default the configured limit."
    )
    steps: tuple[WorkflowStep, ...] = Field(min_length=1, description="What is done, in any order.")

    @model_validator(mode="before")
    @classmethod
    def _titled(cls, data: Any) -> Any:
        if isinstance(data, dict) and not data.get("title") and isinstance(data.get("name"), str):
            return {**data, "title": data["name"]}
        return data

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.name in RESERVED_NAMES:
            raise ValueError(f"{self.name!r} is a subcommand of :Workflow; choose another name")
        seen: set[str] = set()
        for step in self.steps:
            if step.id in seen:
                raise PydanticCustomError("step_twice", "step {id} is listed twice", {"id": repr(step.id)})
            seen.add(step.id)
        return self

    @property
    def step_names(self) -> tuple[str, ...]:
        """The ids of the steps, in the order of the definition."""
        return tuple(step.id for step in self.steps)

    def as_text(self) -> str:
        """Return it as JSON: the same for two that differ only in layout, comments or the order of keys."""
        shape = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return json.dumps(shape, sort_keys=True, separators=(",", ":"))

    @classmethod
    def chain(cls, name: str, steps: list[str], **rest: Any) -> Self:
        """Make a workflow whose steps run one after another (REQ-WORK-001).

        :raises InvalidDefinition: with every mistake, one a line.
        """
        try:
            links = [
                {"id": step, "name": step, "dependencies": steps[i - 1 : i] if i else []}
                for i, step in enumerate(steps)
            ]
            return cls.model_validate({"name": name, "steps": links, **rest})
        except ValidationError as error:
            raise InvalidDefinition(_explain(name, error)) from error


def check_name(name: str, before: str = "", after: str = "; choose another name") -> None:
    """Check that a workflow may be called so.

    :param before: where the name stands, for the message.
    :param after: what to do about it.
    :raises InvalidDefinition: it is no name, or a subcommand of `:Workflow`.
    """
    if name in RESERVED_NAMES:
        raise InvalidDefinition(f"{before}{name!r} is a subcommand of :Workflow{after}")
    if len(name) > LONGEST_NAME:
        raise InvalidDefinition(f"{before}a workflow's name has at most {LONGEST_NAME} characters{after}")
    # `fullmatch`: to `re`, `$` is also before a final newline
    if not re.fullmatch(NAME_PATTERN, name):
        raise InvalidDefinition(
            f"{before}{name!r} is no name for a workflow (a letter or _, then letters, digits, _ . -){after}"
        )


def _explain(name: str, error: ValidationError) -> str:
    lines = []
    for mistake in error.errors(include_url=False):
        where = ".".join(str(part) for part in mistake["loc"])
        lines.append(f"workflow {name!r}{f', {where}' if where else ''}: {mistake['msg']}")
    return "\n".join(lines)
