"""Steps of a plan that write no code: ask for an analysis, or for the review of a change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from tideate_core.agents.answers import Answer, tidy_text
from tideate_core.agents.model_input import clip
from tideate_core.agents.stage import open_stage
from tideate_core.agents.staged_files import shown_of
from tideate_core.errors import UnusableAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.agents.roles import Role
    from tideate_core.agents.stage import TaskBrief
    from tideate_core.agents.staged_files import StagedFiles
    from tideate_core.workflows import StepContext


@dataclass(frozen=True, slots=True)
class PartOfPlan:
    """One step of a plan, and the objective that it serves."""

    objective: str
    name: str
    description: str = ""
    others: Sequence[str] = field(default=())
    """Descriptions of the other steps."""
    files: Sequence[str] = field(default=())
    """Paths of the files concerned."""


class Verdict(Answer):
    """The model's answer to a review."""

    verdict: Literal["approve", "reject"]
    reasons: list[str] = Field(default_factory=list, max_length=20)

    @property
    def words(self) -> str:
        """The reasons, each on one line."""
        return "\n".join(" ".join(tidy_text(reason).split()) for reason in self.reasons)


async def analyse(
    step: StepContext, role: Role, brief: TaskBrief, part: PartOfPlan, staged: StagedFiles
) -> str:
    """Ask for the analysis of a part of the work, with the current text of its files.

    :param staged: earlier edits; the part's files are loaded into it.
    :raises BudgetReached: the role's budget is used up.
    :raises UnusableAnswer: the answer is empty.
    """
    async with open_stage(step, role, brief) as stage:
        await staged.load(stage.step, part.files)
        files = shown_of(staged, [path for path in part.files if staged.knows(path)])
        prompt = stage.render(
            "handoff_analysis",
            objective=part.objective,
            part=part.name,
            description=part.description,
            steps=part.others,
            files=files,
        )
        text = tidy_text((await stage.ask(prompt)).text)
    if not text:
        raise UnusableAnswer(f"the analysis {part.name!r} is empty")
    return text


async def review_change(
    step: StepContext, role: Role, brief: TaskBrief, part: PartOfPlan, diff: str
) -> Verdict:
    """Ask for a verdict on a change.

    :param diff: all changes so far, as a patch; cut to the size that the model can read.
    :raises BudgetReached: the role's budget is used up.
    """
    async with open_stage(step, role, brief) as stage:
        diff = clip(stage.step, diff)
        prompt = stage.render(
            "handoff_review",
            objective=part.objective,
            part=part.name,
            description=part.description,
            diff=diff,
        )
        return await stage.ask_for(Verdict, prompt)
