"""Revision of a task stage's edits under review: the role's model applies the person's comments."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from tideate_core.agents.file_edits import Edit, edit_files, fit_together
from tideate_core.agents.model_input import named_files, real_names
from tideate_core.agents.plan_document import plan_as_markdown
from tideate_core.agents.records import is_record
from tideate_core.agents.stage import open_stage
from tideate_core.agents.staged_files import StagedFiles
from tideate_core.agents.writer import Bounds, within_plan
from tideate_core.errors import ContextTooLong, UnusableAnswer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from tideate_core.adapters import Conversation, Prompt
    from tideate_core.agents.roles import Role
    from tideate_core.agents.stage import Stage, TaskBrief
    from tideate_core.gates import AuditReport, ExecutionPlan
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import FileChange

    Check = Callable[[Sequence[FileChange]], Awaitable[None]]

KEPT_BY_OTHERS: Final = "it is kept by somebody else after the change"


@dataclass(frozen=True, slots=True)
class Comments:
    """A person's comments, in words for a model.

    :param for_conversation: all comments, for the conversation that made the edits.
    :param about: paths of the changes commented on; None: a comment is about all changes.
    :param for_files: returns the comments on changes of these paths, for a model that sees the staged files.
    """

    for_conversation: Prompt
    about: Sequence[str] | None
    for_files: Callable[[Sequence[str]], Prompt]


@dataclass(frozen=True, slots=True)
class RevisedEdits:
    """Edits after a revision.

    :param failed: why changes were not revised, by path.
    :param notes: open or failed points, for the person.
    """

    changes: list[FileChange]
    failed: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class EditsInReview:
    """Edits of one stage under review.

    :param plan: the plan carried out; the person is asked before other files than its own are changed.
    :param changes: the changes of the first round of review.
    :param audit: the plan's audit; its remarks are shown to the model.
    :param removals: files may be deleted, moved or emptied.
    :param earlier: the conversation that made the edits; None: the model is shown the files instead.
    """

    def __init__(
        self,
        step: StepContext,
        role: Role,
        brief: TaskBrief,
        plan: ExecutionPlan,
        changes: Sequence[FileChange],
        *,
        audit: AuditReport | None = None,
        removals: bool = True,
        earlier: Conversation | None = None,
    ) -> None:
        self._step = step
        self._role = role
        self._brief = brief
        self._remarks = audit if audit is not None and audit.issues else None
        self._plan = plan_as_markdown(plan, self._remarks).strip()
        self._names = [name for one in changes for name in (one.path, one.move_to) if name]
        planned = real_names(step.workspace, named_files(plan))
        self._files = {*self._names, *(path for path in planned if not is_record(path, step))}
        self._removals = removals
        self._earlier = earlier
        # a file that is not text can only be deleted or moved
        self._unread = [one for one in changes if one.before is None and one.action != "create"]
        self._shown = list(changes)
        self._staged = self._stage_shown()

    def _stage_shown(self) -> StagedFiles:
        staged = StagedFiles()
        staged.adopt([one for one in self._shown if one not in self._unread])
        return staged

    async def revise(self, comments: Comments, check: Check) -> RevisedEdits:
        """Have the role's model revise the edits.

        :param check: raises if the new edits must not be shown. The reviewed edits stay; a conversation still
            continues from the new ones.
        :raises BudgetReached: the role's budget is used up.
        :raises StepTimedOut: the revision took longer than the role's timeout.
        :raises UnusableAnswer: no answer was usable.
        """
        async with open_stage(self._step, self._role, self._brief, paths=self._names) as stage:
            if self._earlier is not None and stage.may_look:
                done = await self._go_on(stage, self._earlier, comments)
            else:
                done = await self._ask_anew(stage, comments)
        await check(done.changes)
        self._shown = done.changes
        return done

    async def _go_on(self, stage: Stage, earlier: Conversation, comments: Comments) -> RevisedEdits:
        step = stage.step
        bounds = Bounds(within_plan(step, self._why_not))
        # the system prompt stays that of the conversation
        prompt = replace(comments.for_conversation, system=earlier.system)
        try:
            done = await stage.write(prompt, self._staged, bounds, earlier=earlier)
        finally:
            self._earlier = step.conversation(step.step) or earlier
        notes = done.remarks
        if done.exhausted:
            notes.append(f"{done.exhausted} was reached before the revision was handed in")
        return RevisedEdits(await self._changes(), notes=notes)

    def _why_not(self, path: str) -> str | None:
        if path in self._files:
            return ""
        return KEPT_BY_OTHERS if is_record(path, self._step) else None

    async def _ask_anew(self, stage: Stage, comments: Comments) -> RevisedEdits:
        self._staged = self._stage_shown()
        texts = {one.path: one.move_to or one.path for one in self._shown if one not in self._unread}
        about = [*texts] if comments.about is None else comments.about
        failed = {path: "the model has no text of it to change" for path in about if path not in texts}
        commented = {texts[path]: path for path in about if path in texts}
        notes: list[str] = []
        files = list(commented)
        together = fit_together(stage.step, self._staged, files)
        for part in [files] if together else [[file] for file in files]:
            paths = [commented[file] for file in part]
            try:
                notes += await self._edit(stage, part, comments.for_files(paths))
            except (ContextTooLong, UnusableAnswer) as error:
                failed |= dict.fromkeys(paths, str(error))
        if len(failed) == len(about):
            raise UnusableAnswer("; ".join(f"{path}: {why}" for path, why in failed.items()))
        return RevisedEdits(await self._changes(), failed, notes)

    async def _edit(self, stage: Stage, files: Sequence[str], words: Prompt) -> list[str]:
        stage.step.notice(f"asking for a revision of {', '.join(files)}")
        edited = await edit_files(
            stage,
            "task_execute",
            self._staged,
            Edit(tuple(files), removable=frozenset(files if self._removals else ())),
            plan=self._plan,
            remarks=self._remarks is not None,
            order=words.user,
        )
        return edited.notes

    async def _changes(self) -> list[FileChange]:
        return await self._step.workspace.attach([*self._staged.changes(), *self._unread])
