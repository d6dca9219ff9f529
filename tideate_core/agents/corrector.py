"""The corrector: ask for edits that fix the failures of a verification."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tideate_core.agents.file_edits import (
    Edit,
    Edited,
    can_be_named,
    edit_files,
    removes,
)
from tideate_core.agents.model_input import is_small, named_files, real_names, text_budget
from tideate_core.agents.plan_document import plan_as_markdown
from tideate_core.agents.remembered_texts import keep_texts, kept_texts
from tideate_core.agents.stage import open_stage
from tideate_core.agents.staged_files import StagedFiles
from tideate_core.agents.writer import Bounds, files_for_work, within_plan
from tideate_core.edits import NO_CHANGE
from tideate_core.errors import ContextTooLong, OutsideRoot, UnusableAnswer
from tideate_core.util.cutting import beginning, ending

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tideate_core.agents.roles import Role
    from tideate_core.agents.stage import Stage, TaskBrief
    from tideate_core.gates import CheckResult, ExecutionPlan, VerificationReport
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import FileChange, Workspace

MOST_FAILURES: Final = 40
"""Failures of one check shown to the model."""
LONGEST_OUTPUT: Final = 4_000
"""Characters from the end of a check's output."""
FINDINGS_SHARE: Final = 4
"""Findings may take one part in this many of the text that fits a model."""


