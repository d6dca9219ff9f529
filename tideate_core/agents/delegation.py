"""Delegation: other agents as tools of an agent, bounded in depth, number of calls and tokens."""

from __future__ import annotations

from collections import Counter
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters import OfferedTool
from tideate_core.agents.stage import TaskBrief, open_stage
from tideate_core.errors import AdapterError, ConfigError, StepFailed, ToolError
from tideate_core.workflows import Declined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.adapters import Prompt
    from tideate_core.agents.roles import Role, Roles
    from tideate_core.agents.stage import Stage
    from tideate_core.workflows import StepContext

__all__ = ["PROMPT", "Delegation", "render_task_prompt"]

PROMPT: Final = "assistant"
"""The prompt file of an agent's task; a project or a person may have their own."""
DEEPEST: Final = 2
"""Agents that may be asked within one another, the step's own not counted."""
MOST_CALLS: Final = 10
"""Tasks that one agent may give to others in one stage."""
LONGEST_SHOWN: Final = 120
"""Characters of a task in the line that tells of it."""
SCHEMA: Final = {
    "type": "object",
    "properties": {
        "task": {"type": "string", "description": "All that it has to know; it sees nothing else."}
    },
    "required": ["task"],
    "additionalProperties": False,
}


def render_task_prompt(step: StepContext, role: Role, task: str, **values: Any) -> Prompt:
    """Return the prompt that gives an agent a task."""
    empty = {"schema": "", "fence": "", "feedback": ""}
    return step.render(PROMPT, task=task, instructions=role.instructions, **{**empty, **values})


class Delegation:
    """Makes the agents that an agent may ask into tools for its model.

    An agent that was asked knows its task and nothing else. Its tokens count to those who asked it, too. What
    goes wrong with it is told to the model that asked, which can go on otherwise; but where the tokens of the
    one who asked are used up, the stage ends.

    :param roles: finds the agents.
    """

    def __init__(self, step: StepContext, roles: Roles) -> None:
        self._step = step
        self._roles = roles
        self._calls = Counter[str]()

    def offer(self, stage: Stage, role: Role, around: Sequence[str] = ()) -> list[OfferedTool]:
        """Return the agents that one may ask in its stage; blocking, as it reads their files.

        :param around: the agents that asked for it.
        :raises UnknownAgent: it names one that does not exist.
        :raises InvalidDefinition: the file of one has mistakes.
        """
        if len(around) >= DEEPEST:
            return []
        path = (*around, role.name)
        asked = [self._roles.get(name) for name in role.agents if name not in path]
        return [self._tool(stage, one, path) for one in asked]

    def _tool(self, stage: Stage, role: Role, around: Sequence[str]) -> OfferedTool:
        async def call(arguments: dict[str, Any]) -> str:
            return await self._call(stage, role, str(arguments.get("task", "")), around)

        words = role.description or "an agent"
        name = f"agent_{role.name}".replace(".", "_")
        return OfferedTool(name, f"Give a task to the agent {role.name}: {words}", SCHEMA, call)

    async def _call(self, stage: Stage, role: Role, task: str, around: Sequence[str]) -> str:
        stage.check_budget()
        asker = around[-1]
        self._calls[asker] += 1
        if self._calls[asker] > MOST_CALLS:
            return f"error: no more than {MOST_CALLS} tasks may be given to others; answer with what you know"
        if not task.strip():
            return "error: the task is empty; say what is to be done"
        self._step.notice(f"{asker} asks {role.name}: {shorten(task, LONGEST_SHOWN, placeholder=' …')}")
        try:
            answer = await self._ask(stage, role, task, around)
        except (AdapterError, ConfigError, Declined, StepFailed, ToolError) as error:
            stage.check_budget()
            return f"error: {role.name} failed: {error}"
        return answer

    async def _ask(self, around_stage: Stage, role: Role, task: str, around: Sequence[str]) -> str:
        async with open_stage(self._step, role, TaskBrief(task), around=around_stage) as stage:
            offered = self.offer(stage, role, around)
            prompt = render_task_prompt(self._step, role, task)
            return (await stage.ask(prompt, agents=offered)).text.strip()
