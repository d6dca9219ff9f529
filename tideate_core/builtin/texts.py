"""`ask` and `summarize`: a text in, a text out, nothing changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.agents import clip
from tideate_core.engine import NO_TEXT, Subject, brief, with_material

if TYPE_CHECKING:
    from tideate_core.workflows import StepContext

__all__ = ["query", "summarize"]


async def query(step: StepContext) -> str:
    """Answer a question, about the selection where there is one."""
    subject = Subject.of(step.context)
    about = subject is not None and subject.selected
    return await _answer(step, "ask", subject if about else None)


async def summarize(step: StepContext) -> str:
    """Summarize the selection or the whole text."""
    return await _answer(step, "summarize", Subject.of(step.context))


async def _answer(step: StepContext, prompt: str, subject: Subject | None) -> str:
    variables = subject.variables() if subject else dict(NO_TEXT)
    variables["text"] = clip(step, variables["text"])
    asked = await with_material(step, step.render(prompt, prompt=step.prompt, **variables))
    reply = await step.ask(brief(step, asked))
    if reply.truncated:
        step.notice("the answer was cut off at the model's length limit", level="warn")
    return reply.text.strip()
