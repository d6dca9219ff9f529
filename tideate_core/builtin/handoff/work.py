"""Work of a plan: its steps carried out by their types, in the order of their dependencies, in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from tideate_core.agents import (
    PartOfPlan,
    Roles,
    StagedFiles,
    TaskBrief,
    analyse,
    execute_plan,
    review_change,
)
from tideate_core.builtin.handoff.models import StepProgress
from tideate_core.builtin.handoff.progress import now
from tideate_core.errors import StepFailed, TideateError
from tideate_core.gates import ExecutionPlan, PlanStep
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from tideate_core.builtin.handoff.models import PlanFile, PlannedStep
    from tideate_core.workflows import StepContext

__all__ = ["PlanWork", "in_order"]

Report = Callable[[dict[str, StepProgress]], Awaitable[None]]
"""Told the progress of the plan's steps, by id, whenever one begins or ends."""

_ORDERS = {"coding": "edit", "testing": "test", "documentation": "document"}
"""The executor's types of steps, by the plan's."""


def in_order(plan: PlanFile) -> list[PlannedStep]:
    """Return the plan's steps so that each comes after those it depends on, else as they are listed."""
    listed = {step.id: step for step in plan.steps}
    sorter = TopologicalSorter({step.id: step.dependencies for step in plan.steps})
    sorter.prepare()
    ready: list[str] = []
    found: list[PlannedStep] = []
    places = {identity: place for place, identity in enumerate(listed)}
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()], key=places.__getitem__)
        found.append(listed[ready[0]])
        sorter.done(ready.pop(0))
    return found


class PlanWork:
    """Carries out a plan's steps; nothing is written before all of them were."""

    def __init__(self, step: StepContext, plan: PlanFile, report: Report) -> None:
        self._step = step
        self._plan = plan
        self._report = report
        self._roles = Roles(step.workspace.root)
        self._staged = StagedFiles()
        self.progress: dict[str, StepProgress] = {}
        self.analyses: dict[str, str] = {}
        """Texts of analyses that name no file to be kept in, by step."""
        self.notes: list[str] = []

    @property
    def changes(self) -> list[FileChange]:
        """The edits of all steps so far."""
        return self._staged.changes()

    async def run(self) -> None:
        """Carry out every step.

        A step of the type `testing` is still running afterwards: its tests are run when they are committed.

        :raises StepFailed: a step failed, or a review rejected the change; names the step.
        """
        for one in in_order(self._plan):
            self.progress[one.id] = begun = StepProgress(status="running", started_at=now())
            await self._report(self.progress)
            try:
                output = await self._carry_out(one)
            except TideateError as error:
                raise StepFailed(f"the plan's step {one.id!r} ({one.name}): {error}") from error
            ended = {"status": "completed", "completed_at": now()} if one.type != "testing" else {}
            self.progress[one.id] = begun.model_copy(update={**ended, "output": output})
            await self._report(self.progress)

    async def _carry_out(self, one: PlannedStep) -> str:
        """Carry out a step; return its output in a line or an analysis."""
        if one.type == "planning":
            return await self._analyse(one)
        if one.type == "review":
            return await self._review(one)
        return await self._write(one)

    async def _analyse(self, one: PlannedStep) -> str:
        named = [name for other in self._plan.steps for name in other.expected_outputs]
        part = PartOfPlan(
            self._plan.objective or self._plan.title,
            one.name,
            one.description,
            [f"{other.type}: {other.name}" for other in self._plan.steps if other.id != one.id],
            list(dict.fromkeys(named)),
        )
        text = await analyse(self._step, self._roles.get("planner"), self._brief(), part, self._staged)
        if not one.expected_outputs:
            self.analyses[one.id] = text
        for name in one.expected_outputs:
            before = self._staged.text(name)
            new = before is None
            self._staged.stage([FileChange(name, "create" if new else "modify", before, f"{text}\n")])
        self.notes.append(f"{one.name}:\n\n{text}")
        return text

    async def _review(self, one: PlannedStep) -> str:
        part = PartOfPlan(self._plan.objective or self._plan.title, one.name, one.description)
        diff = self._step.workspace.diff(self.changes)
        verdict = await review_change(self._step, self._roles.get("auditor"), self._brief(), part, diff)
        if verdict.verdict == "reject":
            raise StepFailed(f"the change was rejected: {verdict.words or 'no reason was given'}")
        return verdict.words or "approved"

    async def _write(self, one: PlannedStep) -> str:
        """Have a step's files written; tests that are there already are left as they are."""
        wanted = one.expected_outputs or self._files_of_all()
        if not wanted:
            raise StepFailed("it names no file in `expectedOutputs`, and no other step does")
        if one.type == "testing":
            wanted = [name for name in wanted if not await self._is_there(name)]
            if not wanted:
                return "the tests are there already"
        before = self.changes
        # one at a time, a document is never left to somebody else
        parts = [[name] for name in wanted] if one.type == "documentation" else [wanted]
        for files in parts:
            await self._execute(one, files)
        missing = [name for name in one.expected_outputs if not await self._is_there(name)]
        if missing:
            raise StepFailed(f"{', '.join(missing)} was to be written and is not there")
        touched = sorted({change.path for change in self.changes if change not in before})
        return f"changed: {', '.join(touched)}" if touched else "nothing had to be changed"

    def _files_of_all(self) -> list[str]:
        """Return the files that a step may change which names none: those that the plan names."""
        return list(dict.fromkeys(name for one in self._plan.writing for name in one.expected_outputs))

    async def _execute(self, one: PlannedStep, files: list[str]) -> None:
        order = ExecutionPlan(
            objective=self._plan.objective or self._plan.title,
            steps=[
                PlanStep(
                    type=_ORDERS[one.type], description=f"{one.name}: {one.description}", files=list(files)
                )
            ],
            files=sorted(set(files)),
            rollback_strategy=self._plan.rollback_strategy,
        )
        role = self._roles.get("executor")
        done = await execute_plan(self._step, role, self._brief(), order, staged=self._staged)
        if problems := [*done.result.errors, *filter(None, [done.unfinished])]:
            raise StepFailed("; ".join(problems))

    async def _is_there(self, name: str) -> bool:
        if self._staged.knows(name):
            return self._staged.text(name) is not None
        return self._step.workspace.resolve(name).is_file()

    def _brief(self) -> TaskBrief:
        return TaskBrief(self._plan.title, "\n\n".join(self.notes))
