"""Definitions of a step, with its kind and effect, and of an input."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, Self, get_args

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

if TYPE_CHECKING:
    from collections.abc import Collection

LONGEST_NAME: Final = 100
NAME_PATTERN: Final = r"^[A-Za-z_][\w.-]*$"
LONGEST_TEXT: Final = 10_000
"""Characters of a task, a question or an expression."""
LONGEST_WAIT: Final = 7 * 24 * 3_600_000
"""Milliseconds of the longest time in a definition: one week."""

DEFAULT_AGENT: Final = "assistant"
ACP: Final = "acp:"
"""Prefix of an agent that is a program with tools of its own."""
KNOWN_AGENTS: Final = frozenset({DEFAULT_AGENT})
"""Agents that a step may name by default; only `checking` reports others, so stored runs stay readable."""

VALUE_NAMES: Final = ("context", "index", "inputs", "item", "prompt", "steps")
"""Names available to templates and expressions."""
STEP_FIELDS: Final = ("error", "result", "status")
"""Fields of a step available to them."""

StepKind = Literal["agent", "handler", "tool", "workflow", "machine"]
STEP_KINDS: Final[tuple[StepKind, ...]] = get_args(StepKind)

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=NAME_PATTERN)]
Text = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
ToolName = Annotated[str, Field(min_length=1, max_length=300)]
Milliseconds = Annotated[int, Field(strict=True, gt=0, le=LONGEST_WAIT)]
Flag = Annotated[bool, Field(strict=True)]

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


TYPES: Final[dict[InputType, Any]] = {
    "string": str,
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "array": list | tuple,
    "object": dict,
}


class Part(BaseModel):
    """Base of all parts of a definition: keys in camelCase or snake_case, no others."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True, defer_build=True
    )


class ToolCall(Part):
    """A tool of an MCP server; the server is looked for when the step runs."""

    server: str = Field(min_length=1, max_length=100, description="Name of a configured MCP server.")
    name: str = Field(min_length=1, max_length=200, description="Name of the server's tool.")
    arguments: dict[str, Any] = Field(
        default_factory=dict, description="Arguments of the tool; texts are templates."
    )


class NestedWorkflow(Part):
    """Another workflow that runs as this step."""

    name: str = Field(min_length=1, max_length=1000, description="A workflow's name, or the path of a file.")
    prompt: str = Field(
        default="", max_length=LONGEST_TEXT, description="Its prompt, a template; by default this run's."
    )
    inputs: dict[str, Any] = Field(default_factory=dict, description="Its inputs; texts are templates.")


class ForEach(Part):
    """Runs a step once for every item of a list."""

    items: Text = Field(description="An expression that gives a list, such as `steps.plan.result.files`.")
    max_parallel: Annotated[int, Field(strict=True, ge=1, le=64)] | None = Field(
        default=None, description="Maximum number of parallel items; by default the run's limit."
    )


class KindProblem(NamedTuple):
    """A mistake in a step's kind, at a key."""

    key: str
    message: str
    hint: str


_FOR_A_TASK: Final = {
    "agent": ("the step has an agent and no task", "say in `task` what it should do"),
    "context": ("`context` is for a task, and this step has none", "add a `task`"),
    "tools": ("tools are for the model of a task, and this step has none", "add a `task`"),
}


def kind_problems(given: Collection[str]) -> list[KindProblem]:
    """Check that a step has exactly one kind, and only keys that belong to it.

    :param given: the step's keys that have a value, in snake_case.
    """
    kinds = [kind for kind in STEP_KINDS if kind in given]
    found = [
        KindProblem(
            extra,
            f"a step does one thing, and this one names {kinds[0]!r} and {extra!r}",
            "keep one of them, or make two steps",
        )
        for extra in kinds[1:]
    ]
    if "task" not in given:
        found += [KindProblem(key, *words) for key, words in _FOR_A_TASK.items() if key in given]
    elif kinds and "agent" not in kinds:
        message = f"a task is for an agent, and this step is of the kind {kinds[0]!r}"
        found.append(KindProblem("task", message, f"remove `task`, or `{kinds[0]}`"))
    return found


