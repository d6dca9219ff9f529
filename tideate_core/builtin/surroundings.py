"""Prompt context around edited lines: file, diagnostics, project memory; consent for secrets."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from tideate_core.agents import MEMORY_FILE, is_small, memory_material, text_budget, why_hidden
from tideate_core.engine import before, earlier_runs, with_material
from tideate_core.util.tokens import CHARACTERS_PER_TOKEN
from tideate_core.workflows import Declined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.adapters import Prompt
    from tideate_core.engine import Subject
    from tideate_core.workflows import Cursor, DiagnosticContext, RunContext, StepContext

WHOLE: Final = 40_000
"""Characters up to which a whole file is shown."""
NEAR: Final = 100
"""Lines shown before and after the cursor of a longer file."""
TOP: Final = 40
"""Lines shown from the top of a file, for its imports, and before and after an edit."""
ORIENTATION: Final = 15
"""Lines of context before and after the edited place."""
NO_FILE: Final[Mapping[str, Any]] = MappingProxyType({"path": "", "first": None, "top": "", "outline": ""})
"""Prompt variables of a place outside any file."""


def lines_near(subject: Subject, cursor: Cursor | None) -> Subject:
    """Return the lines around the cursor, or all lines of a short text."""
    total, line = len(subject.lines), cursor.line if cursor else 1
    if total <= 2 * NEAR:
        return replace(subject, start=0, end=total, selected=False)
    start = max(0, min(line - NEAR, total - 2 * NEAR))
    return replace(subject, start=start, end=start + 2 * NEAR, selected=True)


async def with_memory(
    step: StepContext, prompt: Prompt, *, paths: Sequence[str] | None = None, rules: bool = True
) -> Prompt:
    """Return a prompt with its context material and, before it, the project's memory.

    :param rules: False if the conversation already has the project's rules and memory.
    """
    prompt = await with_material(step, prompt, paths=paths, rules=rules)
    return before(prompt, "\n\n".join(filter(None, await project_memory(step))) if rules else "")


async def project_memory(step: StepContext) -> tuple[str, str]:
    """Return the project's notes and related earlier runs; empty if memory is off or the model is small."""
    if is_small(step) or step.memory_of is None:
        return "", ""
    notes = await memory_material(step)
    if notes:
        await step.choose_for_run("memory_told", "", partial(_tell_of_notes, step, notes))
    return notes, await earlier_runs(step)


async def _tell_of_notes(step: StepContext, notes: str) -> bool:
    step.notice(f"memory: {MEMORY_FILE} (~{len(notes) // CHARACTERS_PER_TOKEN} tokens)")
    return True


async def ask_about_secrets(step: StepContext, subject: Subject | None, *, needed: bool = False) -> None:
    """Ask whether the model may see a file, or selected lines, that may hold secrets.

    Other secrets of the text are hidden from the model without a question.

    :param needed: the model must see all of the lines, because it replaces them.
    :raises Declined: the model may not see the text, and the step needs it.
    """
    from tideate_core.mentions import secret_in, secret_name

    if subject is None:
        return
    named = secret_name(subject.path)
    first, last = subject.start + 1, subject.end
    if not named and not ((needed or subject.selected) and secret_in(subject.buffer.text, first, last)):
        return
    why = await why_hidden(step, subject.path or "the text", subject.buffer.text)
    if why and (named or needed):
        raise Declined(f"{subject.path or 'the text'}: {why}, and no person agreed to send it to the model")


def diagnostics(context: RunContext, subject: Subject) -> list[DiagnosticContext]:
    """Return the diagnostics within the subject's lines."""
    return [one for one in context.diagnostics or () if subject.start < one.line <= subject.end]


async def surroundings(step: StepContext, subject: Subject) -> dict[str, Any]:
    """Return the prompt variables of the context around the lines to change; empty for a small model.

    The whole file if it fits, else its outline.
    """
    nothing: dict[str, Any] = {"whole": "", "outline": "", "diagnostics": []}
    if is_small(step):
        return nothing
    found = {**nothing, "diagnostics": diagnostics(step.context, subject)}
    if (subject.start, subject.end) == (0, len(subject.lines)):
        return found
    if _fits(step, subject.buffer.text):
        return {**found, "whole": "\n".join(line.removesuffix("\r") for line in subject.lines)}
    return {**found, "outline": await _outline(subject)}


def nearby(step: StepContext, subject: Subject) -> dict[str, Any]:
    """Return the prompt variables of the lines around an edit, the file's first lines, and diagnostics.

    Reads and parses nothing. A small model sees fewer lines, the demonstration model only the edited ones.
    """
    small = is_small(step)
    around = subject.around(0 if step.demonstration else ORIENTATION if small else TOP)
    if small:
        return {**around, "top": "", "diagnostics": []}
    shown = replace(subject, start=max(0, subject.start - TOP), end=subject.end + TOP)
    top = "\n".join(subject.lines[: min(TOP, shown.start)]).strip("\n")
    return {**around, "top": top, "diagnostics": diagnostics(step.context, shown)}


async def file_around(step: StepContext, subject: Subject, line: int) -> dict[str, Any]:
    """Return the prompt variables of the file that receives new lines; empty for a small model.

    :param line: insertion line, 0-based.
    """
    if is_small(step):
        return dict(NO_FILE)
    top = "\n".join(subject.lines[: min(TOP, max(0, line - TOP))]).strip("\n")
    return {"path": subject.path, "first": line or None, "top": top, "outline": await _outline(subject)}


def _fits(step: StepContext, text: str) -> bool:
    budget = text_budget(step)
    return len(text) <= WHOLE and (budget is None or 2 * len(text) <= budget)


async def _outline(subject: Subject) -> str:
    from tideate_core.mentions import outline

    return "\n".join(
        await asyncio.to_thread(outline, subject.buffer.text, subject.path, subject.buffer.filetype)
    )
