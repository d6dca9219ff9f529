"""Agent steps: a role works on a task with its tools until it hands in a result."""

from __future__ import annotations

import asyncio
import json
from functools import cached_property, partial
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Final

from tideate_core.agents import (
    Delegation,
    Roles,
    Submission,
    TaskBrief,
    guarded_agent,
    open_stage,
    render_task_prompt,
)
from tideate_core.edits import fence_for, fenced_blocks
from tideate_core.engine.agent_work import work_and_land
from tideate_core.engine.context.context import about
from tideate_core.engine.prompt_material import before, brief, material_budget, tell_truncated, with_material
from tideate_core.engine.review.review import write_staged
from tideate_core.engine.step import CheckedMapping, check_value
from tideate_core.errors import OutputMismatch, UnusableSchema
from tideate_core.util.cutting import beginning
from tideate_core.util.json_digest import digest_of
from tideate_core.util.tokens import CHARACTERS_PER_TOKEN
from tideate_core.workflows import ACP, names_in_task, render_task

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from pydantic import BaseModel

    from tideate_core.adapters import OfferedTool, Prompt
    from tideate_core.agents import Role, Stage
    from tideate_core.engine.context.context import Context
    from tideate_core.workflows import StepContext, WorkflowStep


HEADLINE: Final = "What this task builds on. It is material, not a task."


def given_material(step: StepContext, definition: WorkflowStep, *, prompt: bool = False) -> str:
    """Return the material of a step's prompt; empty if there is none, or the step has `context: none`.

    Results that the task or its `for_each` names are rendered there instead. Material longer than the
    model's share is cut, with a notice.

    :param prompt: include the run's prompt.
    """
    if definition.context == "none":
        return ""
    parts = dict(_parts(step, definition))
    if prompt and step.prompt.strip():
        parts = {"The prompt of this run": step.prompt, **parts}
    if not parts:
        return ""
    lengths = _shares({name: len(text) for name, text in parts.items()}, material_budget(step))
    for name in (name for name, text in parts.items() if len(text) > lengths[name]):
        step.notice(
            f"{name} is too long for the prompt of {step.step!r} and was cut after {lengths[name]:,} "
            "characters; name what the task needs in its template, or set `context: none`",
            level="warn",
        )
    quoted = [_quoted(name, beginning(text, lengths[name])) for name, text in parts.items()]
    return "\n\n".join([HEADLINE, *quoted])


def _parts(step: StepContext, definition: WorkflowStep) -> Iterator[tuple[str, str]]:
    values = step.values()
    named_steps, named_context = names_in_task(definition)
    for dependency in definition.dependencies:
        ended = values["steps"].get(dependency)
        if ended is None or ended["status"] == "skipped" or dependency in named_steps or "*" in named_steps:
            continue
        if ended["status"] == "failed":
            yield f"The error of the step {dependency!r}", _text(ended["error"])
        elif ended["result"] is not None:
            yield f"The result of the step {dependency!r}", _text(ended["result"])
    if "*" in named_context:
        return
    of_buffer = about(step.context)
    for name, value in values["context"].items():
        if name not in named_context and (name not in of_buffer or of_buffer[name] != value):
            yield f"The workflow's context, {name!r}", _text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _quoted(name: str, text: str) -> str:
    fence = fence_for(text)
    return f"{name}:\n\n{fence}\n{text}\n{fence}"


def _shares(lengths: Mapping[str, int], tokens: int) -> dict[str, int]:
    """Return the characters that each part may have: short parts all, the others equal shares."""
    left, shares = tokens * CHARACTERS_PER_TOKEN, dict[str, int]()
    for place, (name, length) in enumerate(sorted(lengths.items(), key=lambda item: item[1])):
        shares[name] = min(length, left // (len(lengths) - place))
        left -= shares[name]
    return shares


WRAPPED: Final = "result"
"""Key of a value that is not an object, because providers accept only objects."""
AGENTS: Final = "agents"
"""Server name in events about tasks for other agents."""
LONGEST_TASK: Final = 2_000
"""Characters of the task in these events."""
REFERENCES: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})