class WorkflowStep(Part):
    """One step of a graph.

    A step does exactly one thing: its `agent` gets a `task`, or it runs a `handler`, a `tool`, a `workflow`
    or a `machine`. With only a task, the agent is the assistant; with none of these keys, the handler
    registered under the step's id runs.
    """

    id: Name = Field(description="Identifier for other steps and for templates.")
    name: str = Field(default="", max_length=200, description="Shown to people; by default the id.")
    agent: Annotated[str, Field(min_length=1, max_length=50)] | None = Field(
        default=None,
        validation_alias=AliasChoices("agent", "agentId", "agent_id"),
        serialization_alias="agentId",
        description="Agent for the task; by default the assistant. `acp:NAME` is a program with tools of its"
        " own, which works in a private copy; the result is a mapping of `response` and `files`.",
    )
    task: Text | None = Field(
        default=None,
        description="Instructions for the agent: a template with `inputs`, `context`, `prompt` and"
        " `steps.ID.result` of earlier steps.",
    )
    context: Literal["auto", "none"] = Field(
        default="auto",
        description="`auto`: the model gets the results of `dependencies` and the workflow's `context`,"
        " unless the task names them; `none`: only the task.",
    )
    tools: tuple[ToolName, ...] = Field(
        default=(),
        max_length=100,
        description="Tools that the agent's model may call, added to the agent file's: tideate's own"
        " and groups (`look`, `files`, `edits`, …), `SERVER/TOOL`, `SERVER/*`. With tools that edit"
        " files, the result is a mapping of `response` and `files`.",
    )
    handler: Name | None = Field(default=None, description="Name of a registered function.")
    tool: ToolCall | None = Field(default=None, description="A tool of an MCP server.")
    workflow: NestedWorkflow | None = Field(default=None, description="Another workflow, by its name.")
    machine: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        default=None, description="A machine, by its name or the path of its `.workflow` file."
    )
    dependencies: tuple[str, ...] = Field(
        default=(), description="Steps that must end before this one starts."
    )
    parallel: Flag = Field(default=True, description="Whether other steps may run at the same time.")
    timeout: Milliseconds | None = Field(
        default=None, description="Time limit of one attempt, in milliseconds."
    )
    duration: Milliseconds | None = Field(
        default=None, description="Usual duration in milliseconds; long paths through the graph run first."
    )
    retries: Annotated[int, Field(strict=True, ge=0, le=10)] = Field(
        default=0, description="Number of further attempts after a failure."
    )
    retry_delay: Annotated[int, Field(strict=True, ge=0, le=60_000)] = Field(
        default=1000,
        description="Milliseconds before the first retry; doubled for each further one, at most 60000.",
    )
    continue_on_error: Flag = Field(
        default=False, description="Whether the run continues if this step fails."
    )
    confirm: Text | None = Field(
        default=None, description="A question to the person before the step starts; a template."
    )
    when: Text | None = Field(default=None, description="An expression; if it is false, the step is skipped.")
    for_each: ForEach | None = Field(
        default=None, description="Runs the step once for every `item` of a list; `index` counts from 0."
    )
    output_schema: dict[str, Any] | None = Field(default=None, description="A JSON Schema for the result.")
    idempotent: Flag = Field(
        default=True, description="Whether it may restart without a question after the process was killed."
    )

    @model_validator(mode="before")
    @classmethod
    def _spelled_out(cls, data: Any) -> Any:
        """Expand short forms and fill in defaults."""
        if not isinstance(data, dict):
            return data
        data = dict(data)
        if not data.get("name") and isinstance(data.get("id"), str):
            data["name"] = data["id"]
        if data.get("task") is not None and not _given(data) & set(STEP_KINDS):
            data["agent"] = DEFAULT_AGENT
        if isinstance(data.get("workflow"), str):
            data["workflow"] = {"name": data["workflow"]}
        for key in ("forEach", "for_each"):
            if isinstance(data.get(key), str):
                data[key] = {"items": data[key]}
        return data

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = {key for key in (*STEP_KINDS, "task") if getattr(self, key) is not None}
        given |= {"tools"} if self.tools else set()
        given |= {"context"} if self.context != "auto" else set()
        for problem in kind_problems(given):
            raise PydanticCustomError("step_kind", "{words}", {"words": f"{problem.message}; {problem.hint}"})
        return self

    @cached_property
    def kind(self) -> StepKind:
        """The kind of worker; `handler` by default."""
        return next((kind for kind in STEP_KINDS if getattr(self, kind) is not None), "handler")

    @property
    def worker(self) -> str:
        """The label of its worker: an agent, or the kind with a name."""
        if self.tool is not None:
            return f"tool {self.tool.server}/{self.tool.name}"
        if self.workflow is not None:
            return f"workflow {self.workflow.name}"
        return self.agent or f"{self.kind} {self.machine or self.handler_name}"

    @property
    def effect(self) -> str:
        """Its action beyond prompting a model, as `run the code of …`; empty if it has none."""
        if self.tool is not None:
            return f"call the tool {self.tool.name!r} of the MCP server {self.tool.server!r}"
        if self.agent and self.agent.startswith(ACP):
            return f"let the agent {self.agent} work in a copy of the project"
        if self.tools:
            return f"let its model use the tools {', '.join(self.tools)}"
        if self.workflow is not None:
            return f"run the workflow {self.workflow.name!r}"
        return f"run the code of the handler {self.handler_name!r}" if self.kind == "handler" else ""

    @property
    def handler_name(self) -> str:
        """The registered handler: the named one, or the one of the step's id."""
        return self.handler or self.id


