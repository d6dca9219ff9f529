"""The writer: a model stages edits with tools, or plans them first; consent to unplanned files."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, Field

from tideate_core.adapters import OfferedTool, ToolResult
from tideate_core.agents.answers import Answer, tidy_line, tidy_text
from tideate_core.agents.asking import (
    LOOKING,
    LookingModel,
    RememberedModel,
    may_look,
)
from tideate_core.agents.file_plan import Plan, PlannedFile
from tideate_core.agents.loop import ACCEPTED, Submission, WorkLoop
from tideate_core.agents.model_input import outline_long_files, text_budget
from tideate_core.agents.staged_files import StagedFiles, shown_of
from tideate_core.agents.tools.edit_report import new_problems
from tideate_core.agents.tools.table import tools_named
from tideate_core.agents.tools.tool import ToolContext, fit_tools, lean_schema, offer_tools
from tideate_core.util.escaping import label

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tideate_core.adapters import Conversation, ModelTurn, Prompt, RequestedCall
    from tideate_core.agents.model_input import ShownFile
    from tideate_core.agents.tools.tool import MayChange
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import FileChange

SUBMIT_PLAN: Final = "submit_plan"
SUBMIT_WORK: Final = "submit_work"
WRITING: Final = (*LOOKING, "edits", "checks")
"""Groups of tools for a model that edits."""


UNPLANNED: Final = "unplanned"
"""Key of the person's decisions on files outside the plan, by path."""


HAND_PLAN: Final = "Hand in the plan; later calls of the turn run after the person agrees to it."
HAND_IN: Final = "Hand in the staged edits; this ends the work."
PLAN_FIRST: Final = f"hand in the plan with {SUBMIT_PLAN} first, in this turn if you like"
PLANNED: Final = f"the plan is agreed to; carry it out, and hand the work in with {SUBMIT_WORK}"
NOT_AGREED: Final = "not called: the person did not agree to the plan"


class Handover(Answer):
    """The model's summary of its work, submitted with it."""

    summary: str = Field(max_length=4_000, description="The change and its reasons, in a few lines.")
    open_points: list[str] = Field(
        default_factory=list,
        max_length=20,
        description="Work that you could not do, or decisions for a person.",
    )