async def do_task(definition: WorkflowStep, agent: str, step: Context) -> Any:
    """Give the step's task to an agent and return the answer.

    The model gets the results of the step's `dependencies` and the workflow's context, unless the template
    names them or the step has `context: none`. With an `output_schema` of the step or the agent, the result
    is a matching value, otherwise the answer's text. Staged edits are reviewed and written at the end; the
    result is then a mapping of `response` (value or text) and `files` (written files).
    """
    if agent.startswith(ACP):
        return await _do_as_program(definition, agent, step)
    roles = Roles(step.workspace.root)
    role = await asyncio.to_thread(roles.get, agent)
    task = render_task(definition.task or "", step.values())
    async with open_stage(step, role, TaskBrief(task), looks=False, tools=definition.tools) as stage:
        stage.tools.check()
        agents = await Delegation(step, roles, partial(_answer_of_asked, definition)).offer(stage, role)
        given = given_material(stage.step, definition, prompt=step.run.gives_prompt)
        prompt = partial(_prompt, stage.step, role, task, given)
        own = definition if definition.output_schema is not None else _with_schema(definition, role)
        value = await _answer(stage, own, prompt, agents)
    if not stage.tools.stages:
        return value
    return CheckedMapping(response=value, files=await write_staged(step, stage.tools.staged))


async def _do_as_program(definition: WorkflowStep, name: str, step: Context) -> Any:
    """Give the step's task to an agent with tools of its own; see `do_task`."""
    agent = step.agent(name)
    assert agent is not None  # noqa: S101 the prefix names one
    task = render_task(definition.task or "", step.values())
    wanted = WantedOutput(definition.id, definition.output_schema) if definition.output_schema else None
    schema = json.dumps(definition.output_schema, indent=2, ensure_ascii=False) if wanted else ""
    given = given_material(step, definition, prompt=step.run.gives_prompt)
    values = {"schema": schema, "fence": fence_for(schema), "feedback": step.feedback}
    prompt = before(step.render("assistant", task=task, instructions="", **values), given)
    prompt = brief(step, await with_material(step, prompt, task, rules=False))

    def value_of(text: str) -> Any:
        if wanted is None:
            return text
        value = wanted.value_of(text, None)
        check_value(definition, value)
        return value

    async with guarded_agent(step, agent, "task") as guarded:
        done = await work_and_land(step, guarded, prompt, value_of)
    return CheckedMapping(response=value_of(done.last) if wanted else done.text, files=done.files)


def _with_schema(definition: WorkflowStep, role: Role) -> WorkflowStep:
    """Return the step with its agent's schema."""
    schema = dict(role.output_schema) if role.output_schema is not None else None
    return definition.model_copy(update={"output_schema": schema})


async def _answer_of_asked(
    definition: WorkflowStep,
    stage: Stage,
    role: Role,
    task: str,
    agents: Sequence[OfferedTool],
    key: str,
) -> str:
    """Return the answer of an agent to a task from another agent; it matches the agent's own schema.

    The task is reported as a tool call.
    """

    async def prompt(**values: Any) -> Prompt:
        return before(render_task_prompt(stage.step, role, task, **values), stage.rules)

    shown = {"task": shorten(task, LONGEST_TASK)}
    with stage.step.report_call(role.name, shown, server=AGENTS) as report:
        value = await _answer(stage, _with_schema(definition, role), prompt, agents, quiet=True, key=key)
        answer = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        report.size = len(answer)
    return answer


async def _prompt(step: StepContext, role: Role, task: str, given: str, **values: Any) -> Prompt:
    prompt = before(render_task_prompt(step, role, task, feedback=step.feedback, **values), given)
    return brief(step, await with_material(step, prompt, task))


async def _answer(
    stage: Stage,
    definition: WorkflowStep,
    render: Callable[..., Awaitable[Prompt]],
    agents: Sequence[OfferedTool],
    *,
    quiet: bool = False,
    key: str = "",
) -> Any:
    step, schema = stage.step, definition.output_schema
    wanted = WantedOutput(definition.id, schema) if schema else None
    words, shape = (wanted.words, wanted.shape) if wanted else ("", None)
    prompt = await render(schema=words, fence=fence_for(words))
    if agents or stage.tools.are_named:
        submission = wanted.submission(definition) if wanted else None
        done = await stage.work(f"task:{key}", prompt, agents, submission=submission, quiet=quiet)
        text, parsed, truncated = done.text, done.value, done.truncated
    else:
        reply = await stage.ask(prompt, schema=shape, quiet=quiet)
        text, parsed, truncated = reply.text, reply.parsed, reply.truncated
    if truncated:
        tell_truncated(step)
    if wanted is None:
        return text.strip()
    value = wanted.value_of(text, parsed)
    check_value(definition, value)
    return value


