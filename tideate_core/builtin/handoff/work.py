"""Execution of a handoff plan: steps in dependency order, edits staged in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from tideate_core.agents import (
    PartOfPlan,
    Role,
    Roles,
    StagedFiles,
    TaskBrief,
    analyse,
    execute_plan,
    review_change,
    run_staged_tests,
)
from tideate_core.builtin.handoff.left import LeftFiles, stage_patches
from tideate_core.builtin.handoff.models import StepProgress
from tideate_core.builtin.handoff.progress import now
from tideate_core.errors import InvalidInput, StepFailed, TideateError, UnknownAgent
from tideate_core.gates import ExecutionPlan, PlanStep
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.builtin.handoff.models import PlanFile, PlannedStep
    from tideate_core.workflows import StepContext

Report = Callable[[dict[str, StepProgress]], Awaitable[None]]
"""Called with the steps' progress, by id, when a step starts or ends."""

_ROLES = {"planning": "planner", "review": "auditor"}
"""Roles by step type; other types use the executor."""
_GENERIC_AGENTS = frozenset({"coder", "qa"})
"""Generic agent names of the format, used unless an agent with that name is defined."""
_EXECUTOR_STEPS = {"coding": "edit", "testing": "test", "documentation": "document"}
"""Step types of the executor, by the plan's types."""


def in_order(plan: PlanFile) -> list[PlannedStep]:
    """Return the plan's steps in dependency order, otherwise as listed."""
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


def refuse_unknown_agents(roles: Roles, plan: PlanFile) -> None:
    """Check that every agent of a plan exists; blocking.

    :raises InvalidInput: an agent is unknown.
    :raises InvalidDefinition: an agent's file is invalid.
    """
    for one in plan.steps:
        try:
            _role_of(roles, one)
        except UnknownAgent as error:
            raise InvalidInput(f"the plan's step {one.id!r}: {error}") from error


def _role_of(roles: Roles, one: PlannedStep) -> Role:
    """Return the role of a step's agent; a generic name selects the role by step type."""
    if one.agent in _GENERIC_AGENTS and one.agent not in roles.names():
        return roles.get(_ROLES.get(one.type, "executor"))
    return roles.get(one.agent)


