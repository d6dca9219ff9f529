"""The documenter: stage updates of changelog, checklist, documents and memory after a task."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from pydantic import Field

from tideate_core.agents.answers import Answer, PathText, ask_until_valid, tidy_line
from tideate_core.agents.coder import edit_format, write_text
from tideate_core.agents.model_input import (
    is_small,
    named_files,
    read_if_there,
    real_names,
    text_budget,
    why_hidden,
)
from tideate_core.agents.records import (
    MEMORY_FILE,
    UPDATE_MEMORY,
    Records,
    add_entry,
    has_memory,
    is_document,
    read_records,
    tick_items,
)
from tideate_core.agents.stage import open_stage
from tideate_core.errors import ContextTooLong, UnusableAnswer, WorkspaceError
from tideate_core.gates import DocumentationResult, has_entry
from tideate_core.util.cutting import beginning
from tideate_core.util.markdown import plain_words, read_markdown
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.agents.roles import Role
    from tideate_core.agents.stage import Stage, TaskBrief
    from tideate_core.gates import ExecutionPlan
    from tideate_core.util.markdown import ListItem
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import Source

LONGEST_DIFF: Final = 40_000
"""Characters of the change shown to a model, if its window holds them."""
LONGEST_CHANGELOG: Final = 3_000

Section = Literal["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


class DocumentationAnswer(Answer):
    """The model's answer about the documentation of a change."""

    section: Section = "Changed"
    entry: str = Field(default="", max_length=500)
    """Changelog entry: one line, without a bullet."""
    items: list[int] = Field(default_factory=list, max_length=50)
    """Numbers of the open checklist items that this change completes."""
    documents: list[PathText] = Field(default_factory=list, max_length=20)
    """Documents to update, from the list in the prompt."""


@dataclass(frozen=True, slots=True)
class Documented:
    """The edits of a documentation stage, and its result for gate 4."""

    changes: list[FileChange]
    result: DocumentationResult
    notes: list[str] = field(default_factory=list)


async def document_task(
    step: StepContext, role: Role, brief: TaskBrief, plan: ExecutionPlan, diff: str, files: Sequence[str]
) -> Documented:
    """Update the changelog, the checklist, the plan's documents and the project's memory after a task.

    No model is asked if the project has none of these.

    :param diff: the task's changes, as a patch.
    :param files: files that the task wrote; documents among them are skipped.
    :raises BudgetReached: the role's budget is used up.
    """
    async with open_stage(step, role, brief) as stage:
        step = stage.step
        records, problems = await read_records(step)
        named = real_names(step.workspace, named_files(plan))
        done = {*files, *records.paths}
        documents = [path for path in named if is_document(path) and path not in {*done, MEMORY_FILE}]
        if MEMORY_FILE not in done and await asyncio.to_thread(has_memory, step.workspace):
            documents.append(MEMORY_FILE)
        work = _Documentation(stage, plan, records, documents, _clipped(step, diff), files)
        work.errors += problems
        if records.changelog is None and not problems:
            work.notes.append("the project has no changelog in Markdown; no entry was written")
        if not problems and (records.changelog or records.open_items or documents):
            await work.run()
        return work.done()