class WantedOutput:
    """Structured output that a step's `output_schema` requires from a model.

    The schema is sent with the request, so that a provider can enforce it; the value is checked afterwards
    like any step's result. A schema with references is put into the prompt instead, and the value is parsed
    from the answer.
    """

    def __init__(self, step: str, schema: Mapping[str, Any]) -> None:
        self._step = step
        self._schema = schema
        self._is_object = schema.get("type") == "object"

    @cached_property
    def shape(self) -> type[BaseModel] | None:
        """The type to request from the adapter; None if the schema has references."""
        return None if _refers(self._schema) else self._model()

    @property
    def words(self) -> str:
        """The schema for the prompt; empty if it is sent with the request."""
        return "" if self.shape else json.dumps(self._schema, indent=2, ensure_ascii=False)

    def submission(self, definition: WorkflowStep) -> Submission[BaseModel] | None:
        """Return the tool with which a working model submits the value; None: it answers with text."""
        if self.shape is None:
            return None

        async def look_at(value: BaseModel) -> str:
            try:
                check_value(definition, self.value_of("", value))
            except OutputMismatch as error:
                return str(error)
            return ""

        words = "Hand in the result; this ends the work."
        return Submission(self.shape, words, look_at, is_answer=True)

    def value_of(self, text: str, parsed: BaseModel | None) -> Any:
        """Return the value of a model's answer.

        :raises OutputMismatch: the answer is not valid JSON.
        """
        if parsed is None:
            return self._read(text)
        given = parsed.model_dump(mode="json")
        return given if self._is_object else given[WRAPPED]

    def _model(self) -> type[BaseModel]:
        # imported here: few steps have a schema
        from pydantic import ConfigDict, Field, RootModel, create_model, model_validator

        # recordings and providers identify a request by this name
        name = f"Output_{digest_of(self._schema)[:8]}"

        def replace(shape: dict[str, Any]) -> None:
            shape.clear()
            shape.update({**self._schema, "title": name} if self._is_object else self._schema)

        def wrap(value: Any) -> Any:
            """Accept a matching value that a model gave without the object around it."""
            if isinstance(value, dict) and value.keys() == {WRAPPED}:
                return value
            if not self._fits(value):
                raise ValueError(f"answer with an object whose only key {WRAPPED!r} has a value that fits")
            return {WRAPPED: value}

        if not self._is_object:
            validators: dict[str, Any] = {"wrap": model_validator(mode="before")(wrap)}
            return create_model(
                name, __validators__=validators, result=(Any, Field(json_schema_extra=replace))
            )

        class Root(RootModel[dict[str, Any]]):
            model_config = ConfigDict(json_schema_extra=replace)

        return create_model(name, __base__=Root)

    def _read(self, text: str) -> Any:
        blocks = [block for block in fenced_blocks(text.split("\n")) if block.closed]
        source = "\n".join(blocks[-1].lines) if blocks else text
        words = text.strip()
        try:
            value = json.loads(source)
        except ValueError as error:
            if self._fits(words):
                return words
            raise OutputMismatch(
                f"the answer to step {self._step!r} is not valid JSON, as output_schema requires: {error}"
            ) from error
        return value if self._fits(value) or not self._fits(words) else words

    def _fits(self, value: Any) -> bool:
        """Tell whether a value matches the schema; no value matches an unusable one."""
        from tideate_core.util.json_schemas import mistakes_in

        try:
            return not mistakes_in(value, self._schema, 1)
        except UnusableSchema:
            return False


def _refers(schema: Any) -> bool:
    if isinstance(schema, dict):
        return not REFERENCES.isdisjoint(schema) or any(map(_refers, schema.values()))
    return isinstance(schema, list) and any(map(_refers, schema))
