"""Stage of a task: asks its role's model or lets it work with tools, within token and time limits."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tideate_core.agents.asking import LookingModel, look_tools, may_look
from tideate_core.agents.model_input import ShownFile
from tideate_core.agents.rules import project_rules
from tideate_core.agents.step_tools import StepTools
from tideate_core.edits import fence_for
from tideate_core.errors import BudgetReached, StepTimedOut
from tideate_core.project import config_dir
from tideate_core.workflows import shown_path, working_time

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Iterable, Sequence

    from pydantic import BaseModel

    from tideate_core.adapters import Conversation, ModelTurn, OfferedTool, Prompt, Reply
    from tideate_core.agents.loop import LoopResult, Submission
    from tideate_core.agents.roles import Role
    from tideate_core.agents.staged_files import StagedFiles
    from tideate_core.agents.writer import Bounds, WrittenWork
    from tideate_core.workflows import StepContext

T = TypeVar("T", bound="BaseModel")

QUOTED: Final = ("plan", "findings", "diff", "text", "changelog", "earlier")
"""Values of prompts that are quoted in code fences."""


@dataclass(frozen=True, slots=True)
class TaskBrief:
    """A change request, in the person's words."""

    description: str
    material: str = ""
    """Contents of its @mentions, ready for a prompt."""
    earlier: str = ""
    """Text of earlier runs; sent only to the run's own adapter."""


class Stage:
    """Asks a role's model for one stage and counts its tokens; made by `open_stage`.

    :param step: step context, with the limits of the role's adapter.
    :param around: stage of the calling agent; tokens count against it too.
    :param looks: let the model read the project, if it can call tools.
    :param rules: the project's rules, ready for a prompt.
    :param tools: names of tools beside the role's.
    :param earlier: the conversation that the first question continues, if the model may read the project.
    """

    def __init__(
        self,
        step: StepContext,
        role: Role,
        brief: TaskBrief,
        around: Stage | None = None,
        rules: str = "",
        *,
        looks: bool = True,
        tools: Sequence[str] = (),
        earlier: Conversation | None = None,
    ) -> None:
        self.step = step
        self._earlier = earlier
        self._around = around
        self._looks = looks
        self.role = role
        self._brief = brief
        self.rules = rules
        self.spent = 0
        """Tokens, including delegated agents."""
        self._model: LookingModel | None = None
        names = tuple(dict.fromkeys((*role.tools, *tools)))
        self.tools: StepTools = StepTools(step, names, role.adapter, around=around.tools if around else None)

    def render(self, name: str, **values: Any) -> Prompt:
        """Render a prompt of the stage: rules, material and earlier runs, then the task.

        `fence` becomes a code fence that none of the quoted texts and files contains.
        """
        texts = [values.get(name) or "" for name in QUOTED]
        files = [file for file in values.get("files", ()) if isinstance(file, ShownFile)]
        values = {
            "instructions": self.role.instructions,
            "task": self._brief.description,
            "fence": fence_for(*texts, *(file.text or file.outline or "" for file in files)),
            **values,
        }
        prompt = self.step.render(name, **values)
        earlier = self._brief.earlier if self.step.memory_of else ""
        before = (self.rules, self._brief.material, earlier)
        return replace(prompt, user="\n\n---\n\n".join(filter(None, (*before, prompt.user))))

    @cached_property
    def may_look(self) -> bool:
        """True if the role's model is given tools that read the project."""
        return self._looks and may_look(self.step, self.role.adapter)

    @property
    def may_work(self) -> bool:
        """True if the role makes edits with tools, either tideate's or an agent's own."""
        return self.may_look or self.step.agent(self.role.adapter) is not None

    async def ask(
        self,
        prompt: Prompt,
        *,
        schema: type[BaseModel] | None = None,
        quiet: bool = True,
    ) -> Reply:
        """Ask without streaming: JSON and edits are for parsers, and the person sees the result.

        A model that can call tools reads the project first.

        :param quiet: False: stream the answer to the person.
        :raises BudgetReached: the answers of this stage took more tokens than its role may use.
        """
        if self.may_look:
            return await (await self._looking()).ask(prompt, schema=schema, quiet=quiet)
        self.tools.check()
        reply = await self.step.ask(prompt, schema=schema, quiet=quiet, adapter=self.role.adapter)
        self._count(reply)
        return reply

    def continue_conversation(self) -> None:
        """Ask all further questions in the same conversation, if the role's model may read the project."""
        if self._model is not None:
            self._model.continues = True

    async def _looking(self) -> LookingModel:
        if self._model is None:
            staged = self.tools.staged
            self._model = LookingModel(
                self.step,
                self.role.name,
                [*look_tools(self.step, staged), *await self.tools.offer(looking=True)],
                staged=staged,
                adapter=self.role.adapter,
                earlier=self._earlier,
                on_turn=self._count,
                words=self.step.render("look").system,
            )
        return self._model

    async def write(
        self,
        prompt: Prompt,
        staged: StagedFiles,
        bounds: Bounds,
        *,
        earlier: Conversation | None = None,
    ) -> WrittenWork:
        """Have the role's model make edits with tools and stage them. See `write_with_tools`.

        :param earlier: the conversation to continue.

        :raises BudgetReached: the model took more tokens than its role may use.
        """
        from tideate_core.agents.writer import write_with_tools

        return await write_with_tools(
            self.step,
            self.role.name,
            prompt,
            staged,
            bounds,
            more_tools=await self.tools.of_servers(),
            adapter=self.role.adapter,
            earlier=earlier,
            on_turn=self._count,
        )

    async def work(
        self,
        key: str,
        prompt: Prompt,
        tools: Sequence[OfferedTool] = (),
        *,
        submission: Submission[T] | None = None,
        quiet: bool = False,
    ) -> LoopResult[T]:
        """Have the role's model work with tools, including the ones that its file names.

        :param key: identifies this work within the step.
        :raises BudgetReached: the model took more tokens than its role may use.
        """
        return await self.tools.work(
            key, prompt, tools, submission=submission, quiet=quiet, on_turn=self._count
        )

    def _count(self, answer: Reply | ModelTurn) -> None:
        self.spend(answer.usage.input_tokens + answer.usage.output_tokens)
        self.check_budget()

    def check_budget(self) -> None:
        """Check the tokens used so far, including delegated agents.

        :raises BudgetReached: they are more than the role may use.
        """
        limit = self.role.tokens
        if limit is not None and self.spent > limit:
            raise BudgetReached(
                f"the role {self.role.name!r} used {self.spent} tokens for this stage and may use {limit}; "
                f"set `tokens` higher in {_place(self.role)}, or give it less to do",
                f"tokens of the role {self.role.name} ({limit})",
            )
        if self._around is not None:
            self._around.check_budget()

    def spend(self, tokens: int) -> None:
        """Count tokens, for the calling stages too."""
        self.spent += tokens
        if self._around is not None:
            self._around.spend(tokens)

    async def ask_for(self, schema: type[T], prompt: Prompt, *, quiet: bool = True) -> T:
        """Ask for a value of a schema; see `ask`."""
        parsed = (await self.ask(prompt, schema=schema, quiet=quiet)).parsed
        assert isinstance(parsed, schema)  # noqa: S101 the adapter validated it
        return parsed