def _clipped(step: StepContext, diff: str) -> str:
    budget = text_budget(step)
    limit = LONGEST_DIFF if budget is None else min(LONGEST_DIFF, budget // 2)
    if len(diff) <= limit:
        return diff
    return f"{diff[:limit].rpartition(chr(10))[0]}\n… and more that is not shown here"


@dataclass
class _Documentation:
    stage: Stage
    plan: ExecutionPlan
    records: Records
    documents: Sequence[str]
    diff: str
    files: Sequence[str]
    changes: list[FileChange] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    entry: str = ""
    items: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)

    async def run(self) -> None:
        answer = await self._ask()
        self.stage.continue_conversation()
        self._log(answer)
        self._tick(answer)
        for path in self.documents:
            if path in answer.documents:
                await self._write(path)

    def done(self) -> Documented:
        changelog, checklist = self.records.changelog, self.records.checklist
        result = DocumentationResult(
            success=not self.errors,
            changelog=changelog.path if changelog else None,
            entry=self.entry,
            checklist=checklist.path if checklist else None,
            items=self.items,
            docs=self.written,
            errors=self.errors,
        )
        return Documented(self.changes, result, self.notes)

    async def _ask(self) -> DocumentationAnswer:
        changelog = self.records.changelog
        shown = beginning(changelog.text, LONGEST_CHANGELOG) if changelog else ""
        prompt = self.stage.render(
            "task_document",
            objective=self.plan.objective,
            files=self.files,
            diff=self.diff,
            changelog=shown,
            items=[item.text for item in self.records.open_items],
            documents=self.documents,
            memory=MEMORY_FILE if MEMORY_FILE in self.documents else "",
        )
        answer, mistakes = await ask_until_valid(
            self.stage.step,
            self.stage.ask,
            DocumentationAnswer,
            prompt,
            self._mistakes,
            "This cannot be used: {mistakes}. Give the corrected answer.",
        )
        self.errors += mistakes
        return answer

    async def _mistakes(self, answer: DocumentationAnswer) -> list[str]:
        wrong = []
        if self.records.changelog and not plain_words(_entry_of(answer)):
            wrong.append("it has no entry for the changelog")
        count = len(self.records.open_items)
        wrong += [f"there is no item {number}" for number in answer.items if not 1 <= number <= count]
        known = ", ".join(self.documents) or "none"
        others = [path for path in answer.documents if path not in self.documents]
        wrong += [f"{tidy_line(path)} is none of the documents to update ({known})" for path in others]
        return wrong

    def _log(self, answer: DocumentationAnswer) -> None:
        changelog, entry = self.records.changelog, _entry_of(answer)
        if changelog is None or not plain_words(entry):
            return
        self.entry = entry
        if has_entry(read_markdown(changelog.text), None, entry, None):
            self.notes.append(f"{changelog.path} already has this entry")
            return
        self._change(changelog, add_entry(changelog.text, answer.section, entry))

    def _tick(self, answer: DocumentationAnswer) -> None:
        checklist, items = self.records.checklist, self.records.open_items
        if checklist is None:
            return
        chosen = {items[number - 1].line for number in answer.items if 1 <= number <= len(items)}
        for item in reversed(items):  # sub-items before the items that contain them
            if item.line in chosen and (part := _open_part(item, items, chosen)):
                chosen.discard(item.line)
                words = f"{item.text!r} stays open because its part {part.text!r} is open"
                self.notes.append(f"{checklist.path}:{item.line}: {words}")
        if not chosen:
            return
        self._change(checklist, tick_items(checklist.text, chosen))
        still_open = {plain_words(item.text) for item in items if item.line not in chosen}
        ticked = [item.text for item in items if item.line in chosen]
        # by its words, a repeated item cannot be told from the one that stays open
        self.items = [text for text in ticked if plain_words(text) not in still_open]

    def _change(self, source: Source, after: str) -> None:
        if after != source.text:
            change = FileChange(
                source.path, "modify", source.text, after, buffer=source.buffer, tick=source.tick
            )
            self.changes.append(change)

    async def _write(self, path: str) -> None:
        """Ask for the new text of a document and record the change."""
        step = self.stage.step
        try:
            source = await read_if_there(step.workspace, path)
            text = source.text if source else None
            if text and (why := await why_hidden(step, path, text)):
                self.notes.append(f"{path} was left out: {why}")
                return
            budget = text_budget(step)
            if text and budget is not None and len(text) + len(self.diff) > 2 * budget:
                raise ContextTooLong(f"{path} does not fit this model")
            form = edit_format(text, small=is_small(step))
            prompt = self.stage.render(
                "task_document_write",
                objective=self.plan.objective,
                diff="" if self.stage.may_look else self.diff,  # its conversation has it
                path=path,
                text=text,
                order=UPDATE_MEMORY if path == MEMORY_FILE else f"Update {path} for this change.",
                answer_format=form.instructions,
            )
            written = await write_text(
                step, self.stage.ask, prompt, before=text, language="markdown", path=path, form=form
            )
        except (ContextTooLong, WorkspaceError) as error:
            unnamed = isinstance(error, UnusableAnswer)
            self.errors.append(f"{path}: {error}" if unnamed else str(error))
            return
        self.notes += [f"{path}: {note}" for note in written.notes]
        after = "\n".join(written.lines)
        if source is not None:
            self._change(source, after)
        else:
            self.changes.append(FileChange(path, "create", None, after))
        self.written.append(path)


def _entry_of(answer: DocumentationAnswer) -> str:
    return tidy_line(answer.entry).lstrip("-*+# ")


def _open_part(item: ListItem, items: Sequence[ListItem], chosen: set[int]) -> ListItem | None:
    """Return an open sub-item that stays open.

    :param items: all open items.
    """
    return next((part for part in items if item.has_part(part) and part.line not in chosen), None)
