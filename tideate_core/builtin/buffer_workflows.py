"""Steps of `ask`, `summarize`, `refactor` and `generate`: one text in, an answer or reviewed lines out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideate_core.agents import clip, is_small, looking_model, text_budget
from tideate_core.builtin.surroundings import NO_FILE, diagnostics, file_around, near, surroundings
from tideate_core.edits import fence_for
from tideate_core.engine import NO_TEXT, Subject, brief, with_material
from tideate_core.errors import ContextTooLong, InvalidInput
from tideate_core.workflows import Confirm

if TYPE_CHECKING:
    from tideate_core.adapters import Prompt, Reply
    from tideate_core.workflows import StepContext

__all__ = ["analyze", "generate", "query", "refactor", "summarize"]
ORIENTATION = 15
"""Lines before and after the place that a model is shown."""


async def query(step: StepContext) -> str:
    """Answer a question, about the selection where there is one, else about the text around the cursor."""
    subject = Subject.of(step.context)
    if subject is None or subject.selected or is_small(step):
        return await _answer(step, "ask", subject if subject and subject.selected else None)
    cursor = step.context.cursor
    return await _answer(step, "ask", near(subject, cursor), cursor=cursor.line if cursor else None)


async def summarize(step: StepContext) -> str:
    """Summarize the selection or the whole text."""
    subject = Subject.of(step.context)
    asked = await _question(step, "summarize", subject)
    return _text_of(step, await step.ask(asked))


async def _answer(step: StepContext, prompt: str, subject: Subject | None, **more: Any) -> str:
    model = looking_model(step, prompt)
    found = diagnostics(step.context, subject) if subject and not is_small(step) else []
    values = {"cursor": None, "diagnostics": found, "tools": model is not None, **more}
    asked = await _question(step, prompt, subject, **values)
    return _text_of(step, await (model or step).ask(asked))


async def _question(step: StepContext, prompt: str, subject: Subject | None, **more: Any) -> Prompt:
    variables = {**(subject.variables() if subject else NO_TEXT), **more}
    variables["text"] = clip(step, variables["text"])
    rendered = step.render(prompt, prompt=step.prompt, **variables)
    return brief(step, await with_material(step, rendered, rules=prompt != "summarize"))


def _text_of(step: StepContext, reply: Reply) -> str:
    if reply.truncated:
        step.notice("the answer was cut off at the model's length limit", level="warn")
    return reply.text.strip()


async def analyze(step: StepContext) -> Confirm:
    """Say what the code does and how it will be changed; the person agrees before it is."""
    subject = _subject(step)
    model = looking_model(step, "refactor")
    around = await surroundings(step, subject)
    variables = {**subject.variables(), **around, "tools": model is not None}
    variables["fence"] = fence_for(subject.text, around["whole"])
    prompt = step.render("refactor_analyze", prompt=step.prompt, **variables)
    reply = await (model or step).ask(brief(step, await with_material(step, prompt)))
    text = reply.text.strip()
    where = subject.path or "the buffer"
    lines = f"lines {subject.start + 1}-{subject.end} of {where}"
    return Confirm(text, f"Refactor {lines} along this analysis?", details=text)


async def refactor(step: StepContext) -> dict[str, Any]:
    """Replace exactly the selected lines by the model's."""
    from tideate_core.agents import edit_range

    subject = _subject(step)
    around = subject.around(0 if step.demonstration else ORIENTATION)
    variables = {**subject.variables(), **around, "fence": fence_for(subject.text, *around.values())}
    prompt = step.render("refactor", prompt=step.prompt, analysis=step.results["analyze"], **variables)
    # what the model saw when it analysed the code is still there
    earlier = step.conversation("analyze")
    model = looking_model(step, "refactor", earlier=earlier)
    written = await edit_range(
        (model or step).ask,
        prompt if model and earlier else await with_material(step, prompt),
        lines=subject.lines,
        start=subject.start,
        end=subject.end,
        language=subject.language,
        path=subject.path,
        attempts=step.attempts,
    )
    return await _place(step, subject, subject.start, subject.end, written.lines)


async def generate(step: StepContext) -> dict[str, Any]:
    """Write new lines below the cursor, or into a new buffer where there is none to write to."""
    from tideate_core.agents import insert_text

    subject = Subject.of(step.context)
    language = subject.language if subject else ""
    at = _insertion(step, subject)
    lines = subject.lines if subject else [""]
    around = {
        "before": "\n".join(lines[max(0, at[0] - ORIENTATION) : at[0]]).strip("\n"),
        "after": "\n".join(lines[at[1] : at[1] + ORIENTATION]).strip("\n"),
    }
    model = looking_model(step, "generate")
    place = await file_around(step, subject, at[0]) if subject else NO_FILE
    fence = fence_for(*around.values(), place["top"], place["outline"])
    prompt = step.render("generate", prompt=step.prompt, language=language, fence=fence, **around, **place)
    written = await insert_text(
        (model or step).ask,
        await with_material(step, prompt),
        lines=lines,
        at=at[1],
        language=language,
        attempts=step.attempts,
    )
    if subject is None or not subject.buffer.modifiable:
        text = "\n".join(written.lines)
        await step.present(text, subject.buffer.filetype if subject else "")
        return {"response": text, "files": []}
    return await _place(step, subject, *at, written.lines)


def _subject(step: StepContext) -> Subject:
    subject = Subject.of(step.context)
    if subject is None:
        raise InvalidInput(f"{step.step} needs lines to work on")
    budget = text_budget(step)
    if budget is not None and len(subject.text) > budget:
        raise ContextTooLong(
            f"{subject.end - subject.start} lines ({len(subject.text)} characters) do not fit this model, "
            f"which can rewrite about {budget} characters; select fewer lines or choose another model"
        )
    return subject


def _insertion(step: StepContext, subject: Subject | None) -> tuple[int, int]:
    """Return the lines, half open, that the new ones replace: none, or the blank line one stands on."""
    if subject is None:
        return 0, 1
    if subject.selected:
        return subject.end, subject.end
    cursor = step.context.cursor
    line = min(cursor.line, len(subject.lines)) if cursor else len(subject.lines)
    blank = not subject.lines[line - 1].strip()
    return (line - 1, line) if blank else (line, line)


async def _place(step: StepContext, subject: Subject, start: int, end: int, new: list[str]) -> dict[str, Any]:
    from tideate_core.engine import review_and_apply
    from tideate_core.workspace import FileChange

    buffer = subject.buffer
    after = [*subject.lines[:start], *new, *subject.lines[end:]]
    change = FileChange(
        path=subject.path,
        action="modify",
        before=buffer.text,
        after="\n".join(after),
        buffer=buffer.number,
        tick=buffer.tick,
        filetype=buffer.filetype,
    )
    written = await review_and_apply(step, [change])
    return {"response": "\n".join(new), "files": [change.path for change in written]}