@dataclass(frozen=True, slots=True)
class WrittenWork:
    """The staged edits of a piece of work."""

    changes: list[FileChange]
    summary: str = ""
    notes: list[str] = field(default_factory=list)
    """Failed points, for the person."""
    open_points: list[str] = field(default_factory=list)
    """Points that the model left open, for the person."""
    exhausted: str = ""
    """The limit that ended the work before it was submitted."""

    @property
    def remarks(self) -> list[str]:
        """Failed and open points, and the summary."""
        return [*self.notes, *self.open_points, *([self.summary] if self.summary else [])]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of a piece of work.

    :param may_change: returns the files that may not be changed, with reasons; empty if all may.
    :param find_missing: returns what the staged edits lack; called when the work is submitted.
    """

    may_change: MayChange | None = None
    find_missing: Callable[[StagedFiles], Sequence[str]] = lambda _staged: ()


async def write_with_tools(
    step: StepContext,
    key: str,
    prompt: Prompt,
    staged: StagedFiles,
    bounds: Bounds,
    *,
    more_tools: Sequence[OfferedTool] = (),
    adapter: str | None = None,
    earlier: Conversation | None = None,
    taken_up: Sequence[RequestedCall] = (),
    rested: bool = False,
    on_turn: Callable[[ModelTurn], None] | None = None,
) -> WrittenWork:
    """Have a model make edits with tools and stage them; it is asked to fix new syntax errors.

    An agent makes the edits with its own tools, in a guarded copy.

    If a limit ends the work, the edits staged so far are returned.

    :param key: identifies this work within the step.
    :param earlier: the conversation to continue.
    :param taken_up: like `rested`, see `WorkLoop.run`.
    :param on_turn: called after each turn; an exception that it raises ends the work.
    """
    if (agent := step.agent(adapter)) is not None:
        from tideate_core.agents.guarded_turn import stage_with_agent

        may_change = bounds.may_change
        text, notes = await stage_with_agent(step, agent, key, prompt, staged, may_change, earlier=earlier)
        return WrittenWork(await step.workspace.attach(staged.changes()), text, notes)
    tools = await _tools(step, staged, bounds.may_change)
    loop: WorkLoop[Handover] = WorkLoop(
        step,
        key,
        [*tools, *more_tools],
        submission=_submission(staged, bounds),
        other_phases=[_refusing_tool(SUBMIT_PLAN, Plan, HAND_PLAN, PLANNED)] if earlier else (),
        staged=staged,
        adapter=adapter,
        words=_words(step),
        on_turn=on_turn,
    )
    if earlier is not None:
        note_shown_in(staged, earlier)
    try:
        done = await loop.run(prompt, earlier, taken_up, rested=rested)
    finally:
        step.keep_conversation(loop.conversation, staged.changes())
    changes = await step.workspace.attach(staged.changes())
    notes = [done.refused] if done.refused else []
    if done.value is None:
        return WrittenWork(changes, tidy_text(done.text), notes, exhausted=done.exhausted)
    points = list(filter(None, map(tidy_line, done.value.open_points)))
    return WrittenWork(changes, tidy_text(done.value.summary), notes, points)


async def planning_model(
    step: StepContext, key: str, *, earlier: Conversation | None = None
) -> LookingModel | RememberedModel:
    """Return the run's model for a plan that it carries out later, in the same conversation.

    If it can call tools it has those of `write_with_tools` already; tools that edit refuse.

    :param earlier: the conversation that its first question continues.
    """

    if not may_look(step):
        return RememberedModel(step, earlier)

    async def not_yet(_paths: Sequence[str]) -> str:
        return PLAN_FIRST

    staged = StagedFiles()
    return LookingModel(
        step,
        key,
        await _tools(step, staged, not_yet),
        staged=staged,
        earlier=earlier,
        words=_words(step),
        submit=SUBMIT_PLAN,
        about=HAND_PLAN,
        after=NOT_AGREED,
        other_phases=[_refusing_tool(SUBMIT_WORK, Handover, HAND_IN, PLAN_FIRST)],
    )


async def editing_model(
    step: StepContext, key: str, staged: StagedFiles, *, earlier: Conversation | None = None, words: str = ""
) -> LookingModel:
    """Return a model for conversations: it may stage edits, and ends its work with an answer.

    :param earlier: the conversation that its first question continues.
    :param words: further instructions, for the system prompt.
    """
    tools, words = await _tools(step, staged, None), f"{step.render('look').system}\n\n{words}"
    return LookingModel(step, key, tools, staged=staged, earlier=earlier, words=words, continues=True)


def note_shown_in(staged: StagedFiles, conversation: Conversation) -> None:
    """Record the loaded texts shown in a conversation."""
    for result in conversation.messages:
        if isinstance(result, ToolResult) and result.call.name == "read_file":
            path, text = str((result.call.arguments or {}).get("path")), result.text.partition("\n")[2]
            if staged.knows(path) and staged.text(path) == text:
                staged.note_shown(path)


def calls_after_plan(
    earlier: Conversation, planned: Sequence[PlannedFile]
) -> tuple[Conversation, Sequence[RequestedCall]]:
    """Return a planning conversation up to its submitted plan, and the submission with the calls after it.

    There are no calls if the person agreed to another plan.
    """
    kept, calls = earlier.reopened(SUBMIT_PLAN, ACCEPTED)
    if calls and Plan.model_validate(calls[0].arguments).files == planned:
        return kept, calls
    return earlier, ()


async def _tools(step: StepContext, staged: StagedFiles, may_change: MayChange | None) -> list[OfferedTool]:
    tools = tools_named(WRITING, editor=step.editor is not None)
    context = ToolContext(step, staged, may_change)
    return offer_tools(await fit_tools(tools, context), context)


def _words(step: StepContext) -> str:
    return step.render("work").system


def _refusing_tool(name: str, shape: type[BaseModel], description: str, why: str) -> OfferedTool:
    """Return a submitting tool of another phase, which refuses each call."""

    async def refuse(_arguments: dict[str, Any], _key: str) -> str:
        return f"error: {why}"

    return OfferedTool(name, description, lean_schema(shape), refuse)


async def files_for_work(step: StepContext, staged: StagedFiles, files: Sequence[str]) -> list[ShownFile]:
    """Return files for the prompt of a piece of work; files that are shown whole count as read."""
    shown = await outline_long_files(shown_of(staged, files), text_budget(step))
    for file in shown:
        if file.outline is None:
            staged.note_shown(file.path)
    return shown


def within_plan(step: StepContext, why_not: Callable[[str], str | None]) -> MayChange:
    """Return a callback that asks the person once about files outside the plan.

    :param why_not: returns why a file may not be changed, empty if it may, None to ask the person.
    """

    async def may_change(paths: Sequence[str]) -> str:
        reasons = {path: why_not(path) for path in paths}
        if refused := [f"{path}: {why}" for path, why in reasons.items() if why]:
            return "; ".join(refused)
        return await _why_unplanned(step, [path for path, why in reasons.items() if why is None])

    return may_change


async def _why_unplanned(step: StepContext, paths: Sequence[str]) -> str:
    """Ask the person, in one question, whether files outside the plan may be changed.

    :returns: the refused files with the reason; empty if all are allowed.
    """
    decided: dict[str, bool] = dict(step.recall(UNPLANNED) or {})
    if new := [path for path in paths if path not in decided]:
        what, them = (label(new[0]), "it") if len(new) == 1 else (f"{len(new)} more files", "them")
        listed = "".join(f"- {label(path)}\n" for path in new) if len(new) > 1 else ""
        rest = "If you answer no, the model continues without it. Its changes are reviewed in any case."
        question = f"{step.step}: may the model also change {what}? The plan does not name {them}."
        decision = await step.confirm("gate", question, details=f"{listed}\n{rest}" if listed else rest)
        decided |= dict.fromkeys(new, decision.accepted)
        await step.remember(UNPLANNED, decided)
    refused = [path for path in paths if not decided[path]]
    if not refused:
        return ""
    it = "it" if len(refused) == 1 else "them"
    return f"{', '.join(refused)}: the plan does not name {it}, and the person does not want {it} changed"


def _submission(staged: StagedFiles, bounds: Bounds) -> Submission[Handover]:
    told = set[str]()

    async def accept(_handover: Handover) -> str:
        problems = await asyncio.to_thread(new_problems, staged.changes())
        # reported once only: the model may have a reason
        missing = [one for one in bounds.find_missing(staged) if one not in told]
        told.update(missing)
        errors = [f"{one.path}:{one.line}: new syntax error: {one.message}" for one in problems]
        return "; ".join([*errors, *missing])

    advice = "fix this, or hand in again if it is intended"
    return Submission(Handover, HAND_IN, accept, SUBMIT_WORK, needs_success=True, advice=advice)
