"""Delegation: other agents as tools of an agent, limited in depth, number of calls and tokens."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tideate_core.adapters import OfferedTool, tool_name
from tideate_core.agents.stage import TaskBrief, open_stage
from tideate_core.errors import AdapterError, ConfigError, InvalidDefinition, StepFailed, ToolError
from tideate_core.workflows import MISSING, Declined

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from tideate_core.adapters import Prompt
    from tideate_core.agents.roles import Role, Roles
    from tideate_core.agents.stage import Stage
    from tideate_core.workflows import StepContext

PROMPT: Final = "assistant"
"""Prompt template of an agent's task; a project or a person may override it."""
DEEPEST: Final = 2
"""Depth of nested delegation, the step's own agent not counted."""
MOST_CALLS: Final = 10
"""Tasks that one agent may give to others in one stage."""
LONGEST_SHOWN: Final = 120
"""Characters of a task in its notice."""
SCHEMA: Final = {
    "type": "object",
    "properties": {
        "task": {"type": "string", "description": "Everything that it must know; it sees nothing else."}
    },
    "required": ["task"],
    "additionalProperties": False,
}
FAILURES: Final = (AdapterError, ConfigError, Declined, InvalidDefinition, StepFailed, ToolError)
"""Errors of a delegated agent that its caller can handle."""
SPENT: Final = "asked:"
"""Prefix of a call's key, for the record of its tokens."""
AgentAnswer: TypeAlias = "Callable[[Stage, Role, str, Sequence[OfferedTool], str], Awaitable[str]]"


def render_task_prompt(step: StepContext, role: Role, task: str, **values: Any) -> Prompt:
    """Render the prompt that gives an agent a task."""
    empty = {"schema": "", "fence": "", "feedback": ""}
    return step.render(PROMPT, task=task, instructions=role.instructions, **{**empty, **values})


@dataclass(frozen=True, slots=True)
class Delegation:
    """Offers agents to another agent's model as tools.

    A delegated agent knows only its task. Its tokens count against its callers too. Its failure is reported
    to the person and to the calling model, which can continue without it; if the caller's own tokens are
    used up, the stage ends.

    :param roles: finds the agents.
    :param answer: asks an agent in its stage and returns its answer; its last argument is a key that
        identifies the task within the step.
    """

    step: StepContext
    roles: Roles
    answer: AgentAnswer

    async def offer(self, stage: Stage, role: Role, around: Sequence[str] = ()) -> list[OfferedTool]:
        """Return tools for the agents that an agent may ask in its stage.

        :param around: names of the calling agents, outermost first.
        :raises UnknownAgent: the agent's file names one that does not exist.
        :raises InvalidDefinition: an agent's file has mistakes.
        """
        if not role.agents or len(around) >= DEEPEST:
            return []
        path = (*around, role.name)
        names = [name for name in dict.fromkeys(role.agents) if name not in path]
        asked = [await asyncio.to_thread(self.roles.get, name) for name in names]
        tools: dict[str, OfferedTool] = {}
        calls = Counter[str]()
        for one in asked:
            name = tool_name(f"agent_{one.name}", tools)
            tools[name] = self._tool(name, stage, one, path, calls)
        return list(tools.values())

    def _tool(
        self, name: str, stage: Stage, role: Role, around: Sequence[str], calls: Counter[str]
    ) -> OfferedTool:
        async def call(arguments: dict[str, Any], key: str) -> str:
            calls[role.name] += 1
            if calls.total() > MOST_CALLS:
                return f"error: no more than {MOST_CALLS} tasks may be given; answer with what you know"
            before = stage.spent
            text = await self._call(stage, role, str(arguments.get("task", "")), around, key)
            await self.step.remember(f"{SPENT}{key}", stage.spent - before)
            return text

        def recalled(key: str) -> None:
            calls[role.name] += 1
            if (spent := self.step.recall(f"{SPENT}{key}")) is not MISSING:
                stage.spend(spent)

        words = f"Give a task to the agent {role.name}: {role.description or 'an agent'}"
        return OfferedTool(name, words, SCHEMA, call, recalled=recalled)

    async def _call(self, stage: Stage, role: Role, task: str, around: Sequence[str], key: str) -> str:
        stage.check_budget()
        if not task.strip():
            return "error: the task is empty; describe the work"
        asker = around[-1]
        self.step.notice(f"{asker} asks {role.name}: {shorten(task, LONGEST_SHOWN, placeholder=' …')}")
        try:
            async with open_stage(self.step, role, TaskBrief(task), around=stage, looks=False) as inner:
                offered = await self.offer(inner, role, around)
                return await self.answer(inner, role, task, offered, key)
        except FAILURES as error:
            stage.check_budget()
            self.step.notice(f"{role.name} failed: {error}", level="warn")
            return f"error: {role.name} failed: {error}"
