"""What a workflow is, before it runs."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from tideate_core.errors import InvalidDefinition

__all__ = ["RESERVED_NAMES", "Needs", "WorkflowDefinition", "WorkflowStep", "check_name"]

RESERVED_NAMES = frozenset(
    {
        *("cancel", "pause", "resume", "status", "list", "history", "show", "graph", "review", "rollback"),
        *("retry", "context", "tools", "log", "trust", "install", "output", "health"),
    }
)
"""Subcommands of `:Workflow`; a workflow may not take such a name."""

Needs = Literal["prompt", "text", "lines", "place"]
"""What a run cannot do without: a prompt, a text, or a text that may be changed; `place` is where lines go,
a new buffer if there is none."""

LONGEST_NAME: Final = 100
NAME_PATTERN: Final = r"^[A-Za-z_][\w.-]*$"

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=NAME_PATTERN)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True)


class WorkflowStep(_Part):
    """One step; the limits are those of document 5's schema."""

    id: Name
    name: str = Field(default="", max_length=200)
    dependencies: tuple[str, ...] = ()


class WorkflowDefinition(_Part):
    """A named set of steps, and what a run of it needs."""

    name: Name
    description: str = Field(default="", max_length=1000)
    version: str = "1.0.0"
    steps: tuple[WorkflowStep, ...] = Field(min_length=1)
    needs: tuple[Needs, ...] = ()
    require_confirmation: bool = True
    """Ask the person where a step's result wants a confirmation."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.name in RESERVED_NAMES:
            raise ValueError(f"{self.name!r} is a subcommand of :Workflow; choose another name")
        seen: set[str] = set()
        for step in self.steps:
            if step.id in seen:
                raise ValueError(f"step {step.id!r} is listed twice")
            seen.add(step.id)
        return self

    @property
    def step_names(self) -> tuple[str, ...]:
        """The ids of the steps, in the order of the definition."""
        return tuple(step.id for step in self.steps)

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
