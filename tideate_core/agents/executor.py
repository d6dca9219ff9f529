"""The executor: ask for the edits of a plan, and stage them in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tideate_core.agents.file_edits import (
    Edit,
    edit_files,
    fit_together,
    removes,
)
from tideate_core.agents.model_input import named_files, real_names, text_budget
from tideate_core.agents.plan_document import plan_as_markdown
from tideate_core.agents.records import is_document, is_record
from tideate_core.agents.stage import open_stage
from tideate_core.agents.staged_files import StagedFiles
from tideate_core.agents.tools.check_commands import runnable_checks
from tideate_core.agents.writer import Bounds, files_for_work, within_plan
from tideate_core.edits import NO_CHANGE
from tideate_core.errors import BudgetReached, ContextTooLong, StepTimedOut, UnusableAnswer
from tideate_core.gates import ExecutionPlan, TaskResult
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from tideate_core.adapters import Prompt
    from tideate_core.agents.roles import Role
    from tideate_core.agents.stage import Stage, TaskBrief
    from tideate_core.gates import AuditReport, PlanStep
    from tideate_core.workflows import StepContext

DELETES: Final = frozenset({"delete", "remove"})
MOVES: Final = frozenset({"move", "rename"})


@dataclass(frozen=True, slots=True)
class Executed:
    """The edits of a plan, and the result for gate 3."""

    changes: list[FileChange]
    result: TaskResult
    notes: list[str] = field(default_factory=list)
    """Notes on inexact matches and on files that were left out."""
    limit: str = ""
    """The limit that ended the work early; empty if the plan was carried out."""
    missing: list[str] = field(default_factory=list)
    """Files of the plan without staged edits, if a limit ended the work."""

    @property
    def unfinished(self) -> str:
        """Message about an unfinished plan; empty if it was carried out."""
        if not self.limit:
            return ""
        words = f"unfinished: {self.limit} was reached before the plan was carried out"
        return f"{words}; nothing is staged of {', '.join(self.missing)}" if self.missing else words


@dataclass(frozen=True, slots=True)
class _Part:
    """One question: its files and its instruction."""

    files: tuple[str, ...]
    order: str
    wanted: tuple[str, ...] = ()


async def execute_plan(
    step: StepContext,
    role: Role,
    brief: TaskBrief,
    plan: ExecutionPlan,
    *,
    audit: AuditReport | None = None,
    beyond: bool = True,
    staged: StagedFiles | None = None,
    go_on: Callable[[Executed], Awaitable[bool]] | None = None,
) -> Executed:
    """Ask for a plan's edits: all at once if the model can, else step by step or file by file.

    An unusable answer becomes an error of the result. If a budget or the role's time is used up, the edits
    made so far are returned.

    :param audit: the plan's audit; its remarks are shown to the model.
    :param beyond: allow deleting or emptying files that no step of the plan deletes or moves. False in a task
        that nobody reviews: the model could make a test pass by removing it.
    :param staged: earlier edits; the plan's edits are added to them, in place.
    :param go_on: called with unfinished work; returns whether to continue, in a stage with new budgets.
    """
    remarks = audit if audit is not None and audit.issues else None
    execution = _Execution(plan, remarks, staged or StagedFiles(), beyond=beyond)
    while True:
        try:
            async with open_stage(step, role, brief, paths=named_files(plan)) as stage:
                limit = await execution.run(stage)
        except BudgetReached as error:
            limit = error.limit
        except StepTimedOut:
            limit = f"timeout of the role {role.name} ({role.timeout} ms)"
        done = execution.done(limit)
        if not limit or go_on is None or not await go_on(done):
            return done


class _Execution:
    _stage: Stage

    def __init__(
        self,
        plan: ExecutionPlan,
        remarks: AuditReport | None,
        staged: StagedFiles,
        *,
        beyond: bool,
    ) -> None:
        self._plan = plan
        self._remarks = remarks
        self._staged = staged
        self._errors: list[str] = []
        self._notes: list[str] = []
        self._records: frozenset[str] = frozenset()
        self._beyond = beyond
        self._limit = ""
        self._prepared = False
        self._parts_left = self._parts()
        self._part: _Part | None = None
        """The question being asked."""

    async def run(self, stage: Stage) -> str:
        """Carry out the rest of the plan; return the limit that ended the work, or an empty text."""
        self._stage = stage
        if not self._prepared:
            await self._prepare()
            self._prepared = True
        if stage.may_work:
            return await self._work()
        try:
            while part := self._part or next(self._parts_left, None):
                self._part = part
                await self._try(part)
                self._part = None
        except (ContextTooLong, UnusableAnswer) as error:
            self._errors.append(str(error))  # later parts may depend on it: ask for no more
        return ""

    async def _prepare(self) -> None:
        named = self._named(named_files(self._plan))
        records = [path for path in named if is_record(path, self._stage.step)]
        if len(records) == len(named):
            records = []  # the task is about them
        self._records = frozenset(records)
        if records:
            self._notes.append(f"{', '.join(records)}: left to the documentation")
        await self._staged.load(self._stage.step, [path for path in named if path not in records])
        hidden = self._staged.hidden
        self._notes += [f"{path} was left out: {why}" for path, why in hidden.items()]

    async def _work(self) -> str:
        """Carry out the plan with a model that can call tools; return the limit that ended the work."""
        earlier = self._stage.step.conversation(self._stage.step.step) if self._limit else None
        prompt = self._prompt_to_continue() if earlier else await self._prompt_to_work()
        bounds = Bounds(within_plan(self._stage.step, self._why_not), self._missing)
        done = await self._stage.write(prompt, self._staged, bounds, earlier=earlier)
        self._notes += done.remarks
        return done.exhausted

    def _prompt_to_continue(self) -> Prompt:
        return self._stage.render(
            "task_work_on",
            limit=self._limit,
            files=sorted(self._staged.changed_texts()),
            missing=self._untouched(),
        )

    async def _prompt_to_work(self) -> Prompt:
        files = self._editable(named_files(self._plan))
        return self._stage.render(
            "task_work",
            plan=plan_as_markdown(self._plan, self._remarks).strip(),
            remarks=self._remarks is not None,
            checks=await runnable_checks(self._stage.step),
            files=await files_for_work(self._stage.step, self._staged, files),
        )

    def _refused_removals(self) -> list[str]:
        removable = self._removable(self._named(named_files(self._plan)))
        return [
            f"{change.path} may not be deleted, moved or emptied in a task without a review"
            for change in self._staged.changes()
            if not self._beyond and removes(change) and change.path not in removable
        ]

    def _untouched(self) -> list[str]:
        """Return the files of the plan without staged edits; documents are left to the documenter."""
        files, changed = self._editable(named_files(self._plan)), self._staged.changed_texts()
        return [path for path in files if path not in changed and not is_document(path)]

    def _why_not(self, path: str) -> str | None:
        """Return why a file may not be changed; empty if it may, None to ask the person."""
        if path in self._records:
            return "it is kept by somebody else after the change"
        if path in self._named(named_files(self._plan)):
            return ""
        return None if self._beyond else "the plan does not name it, and nobody reviews this task"

    def _missing(self, staged: StagedFiles) -> list[str]:
        """Return a message for each file that the plan creates and the staged edits do not."""
        new = [path for step in self._plan.steps if _kind(step) == "create" for path in step.files]
        return [
            f"{path}, which the plan creates, does not exist"
            for path in self._editable(new)
            if staged.text(path) is None and not is_document(path)
        ]

    async def _try(self, part: _Part) -> None:
        try:
            await self._edit(part)
        except ContextTooLong:
            if len(part.files) == 1:
                raise
            for path in part.files:  # the size that fits was only a guess
                await self._edit(_single_file(path, part.order))

    def done(self, limit: str) -> Executed:
        """Return the staged edits and their result.

        :param limit: the limit that ended the work; empty if it is finished.
        """
        self._limit = limit
        changes, errors = self._staged.changes(), [*self._errors, *self._refused_removals()]
        if not changes and not errors and not limit:
            reasons = [f"{path}: {why}" for path, why in self._staged.hidden.items()]
            errors.append("; ".join(["the plan was carried out and changes no file", *reasons]))
        notes, self._notes = self._notes, []
        missing = self._untouched() if limit and self._prepared else []
        return Executed(changes, result_of(changes, errors), notes, limit, missing)

    def _parts(self) -> Iterator[_Part]:
        """Yield the questions to ask; each shows the files with the edits of the earlier ones."""
        steps = [step for step in self._plan.steps if not self._only_documents(step)]
        simple = [step for step in steps if _kind(step) not in DELETES | MOVES]
        at_once = self._editable(named_files(self._plan))
        if len(simple) == len(steps) and at_once and fit_together(self._stage.step, self._staged, at_once):
            # a document may be left to the documenter
            new = (path for path in at_once if self._staged.text(path) is None)
            wanted = tuple(path for path in new if not is_document(path))
            yield _Part(at_once, "Carry out this plan.", wanted)
            return
        for number, step in enumerate(self._plan.steps, 1):
            if step in steps and not self._apply_without_model(step):
                yield from self._parts_of(number, step)

    def _parts_of(self, number: int, step: PlanStep) -> Iterator[_Part]:
        files = self._editable(step.files or named_files(self._plan))
        order = f"Carry out step {number} of this plan: {step.description}"
        if files and fit_together(self._stage.step, self._staged, files):
            yield _Part(files, order)
            return
        for path in files:
            yield _single_file(path, order)

    def _only_documents(self, step: PlanStep) -> bool:
        return bool(step.files) and self._records.issuperset(self._named(step.files))

    def _editable(self, paths: Sequence[str]) -> tuple[str, ...]:
        return tuple(path for path in self._named(paths) if self._staged.knows(path))

    def _named(self, paths: Sequence[str]) -> list[str]:
        return real_names(self._stage.step.workspace, paths)

    def _removable(self, files: Sequence[str]) -> frozenset[str]:
        if self._beyond:
            return frozenset(files)
        steps = (step for step in self._plan.steps if _kind(step) in DELETES | MOVES)
        return frozenset(files).intersection(path for step in steps for path in self._named(step.files))

    def _apply_without_model(self, step: PlanStep) -> bool:
        """Carry out a step that needs no model: deletions and plain moves. Return whether it was one."""
        kind, files = _kind(step), self._editable(step.files)
        if kind in DELETES | MOVES:
            no_text = [path for path in self._named(step.files) if self._staged.is_no_text(path)]
            for path in self._named(step.files):
                if path not in no_text and (why := self._staged.hidden.get(path)):
                    raise UnusableAnswer(f"{path} cannot be removed or moved: {why}")
            if no_text:
                files = tuple(path for path in self._named(step.files) if path in (*files, *no_text))
        if kind in DELETES and files:
            for path in files:
                self._delete(path)
            return True
        if kind not in MOVES or not files or len(files) % 2:
            return False
        for source, target in zip(files[::2], files[1::2], strict=True):
            self._move(source, target)
        return True

    def _delete(self, path: str) -> None:
        if self._staged.is_no_text(path):
            self._staged.stage_bytes(path, None)
        elif (old := self._staged.text(path)) is not None:
            self._staged.stage([FileChange(path, "delete", old, None)])

    def _move(self, source: str, target: str) -> None:
        if self._staged.is_no_text(source) and self._staged.text(target) is None:
            self._staged.stage_bytes(source, target)
            return
        old, new = self._staged.text(source), self._staged.text(target)
        if old is None or new is not None:
            why = f"{source} does not exist" if old is None else f"{target} exists already"
            raise UnusableAnswer(f"{source} cannot be moved to {target}: {why}")
        self._staged.stage([FileChange(source, "move", old, old, move_to=target)])

    async def _edit(self, part: _Part) -> None:
        step, budget = self._stage.step, text_budget(self._stage.step)
        size = sum(len(self._staged.text(path) or "") for path in part.files)
        if budget is not None and size > budget:
            raise ContextTooLong(
                f"{', '.join(part.files)}: {size} characters do not fit this model, which can rewrite about "
                f"{budget}"
            )
        step.notice(f"asking for the edits of {', '.join(part.files)}")
        edited = await edit_files(
            self._stage,
            "task_execute",
            self._staged,
            Edit(part.files, part.wanted, self._removable(part.files)),
            plan=plan_as_markdown(self._plan, self._remarks).strip(),
            remarks=self._remarks is not None,
            order=part.order,
        )
        self._notes += edited.notes


def _kind(step: PlanStep) -> str:
    return step.type.strip().lower()


def _single_file(path: str, order: str) -> _Part:
    rest = f"Now do only what it asks for in {path}. If that is nothing, answer only: {NO_CHANGE}"
    return _Part((path,), f"{order}\n\n{rest}")


def result_of(changes: Sequence[FileChange], errors: Sequence[str] = ()) -> TaskResult:
    """Return the task result that describes a list of changes."""
    created = [change.path for change in changes if change.action == "create"]
    moved = [change for change in changes if change.action == "move"]
    return TaskResult(
        files_created=[*created, *(change.move_to for change in moved if change.move_to)],
        files_modified=[change.path for change in changes if change.action == "modify"],
        files_deleted=[change.path for change in changes if change.action == "delete" or change in moved],
        errors=list(errors),
    )
