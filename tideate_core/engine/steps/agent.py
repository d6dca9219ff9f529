"""Agent step: an agent's model does its task, with its tools and budgets; typed output by a JSON Schema."""

from __future__ import annotations

import asyncio
import json
from functools import cached_property, partial
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Final

from tideate_core.agents import Delegation, Roles, Submission, TaskBrief, open_stage, render_task_prompt
from tideate_core.edits import fence_for, fenced_blocks
from tideate_core.engine.memory import digest_of
from tideate_core.engine.mentions import before, with_material
from tideate_core.engine.review import write_staged
from tideate_core.engine.selected_text import brief
from tideate_core.engine.step_output import CheckedMapping, check_value
from tideate_core.engine.steps.given import given_material
from tideate_core.errors import OutputMismatch, UnusableSchema
from tideate_core.workflows import render_task

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from pydantic import BaseModel

    from tideate_core.adapters import OfferedTool, Prompt
    from tideate_core.agents import Role, Stage
    from tideate_core.engine.step_services import Services
    from tideate_core.workflows import StepContext, StepHandler, WorkflowStep

__all__ = ["WantedOutput", "do_task"]


WRAPPED: Final = "result"
"""The key of a value that is no object: providers only take objects."""
AGENTS: Final = "agents"
"""Stands in the place of a server in the events of an agent that was asked."""
LONGEST_TASK: Final = 2_000
"""Characters of its task that these have."""
REFERENCES: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})


def do_task(definition: WorkflowStep, agent: str, services: Services) -> StepHandler:
    """Return what gives a step's task to an agent, and returns the answer.

    The model gets the results of the step's `dependencies` and the workflow's context, unless the template
    names them or the step has `context: none`. With an `output_schema`, the step's or
    the agent's, the result is a value that fits it, else the answer's text. With tools that stage edits,
    these are reviewed and written at the end, and the result is a mapping: `response` is the value or the
    text, `files` are those that were written.
    """

    async def answer(step: StepContext) -> Any:
        roles = Roles(step.workspace.root)
        role = await asyncio.to_thread(roles.get, agent)
        task = render_task(definition.task or "", step.values())
        tools = definition.tools
        async with open_stage(step, role, TaskBrief(task), looks=False, tools=tools) as stage:
            stage.tools.check()
            asked = partial(_answer_of_asked, definition)
            agents = await Delegation(step, roles, asked).offer(stage, role)
            given = given_material(stage.step, definition, prompt=services.gives_prompt())
            prompt = partial(_prompt, stage.step, role, task, given)
            value = await _answer(stage, _with_schema(definition, role), prompt, agents)
        if not stage.tools.stages:
            return value
        return CheckedMapping(response=value, files=await write_staged(step, stage.tools.staged))

    return answer


async def _answer_of_asked(
    definition: WorkflowStep,
    stage: Stage,
    role: Role,
    task: str,
    agents: Sequence[OfferedTool],
    key: str,
) -> str:
    """Return what an agent answers that another one gave a task to; it fits the agent's own schema.

    It is told like the call of a tool.
    """
    shown = {"task": shorten(task, LONGEST_TASK)}
    with stage.step.report_call(role.name, shown, server=AGENTS) as report:
        answer = await _typed_answer(definition, stage, role, task, agents, key)
        report.size = len(answer)
    return answer


async def _typed_answer(
    definition: WorkflowStep, stage: Stage, role: Role, task: str, agents: Sequence[OfferedTool], key: str
) -> str:
    own = definition.model_copy(
        update={"output_schema": dict(role.output_schema) if role.output_schema is not None else None}
    )

    async def prompt(**values: Any) -> Prompt:
        return before(render_task_prompt(stage.step, role, task, **values), stage.rules)

    value = await _answer(stage, own, prompt, agents, quiet=True, key=key)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


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
        step.notice("the answer was cut off at the model's length limit", level="warn")
    if wanted is None:
        return text.strip()
    value = wanted.value_of(text, parsed)
    check_value(definition, value)
    return value


def _with_schema(definition: WorkflowStep, role: Role) -> WorkflowStep:
    """Return the step with its agent's schema, where it has none of its own."""
    if definition.output_schema is not None or role.output_schema is None:
        return definition
    return definition.model_copy(update={"output_schema": dict(role.output_schema)})


class WantedOutput:
    """The output that a step's `output_schema` wants of a model.

    The schema goes with the request, so that a provider can hold the model to it; whether the value fits is
    looked at afterwards, where every kind of step is. A schema with references cannot go with it: then the
    prompt has it, and the value is read out of the text.
    """

    def __init__(self, step: str, schema: Mapping[str, Any]) -> None:
        self._step = step
        self._schema = schema
        self._is_object = schema.get("type") == "object"

    @cached_property
    def shape(self) -> type[BaseModel] | None:
        """The type that the adapter is asked for, None where it cannot be."""
        return None if _refers(self._schema) else self._model()

    @property
    def words(self) -> str:
        """The schema for the prompt, empty where it goes with the request."""
        return "" if self.shape else json.dumps(self._schema, indent=2, ensure_ascii=False)

    def submission(self, definition: WorkflowStep) -> Submission[BaseModel] | None:
        """Return how a model that works with tools hands it in; None: as text."""
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
        """Return the value that a model answered with.

        :raises OutputMismatch: the answer's text is no JSON.
        """
        if parsed is None:
            return self._read(text)
        given = parsed.model_dump(mode="json")
        return given if self._is_object else given[WRAPPED]

    def _model(self) -> type[BaseModel]:
        # here, because few steps have a schema
        from pydantic import ConfigDict, Field, RootModel, create_model, model_validator

        # recordings and providers know a request by this name
        name = f"Output_{digest_of(self._schema)[:8]}"

        def replace(shape: dict[str, Any]) -> None:
            shape.clear()
            shape.update({**self._schema, "title": name} if self._is_object else self._schema)

        def wrap(value: Any) -> Any:
            """Take a fitting value that a model gave as it is, in place of the object around it."""
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
                f"the answer to step {self._step!r} is not valid JSON, which its output_schema wants: {error}"
            ) from error
        return value if self._fits(value) or not self._fits(words) else words

    def _fits(self, value: Any) -> bool:
        """Tell whether a value fits the schema; no value fits an unusable one, which the check names."""
        from tideate_core.util.json_schemas import mistakes_in

        try:
            return not mistakes_in(value, self._schema, 1)
        except UnusableSchema:
            return False


def _refers(schema: Any) -> bool:
    if isinstance(schema, dict):
        return not REFERENCES.isdisjoint(schema) or any(map(_refers, schema.values()))
    return isinstance(schema, list) and any(map(_refers, schema))