@asynccontextmanager
async def open_stage(
    step: StepContext,
    role: Role,
    brief: TaskBrief,
    *,
    around: Stage | None = None,
    looks: bool = True,
    paths: Iterable[str] = (),
    tools: Sequence[str] = (),
    earlier: Conversation | None = None,
) -> AsyncIterator[Stage]:
    """Open a stage, limited to the role's timeout; pass on the notices of its role.

    Time that a person takes to answer does not count.

    :param around: stage of the calling agent.
    :param looks: let the model read the project, if it can call tools.
    :param paths: files that the stage works on; the project's rules for them are sent.
    :param tools: names of tools beside the role's.
    :param earlier: the conversation that the first question continues, if the model may read the project.
    :raises StepTimedOut: the stage took longer than the role's timeout.
    """
    for notice in role.notices:
        step.notice(notice, level="warn")
    step = step.measured_by(role.adapter)
    rules = await project_rules(step, paths)
    limit: asyncio.Timeout | None = None
    try:
        async with working_time(None if role.timeout is None else role.timeout / 1000) as limit:
            yield Stage(step, role, brief, around, rules, looks=looks, tools=tools, earlier=earlier)
    except TimeoutError as error:
        if limit is None or not limit.expired():
            raise
        raise StepTimedOut(
            f"the role {role.name!r} took longer than its timeout of {role.timeout} ms; "
            f"set `timeout` higher in {_place(role)}, or give it less to do"
        ) from error


def _place(role: Role) -> str:
    """Return the paths of the files that set a role's keys; a project's file overrides the person's."""
    return f"{shown_path(config_dir() / 'agents' / f'{role.name}.md')} or .tideate/agents/{role.name}.md"
