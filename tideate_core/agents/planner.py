"""The planner: ask for the plan of a task, given its brief and the project's files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from tideate_core.agents.answers import Answer, PathTexts, TidyText
from tideate_core.agents.plan_document import plan_as_markdown
from tideate_core.agents.project_files import list_for_model
from tideate_core.agents.records import other_changelogs, read_records
from tideate_core.agents.stage import open_stage
from tideate_core.gates import ExecutionPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.adapters import Conversation
    from tideate_core.agents.roles import Role
    from tideate_core.agents.stage import TaskBrief
    from tideate_core.workflows import StepContext


class StepAnswer(Answer):
    """One step in the model's answer."""

    type: TidyText = Field(default="", max_length=40)
    description: TidyText = Field(default="", max_length=1000)
    files: PathTexts = Field(default_factory=list, max_length=20)


class PlanAnswer(Answer):
    """The model's plan; gate 1 checks it strictly."""

    objective: TidyText = Field(default="", max_length=600)
    steps: list[StepAnswer] = Field(default_factory=list, max_length=30)
    files: PathTexts = Field(default_factory=list, max_length=60)
    rollback_strategy: TidyText = Field(default="", max_length=600)


async def plan_task(
    step: StepContext,
    role: Role,
    brief: TaskBrief,
    *,
    earlier: ExecutionPlan | None = None,
    issues: Sequence[str] = (),
    conversation: Conversation | None = None,
) -> ExecutionPlan:
    """Ask for a plan; gate 1 and the audit judge it.

    :param earlier: a rejected plan of the same task.
    :param issues: issues of the audit and the gate with that plan, or the person's comments on it.
    :param conversation: the conversation that made the plan; a model that can call tools continues it.
    :raises BudgetReached: the role's budget is used up.
    """
    async with open_stage(step, role, brief, earlier=conversation) as stage:
        step = stage.step
        listed = await list_for_model(step, brief.description)
        files = () if conversation and stage.may_look else listed.lines  # it was sent before
        records, _ = await read_records(step)
        before = plan_as_markdown(earlier).strip() if earlier is not None else ""
        prompt = stage.render(
            "task_plan",
            files=files,
            more=listed.more,
            kept=sorted(records.paths),
            own=other_changelogs(listed.files) if records.changelog is None else (),
            earlier=before,
            issues=[" ".join(issue.split()) for issue in issues],
        )
        answer = await stage.ask_for(PlanAnswer, prompt, quiet=False)
        return ExecutionPlan.model_validate(answer.model_dump())