_NEEDED: Final = re.compile(
    r"[\s`*]*NEEDS FILE:?[ \t]+(?:(?P<quote>[`'\"])(?P<quoted>[^\n]+?)(?P=quote)|(?P<plain>[^\n]+?))"
    r"(?:[,:]?[ \t]+because:?[ \t]+(?P<because>[^\n]*)|[,:][ \t]+(?P<reason>[^\n]*)|[`*. \t]*(?:\n|$))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NeededFile:
    """A file that the model needs to see to fix a failure."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Corrected:
    """The edits of a correction; empty if no answer was usable."""

    changes: list[FileChange]
    summary: str
    notes: list[str] = field(default_factory=list)
    no_change: bool = False
    """The model answered for every file that nothing has to change."""
    needs: NeededFile | None = None
    """The file that the model needs first; then there are no edits."""


class _FileNeededError(Exception):
    """Ends the questions: the answer names a file that was not shown."""

    def __init__(self, needed: NeededFile) -> None:
        super().__init__(needed.path)
        self.needed = needed


async def correct_task(
    step: StepContext,
    role: Role,
    brief: TaskBrief,
    plan: ExecutionPlan,
    report: VerificationReport,
    files: Sequence[str],
    *,
    beyond: bool = True,
) -> Corrected:
    """Ask for edits that fix failed checks. No file is deleted, moved or emptied.

    :param files: files that the task has written so far.
    :param beyond: allow changes to any file with failures, not only to files of the plan and the task. False
        in a task that nobody reviews: the model could make a test pass by editing the test.
    :raises BudgetReached: the role's budget is used up.
    """
    async with open_stage(step, role, brief, paths=[*files, *named_files(plan)]) as stage:
        step = stage.step
        staged = StagedFiles()
        failing = await _failing_files(step.workspace, report)
        own = real_names(step.workspace, [*files, *named_files(plan)])
        first = [path for path in failing if beyond or path in own]
        candidates = real_names(step.workspace, [*files, *first, *own])
        key = step.numbered("correction")
        await staged.load(step, candidates, kept_texts(step, key))
        usable = [path for path in candidates if staged.knows(path)]
        if stage.may_work:
            may = usable if not beyond else None
            return await _work(stage, plan, report, staged, usable, may)
        shown = {path: staged.text(path) for path in usable}
        done = await _ask_for(stage, plan, report, staged, usable, failing)
        await keep_texts(step, key, shown)
        return done


async def _ask_for(
    stage: Stage,
    plan: ExecutionPlan,
    report: VerificationReport,
    staged: StagedFiles,
    files: Sequence[str],
    failing: Sequence[str],
) -> Corrected:
    """Ask a model without tools for the edits of files, in as many questions as needed."""
    notes: list[str] = []
    summary, no_change = "", True
    try:
        for part in _parts(stage.step, files, failing, staged):
            edited = await _correct(stage, plan, report, staged, part)
            notes += edited.notes
            no_change = no_change and edited.no_change
    except _FileNeededError as error:
        return Corrected([], "", notes, needs=error.needed)
    except (ContextTooLong, UnusableAnswer) as error:
        summary = str(error)
    changes = staged.changes()
    changed = ", ".join(change.path for change in changes)
    if changes:
        summary = f"corrected {changed}; {summary}" if summary else f"corrected {changed}"
    return Corrected(changes, summary, notes, no_change and not summary)


async def _work(
    stage: Stage,
    plan: ExecutionPlan,
    report: VerificationReport,
    staged: StagedFiles,
    files: Sequence[str],
    only: Sequence[str] | None,
) -> Corrected:
    """Fix failed checks with a model that can call tools.

    :param files: files shown as far as they fit, which may be changed without a question.
    :param only: the only files that may be changed; None: the person is asked about others.
    """

    def why_not(path: str) -> str | None:
        if path in files:
            return ""
        if only is not None:
            return "nobody reviews this task, and neither plan nor task has to do with it"
        return None

    prompt = stage.render(
        "task_correct",
        plan=plan_as_markdown(plan).strip(),
        findings=_fitting_findings(stage.step, report),
        files=await files_for_work(stage.step, staged, files),
        order="Correct what the verification found. If nothing has to change, hand in and say why.",
        answer_format="",
    )
    done = await stage.write(prompt, staged, Bounds(within_plan(stage.step, why_not)))
    notes = [*done.notes, *done.open_points]
    refused = [change.path for change in done.changes if removes(change)]
    if refused:
        return Corrected([], f"a correction may not delete, move or empty {', '.join(refused)}", notes)
    changed = ", ".join(change.path for change in done.changes)
    summary = "; ".join(filter(None, [changed and f"corrected {changed}", done.summary, done.exhausted]))
    return Corrected(done.changes, summary, notes, not done.changes and not done.exhausted)


async def _failing_files(workspace: Workspace, report: VerificationReport) -> list[str]:
    """Return the project's files named in failures."""
    found: list[str] = []
    for result in report.checks:
        for failure in () if result.passed else result.failures:
            try:
                path = workspace.resolve(failure.file) if failure.file else None
            except OutsideRoot:
                continue  # a file of a library
            if path is not None and await asyncio.to_thread(path.is_file):
                found.append(workspace.name_of(path))
    return list(dict.fromkeys(found))


def _parts(
    step: StepContext, usable: Sequence[str], failing: Sequence[str], staged: StagedFiles
) -> Iterable[tuple[str, ...]]:
    """Return the files of each question: all that fit, or one per question for a small model."""
    left = text_budget(step)
    fitting: list[str] = []
    for path in usable:
        size = len(staged.text(path) or "")
        if left is not None and size > left:
            continue
        left = None if left is None else left - size
        fitting.append(path)
    if not fitting:
        raise ContextTooLong("none of the affected files fits this model")
    if not is_small(step) and all(map(can_be_named, fitting)):
        return [tuple(fitting)]
    # one file per question: files with failures first
    return [(path,) for path in sorted(fitting, key=lambda path: path not in failing)]


async def _correct(
    stage: Stage, plan: ExecutionPlan, report: VerificationReport, staged: StagedFiles, files: tuple[str, ...]
) -> Edited:
    def look_at(answer: str) -> None:
        needed = needed_file(answer)
        if needed is None:
            return
        # `./a.py` is `a.py`
        if any(staged.knows(name) for name in real_names(stage.step.workspace, [needed.path])):
            raise UnusableAnswer(f"you may change {needed.path}: it is shown, or is asked about by itself")
        raise _FileNeededError(needed)

    return await edit_files(
        stage,
        "task_correct",
        staged,
        Edit(files, look_at=look_at),
        plan=plan_as_markdown(plan).strip(),
        findings=_fitting_findings(stage.step, report),
        order=(
            f"Correct what the verification found. If nothing has to change here, answer only: {NO_CHANGE}\n"
            "If the cause is in a file that you were not shown, answer only: NEEDS FILE: path, because reason"
        ),
    )


def needed_file(answer: str) -> NeededFile | None:
    """Return the file that an answer asks to see; None if it asks for none."""
    found = _NEEDED.match(answer)
    if found is None:
        return None
    reason = found["because"] or found["reason"] or ""
    return NeededFile((found["quoted"] or found["plain"]).strip(), reason.strip(" .`"))


def _fitting_findings(step: StepContext, report: VerificationReport) -> str:
    budget = text_budget(step)
    return findings_of(report, None if budget is None else budget // FINDINGS_SHARE)


def findings_of(report: VerificationReport, limit: int | None = None) -> str:
    """Describe failed checks: their failures, and the end of their output.

    :param limit: characters in all; None: only the text of each check is bounded.
    """
    failed = [result for result in report.checks if not result.passed]
    each = LONGEST_OUTPUT if limit is None else min(LONGEST_OUTPUT, limit // max(1, len(failed)))
    return "\n\n".join(_finding(result, each) for result in failed)


def _finding(result: CheckResult, limit: int) -> str:
    told = result.failures[:MOST_FAILURES]
    lines = [f"{result.check} ({' '.join(result.command)}): {result.status}"]
    lines += [f"{one.file}:{one.line}: {one.message}" for one in told]
    if len(result.failures) > len(told) or result.more_failures:
        lines.append("… and more")
    words = beginning("\n".join(lines), limit)
    left = limit - len(words)
    tail = ending(result.output.strip(), left)
    return f"{words}\n\nThe end of its output:\n{tail}" if tail else words
