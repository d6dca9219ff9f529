"""Definitions of workflows: a graph of steps, or a machine of states."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self
from uuid import UUID  # noqa: TC003 - pydantic reads it

from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from tideate_core.errors import InvalidDefinition, InvalidInput, did_you_mean
from tideate_core.workflows.step_definition import (
    LONGEST_NAME,
    NAME_PATTERN,
    Flag,
    InputDefinition,
    InputName,
    Name,
    Part,
    WorkflowStep,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tideate_core.machines.language import MachineDefinition, Obfuscator

RESERVED_NAMES = frozenset(
    {
        *("cancel", "pause", "resume", "status", "list", "history", "show", "graph", "review", "rollback"),
        *("retry", "context", "tools", "log", "trust", "install", "output", "health", "checkpoint", "pick"),
        *("snapshot", "model", "login", "say", "compare", "export", "fork", "diff", "commit", "guard"),
        "inbox",
    }
)
"""Subcommands of `:Workflow`, which no workflow may be called."""

Needs = Literal["prompt", "text", "lines", "place"]
"""Inputs that a run requires: a prompt, a text, or a text that may be changed; `place` is a position for new
lines, in a new buffer if there is none."""

MOST_CONCURRENT: Final = 64


class WorkflowDefinition(Part):
    """A named set of steps, with the inputs of a run.

    `name` is the identifier, for a file its stem; `title` is shown to people.
    """

    name: Name
    title: str = Field(default="", max_length=200, description="Shown to people; by default the name.")
    id: UUID | None = Field(default=None, description="A UUID for other tools.")
    description: str = Field(default="", max_length=1000, description="Purpose, in one line.")
    version: Annotated[str, Field(min_length=1, max_length=100)] = Field(
        default="1.0.0", description="Your own version; a text, so quote it if it looks like a number."
    )
    inputs: dict[InputName, InputDefinition] = Field(
        default_factory=dict, description="Inputs of a run by name, for templates as `inputs.NAME`."
    )
    context: dict[str, Any] = Field(
        default_factory=dict, description="Values for templates, as `context.NAME`."
    )
    metadata: dict[str, Any] = Field(
        default_factory=dict, description="Your own data, stored and otherwise ignored."
    )
    needs: tuple[Needs, ...] = Field(default=(), description="Required context of a run.")
    require_confirmation: Flag = Field(
        default=True, description="Whether a person is asked if a step's result needs confirmation."
    )
    concurrency: Annotated[int, Field(strict=True, ge=1, le=MOST_CONCURRENT)] | None = Field(
        default=None, description="Maximum number of parallel steps; by default the configured limit."
    )
    steps: tuple[WorkflowStep, ...] = Field(min_length=1, description="Steps, in any order.")

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
        """Return canonical JSON: equal for definitions that differ only in layout, comments or key order."""
        shape = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return json.dumps(shape, sort_keys=True, separators=(",", ":"))

    @classmethod
    def chain(cls, name: str, steps: list[str], **rest: Any) -> Self:
        """Make a workflow that runs its steps in sequence.

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


@dataclass(frozen=True, slots=True)
class MachineWorkflow:
    """A machine that can run under a name.

    :param path: the file it was read from.
    :param confirm: states that need the person's confirmation before they are entered.
    :param takes: names of the inputs that its runs accept.
    :param tools: tool names by state, for models that can call tools; `""` holds the default for states
        without an entry.
    :param obfuscator: set if `machine` has tokens in place of names.
    :raises InvalidDefinition: the name is reserved or invalid, or `confirm` names an unknown state.
    """

    name: str
    machine: MachineDefinition
    description: str = ""
    path: Path | None = None
    confirm: frozenset[str] = frozenset()
    require_confirmation: bool = True
    needs: tuple[Needs, ...] = ()
    obfuscator: Obfuscator | None = field(default=None, repr=False)
    takes: tuple[str, ...] = ("confirm",)
    tools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_name(self.name)
        # a built-in machine makes its states on demand
        stray = sorted(self.confirm - self.machine.states.keys()) if self.confirm else []
        if stray:
            raise InvalidDefinition(
                f"workflow {self.name!r} asks for a confirmation, but has no state {stray[0]!r}"
                f"{did_you_mean(stray[0], self.machine.states)}"
            )

    @property
    def step_names(self) -> tuple[str, ...]:
        """The states in the order of their first mention; a run may visit them in any order."""
        return tuple(self.machine.states)

    def state_named(self, name: str) -> str:
        """Return this definition's name of a state.

        :param name: a state's name or, in an obfuscated definition, its token.
        :raises InvalidInput: with the nearest state; an obfuscated definition reveals only tokens.
        """
        if name in self.machine.states:
            return name
        if self.obfuscator and name in self.obfuscator.tokens:
            return self.obfuscator.token(name)
        raise InvalidInput(
            f"workflow {self.name!r} has no state {name!r}{did_you_mean(name, self.machine.states)}"
            f" (states: {', '.join(self.machine.states)})"
        )

    def obfuscated(self, obfuscator: Obfuscator) -> MachineWorkflow:
        """Return the workflow with tokens in place of all names that may leave the machine."""
        return replace(
            self,
            machine=obfuscator.definition(),
            description=obfuscator.hide(self.description),
            confirm=frozenset(obfuscator.token(name) for name in self.confirm),
            obfuscator=obfuscator,
            tools={},  # output of tools contains the hidden names
        )


def check_name(name: str, before: str = "", after: str = "; choose another name") -> None:
    """Check a workflow's name.

    :param before: location of the name, for the message.
    :param after: remedy, for the message.
    :raises InvalidDefinition: the name is invalid or a subcommand of `:Workflow`.
    """
    if name in RESERVED_NAMES:
        raise InvalidDefinition(f"{before}{name!r} is a subcommand of :Workflow{after}")
    if len(name) > LONGEST_NAME:
        raise InvalidDefinition(f"{before}a workflow's name has at most {LONGEST_NAME} characters{after}")
    # `fullmatch`: `$` also matches before a final newline
    if not re.fullmatch(NAME_PATTERN, name):
        raise InvalidDefinition(
            f"{before}{name!r} is not a workflow name (a letter or _, then letters, digits, _ . -){after}"
        )


def _explain(name: str, error: ValidationError) -> str:
    lines = []
    for mistake in error.errors(include_url=False):
        where = ".".join(str(part) for part in mistake["loc"])
        lines.append(f"workflow {name!r}{f', {where}' if where else ''}: {mistake['msg']}")
    return "\n".join(lines)
