"""Follow-ups of `refactor` and `generate`: rewrite the lines of an earlier run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tideate_core.agents import may_look, model_of
from tideate_core.builtin.affected import report_tools, settle_proposal
from tideate_core.builtin.revising import line_writer, present_text, write_lines
from tideate_core.builtin.work import work_again
from tideate_core.engine import NO_TEXT, Subject, review_lines, with_material
from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.workflows import EarlierRun, StepContext


async def write_again(
    step: StepContext, earlier: EarlierRun, at: tuple[int, int], *, reports: bool = False
) -> dict[str, Any]:
    """Rewrite the lines of an earlier run according to the user's reply, and review them.

    If the lines cannot be found, a model with tools edits the file.

    :param at: line range of the earlier text that its answer replaced, 0-based and half open.
    :param reports: the model may report other affected files.
    :raises InvalidInput: the lines cannot be found, and the model cannot call tools.
    """
    subject = Subject.of(step.context)
    if subject is None:
        return await _present_again(step, earlier)
    answer = earlier.results.get(step.step) or {}
    written = bool(answer.get("files"))
    if not subject.selected:
        place = find_lines(earlier, at, answer.get("response") if written else None, subject.lines)
        if place is None:
            return await _edit_file(step, earlier, subject, written=written)
        subject = replace(subject, start=place[0], end=place[1], selected=True)
    more_tools = report_tools(step, subject) if reports else []
    model = model_of(step, step.step, earlier=earlier.conversation, more_tools=more_tools)
    variables = {**subject.variables(), "affected": "tool" if more_tools else ""}
    prompt = step.render("follow_up", prompt=step.prompt, written=written, **variables)
    prompt = await with_material(step, prompt, rules=False)
    start, end = subject.start, subject.end
    write = line_writer(step, model.ask, subject, start, end, insert=start == end)
    lines, rewriting = await write_lines(step, write, prompt)

    def replaced() -> tuple[int, int]:
        return (rewriting.at, rewriting.at) if start == end else (start, end)

    result, changes = await review_lines(step, subject, start, end, lines, rewriting.again, replaced)
    await settle_proposal(step, changes)
    return result


def find_lines(
    earlier: EarlierRun, at: tuple[int, int], written: str | None, now: Sequence[str]
) -> tuple[int, int] | None:
    """Locate the lines of an earlier run in the current text; None if the place is not unique.

    :param at: line range of the earlier text that the answer replaced, 0-based and half open.
    :param written: the answer, None if it was not written to the buffer.
    """
    buffer = earlier.context.buffer
    before = buffer.text.split("\n") if buffer else []
    start, rest = at[0], len(before) - at[1]
    end = len(now) - rest
    if start <= end and list(now[:start]) == before[:start] and list(now[end:]) == before[at[1] :]:
        return start, end
    wanted = before[start : at[1]] if written is None else written.split("\n")
    if not any(line.strip() for line in wanted):
        return None
    found = [i for i in range(len(now) - len(wanted) + 1) if list(now[i : i + len(wanted)]) == wanted]
    return (found[0], found[0] + len(wanted)) if len(found) == 1 else None


async def _edit_file(
    step: StepContext, earlier: EarlierRun, subject: Subject, *, written: bool
) -> dict[str, Any]:
    where = subject.path or "the buffer"
    if not may_look(step):
        raise InvalidInput(
            f"the lines of run {earlier.execution_id[:8]} cannot be found in {where} any more; "
            "select them and continue that run again"
        )
    step.notice(f"the lines cannot be found in {where} any more: the model edits the file")
    name = step.workspace.name_of(step.workspace.resolve(subject.buffer.path))
    return await work_again(step, earlier, [name], [name] if written else [])


async def _present_again(step: StepContext, earlier: EarlierRun) -> dict[str, Any]:
    """Rewrite a text that belongs to no file."""
    model = model_of(step, step.step, earlier=earlier.conversation)
    prompt = step.render("follow_up", prompt=step.prompt, written=False, **NO_TEXT)
    prompt = await with_material(step, prompt, rules=False)
    write = line_writer(step, model.ask, None, 1, 1, insert=True)
    lines, rewriting = await write_lines(step, write, prompt)
    text = await present_text(step, lines, "", rewriting)
    return {"response": text, "files": []}
