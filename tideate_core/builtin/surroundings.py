"""Surroundings of the text that a workflow is about: the file as a whole or in outline, its diagnostics."""

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

__all__ = [
    "NO_FILE",
    "ask_about_secrets",
    "diagnostics",
    "file_around",
    "near",
    "project_memory",
    "surroundings",
    "with_memory",
]

WHOLE: Final = 40_000
"""Characters up to which a file is shown as a whole."""
NEAR: Final = 100
"""Lines before and after the cursor that a question is about where the file is longer than that."""
TOP: Final = 40
"""First lines of a file, which hold its imports."""
NO_FILE: Final[Mapping[str, Any]] = MappingProxyType({"path": "", "first": None, "top": "", "outline": ""})
"""The variables of a prompt about a place that is in no file."""


def near(subject: Subject, cursor: Cursor | None) -> Subject:
    """Return the lines around the cursor: all where the text is short."""
    total, line = len(subject.lines), cursor.line if cursor else 1
    if total <= 2 * NEAR:
        return replace(subject, start=0, end=total, selected=False)
    start = max(0, min(line - NEAR, total - 2 * NEAR))
    return replace(subject, start=start, end=start + 2 * NEAR, selected=True)


async def with_memory(
    step: StepContext, prompt: Prompt, *, paths: Sequence[str] | None = None, rules: bool = True
) -> Prompt:
    """Return a prompt with what `with_material` brings, and the project's memory before it.

    :param rules: False: a conversation that goes on has the rules and the memory already.
    """
    prompt = await with_material(step, prompt, paths=paths, rules=rules)
    return before(prompt, "\n\n".join(filter(None, await project_memory(step))) if rules else "")


async def project_memory(step: StepContext) -> tuple[str, str]:
    """Return the project's notes and the nearest earlier runs; empty if memory is off or the model small."""
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
    """Ask whether a model may see a file that usually holds secrets, or those in the selected lines.

    Other secrets of a text are hidden from the model unasked.

    :param needed: the lines are replaced, so that the model has to see all of them.
    :raises Declined: it may not see them, and nothing can be done without.
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
        raise Declined(f"{subject.path or 'the text'}: {why}, and nobody agreed to give it to the model")


def diagnostics(context: RunContext, subject: Subject) -> list[DiagnosticContext]:
    """Return what language servers and linters say of the subject's lines."""
    return [one for one in context.diagnostics or () if subject.start < one.line <= subject.end]


async def surroundings(step: StepContext, subject: Subject) -> dict[str, Any]:
    """Return what a model sees beside the lines that are to be changed; a small one nothing of it.

    The whole file where it fits, else what it defines.
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


async def file_around(step: StepContext, subject: Subject, line: int) -> dict[str, Any]:
    """Return what a model sees of the file that new lines go into; a small one nothing of it.

    :param line: 0-based, before which they go.
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