def _given(data: dict[str, Any]) -> set[str]:
    given = {key for key, value in data.items() if value is not None}
    return given | {"agent"} if given & {"agentId", "agent_id"} else given


class InputDefinition(Part):
    """One input. Without a default it must be given, unless `required` is false: then it is null."""

    type: InputType = Field(default="string", description="Type of the value.")
    description: str = Field(default="", max_length=1000, description="Purpose, in one line.")
    default: Any = Field(default=None, description="Value if none is given.")
    required: Flag = Field(
        default=True, description="Whether a run must provide it; by default true without a default."
    )
    enum: tuple[Any, ...] | None = Field(default=None, min_length=1, description="Allowed values.")

    @model_validator(mode="before")
    @classmethod
    def _required_by_default(cls, data: Any) -> Any:
        if isinstance(data, dict) and "required" not in data:
            return {**data, "required": data.get("default") is None}
        return data

    def problem_with(self, value: Any) -> str:
        """Return why a value does not fit, as `must be a whole number, not a text`; empty if it does."""
        if not _fits(self.type, value):
            return f"must be {WORDS[self.type]}, not {kind_in_words(value)}"
        if self.enum is not None and not any(_same(value, known) for known in self.enum):
            return f"must be one of {', '.join(map(repr, self.enum))}, not {value!r}"
        return ""


def kind_in_words(value: Any) -> str:
    """Return the kind of a JSON value in words."""
    if value is None:
        return "nothing"
    for kind in ("boolean", "string", "integer", "number", "array", "object"):
        if _fits(kind, value):
            return "true or false" if kind == "boolean" else WORDS[kind]
    return f"a {type(value).__name__}"


def _fits(kind: InputType, value: Any) -> bool:
    # in Python, a bool is an int; JSON has no infinite numbers
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        return kind == "boolean" and isinstance(value, bool)
    return isinstance(value, TYPES[kind])


def _same(one: Any, other: Any) -> bool:
    # in Python, True == 1
    return one == other and isinstance(one, bool) == isinstance(other, bool)
