"""What a workflow is, before it runs."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from tideate_core.errors import InvalidDefinition

__all__ = ["RESERVED_NAMES", "Needs", "WorkflowDefinition", "WorkflowStep"]

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

Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z_][\w.-]*$")]


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


def _explain(name: str, error: ValidationError) -> str:
    lines = []
    for mistake in error.errors(include_url=False):
        where = ".".join(str(part) for part in mistake["loc"])
        lines.append(f"workflow {name!r}{f', {where}' if where else ''}: {mistake['msg']}")
    return "\n".join(lines)