class PlanWork:
    """Runs a plan's steps in memory; the edits are written after the last one.

    :param left: files left for the plan by other programs.
    """

    def __init__(
        self, step: StepContext, plan: PlanFile, report: Report, left: LeftFiles | None = None
    ) -> None:
        self._step = step
        self._plan = plan
        self._report = report
        self._roles = Roles(step.workspace.root)
        self._staged = StagedFiles()
        self.progress: dict[str, StepProgress] = {}
        self.analyses: dict[str, str] = {}
        """Analyses of steps without an output file, by step id."""
        self._left = left or LeftFiles()
        self._edited_by: dict[str, str] = {}
        """Source patch sets of files that other programs edited."""
        self.notes: list[str] = list(self._left.notes)

    @property
    def changes(self) -> list[FileChange]:
        """The staged edits of all steps."""
        return self._staged.changes()

    async def take(self, root: Path) -> None:
        """Stage the patch sets left by other programs.

        :raises InvalidInput: a patch set cannot be used; the message has the reason.
        """
        self._edited_by = await stage_patches(self._step, root, self._plan, self._left, self._staged)

    async def run(self) -> None:
        """Run every step.

        Tests that another step depends on run before it, in a scratch copy. Other `testing` steps keep
        the status "running": their tests run after the commit.

        :raises StepFailed: a step failed, or a review rejected the change; the message names the step.
        """
        before_others = {name for one in self._plan.steps for name in one.dependencies}
        for one in in_order(self._plan):
            self.progress[one.id] = begun = StepProgress(status="running", started_at=now())
            await self._report(self.progress)
            try:
                output = await self._carry_out(one)
                if is_tested := one.type == "testing" and one.id in before_others:
                    told = await run_staged_tests(self._step, self._staged, one.expected_outputs)
                    output = f"{output}\n{told}"
            except TideateError as error:
                raise StepFailed(f"the plan's step {one.id!r} ({one.name}): {error}") from error
            ends = is_tested or one.type != "testing"
            ended = {"status": "completed", "completed_at": now()} if ends else {}
            self.progress[one.id] = begun.model_copy(update={**ended, "output": output})
            await self._report(self.progress)

    async def _carry_out(self, one: PlannedStep) -> str:
        """Run a step, and return its output: one line or an analysis."""
        if one.type == "planning":
            return await self._analyse(one)
        if one.type == "review":
            return await self._review(one)
        return await self._write(one)

    async def _analyse(self, one: PlannedStep) -> str:
        if done := self._left.analyses.get(one.id):
            return await self._keep_analysis(one, done)
        named = [name for other in self._plan.steps for name in other.expected_outputs]
        part = PartOfPlan(
            self._plan.objective or self._plan.title,
            one.name,
            one.description,
            [f"{other.type}: {other.name}" for other in self._plan.steps if other.id != one.id],
            list(dict.fromkeys(named)),
        )
        text = await analyse(self._step, await self._role(one), self._brief(), part, self._staged)
        return await self._keep_analysis(one, text)

    async def _keep_analysis(self, one: PlannedStep, text: str) -> str:
        await self._staged.load(self._step, one.expected_outputs)
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
        verdict = await review_change(self._step, await self._role(one), self._brief(), part, diff)
        if verdict.verdict == "reject":
            raise StepFailed(f"the change was rejected: {verdict.words or 'no reason was given'}")
        return verdict.words or "approved"

    async def _write(self, one: PlannedStep) -> str:
        """Write a step's files; tests that exist are kept."""
        wanted = one.expected_outputs or self._all_files()
        if not wanted:
            raise StepFailed("it names no file in `expectedOutputs`, and no other step does")
        if sources := {self._edited_by[name] for name in wanted if name in self._edited_by}:
            wanted = [name for name in wanted if name not in self._edited_by]
            if not wanted:
                return f"taken from {', '.join(sorted(sources))}"
        if one.type == "testing":
            wanted = [name for name in wanted if not await self._exists(name)]
            if not wanted:
                return "the tests are there already"
        before = self.changes
        # one request per document, so that none is left out
        parts = [[name] for name in wanted] if one.type == "documentation" else [wanted]
        for files in parts:
            await self._execute(one, files)
        missing = [name for name in one.expected_outputs if not await self._exists(name)]
        if missing:
            raise StepFailed(f"the step did not write: {', '.join(missing)}")
        touched = sorted({change.path for change in self.changes if change not in before})
        return f"changed: {', '.join(touched)}" if touched else "nothing had to be changed"

    def _all_files(self) -> list[str]:
        """Return all files of the plan, for a step that names none."""
        return list(dict.fromkeys(name for one in self._plan.writing for name in one.expected_outputs))

    async def _execute(self, one: PlannedStep, files: list[str]) -> None:
        order = ExecutionPlan(
            objective=self._plan.objective or self._plan.title,
            steps=[
                PlanStep(
                    type=_EXECUTOR_STEPS[one.type],
                    description=f"{one.name}: {one.description}",
                    files=list(files),
                )
            ],
            files=sorted(set(files)),
            rollback_strategy=self._plan.rollback_strategy,
        )
        done = await execute_plan(
            self._step, await self._role(one), self._brief(), order, staged=self._staged
        )
        if problems := [*done.result.errors, *filter(None, [done.unfinished])]:
            raise StepFailed("; ".join(problems))

    async def _role(self, one: PlannedStep) -> Role:
        return await asyncio.to_thread(_role_of, self._roles, one)

    async def _exists(self, name: str) -> bool:
        if self._staged.knows(name):
            return self._staged.text(name) is not None
        return self._step.workspace.resolve(name).is_file()

    def _brief(self) -> TaskBrief:
        return TaskBrief(self._plan.title, "\n\n".join(self.notes))
