"""Step handlers of `ask`, `summarize`, `edit`, `refactor` and `generate`, and follow-ups of earlier runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tideate_core.agents import (
    RememberedModel,
    clip,
    is_small,
    may_look,
    model_of,
    split_report,
    text_budget,
    way_to_report,
)
from tideate_core.builtin.affected import affected_files, listed, propose, report_tools, settle_proposal
from tideate_core.builtin.revising import line_writer, present_text, write_lines
from tideate_core.builtin.streaming import shown
from tideate_core.builtin.surroundings import (
    NO_FILE,
    ORIENTATION,
    ask_about_secrets,
    diagnostics,
    file_around,
    lines_near,
    nearby,
    surroundings,
    with_memory,
)
from tideate_core.builtin.work import work_again
from tideate_core.edits import fence_for
from tideate_core.engine import NO_TEXT, Subject, brief, review_lines, tell_truncated, with_material
from tideate_core.errors import ContextTooLong, InvalidInput
from tideate_core.workflows import Confirm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.adapters import Conversation, Prompt, Reply
    from tideate_core.builtin.revising import Ask, Rewriting
    from tideate_core.workflows import EarlierRun, RunContext, StepContext
    from tideate_core.workspace import FileChange


async def query(step: StepContext) -> str:
    """Answer a question about the selection, or about the text around the cursor."""
    subject = Subject.of(step.context)
    await ask_about_secrets(step, subject)
    earlier = await step.earlier()
    if earlier is not None:  # the conversation has the rest
        selected = subject if subject and subject.selected else None
        return await _answer(step, "ask", selected, earlier=earlier.conversation)
    if subject is None or subject.selected or is_small(step):
        return await _answer(step, "ask", subject if subject and subject.selected else None)
    cursor = step.context.cursor
    return await _answer(step, "ask", lines_near(subject, cursor), cursor=cursor.line if cursor else None)


async def summarize(step: StepContext) -> str:
    """Summarize the selection or the whole text."""
    subject = Subject.of(step.context)
    await ask_about_secrets(step, subject)
    asked = await question(step, "summarize", subject, rules=False)
    return text_of(step, await RememberedModel(step).ask(asked))


async def _answer(
    step: StepContext,
    prompt: str,
    subject: Subject | None,
    *,
    earlier: Conversation | None = None,
    **more: Any,
) -> str:
    model = model_of(step, prompt, earlier=earlier)
    found = diagnostics(step.context, subject) if subject and not is_small(step) else []
    values = {"cursor": None, "diagnostics": found, "tools": may_look(step), **more}
    asked = await question(step, prompt, subject, rules=earlier is None, **values)
    return text_of(step, await model.ask(asked))


async def question(
    step: StepContext, prompt: str, subject: Subject | None, *, rules: bool, **more: Any
) -> Prompt:
    """Return the prompt about a subject, with material; see `with_memory`."""
    variables = {**(subject.variables() if subject else NO_TEXT), **more}
    variables["text"] = clip(step, variables["text"])
    rendered = step.render(prompt, prompt=step.prompt, **variables)
    return brief(step, await with_memory(step, rendered, rules=rules))


def text_of(step: StepContext, reply: Reply) -> str:
    """Return the text of an answer; report a cut one."""
    if reply.truncated:
        tell_truncated(step)
    return reply.text.strip()


async def analyze(step: StepContext) -> Confirm | str:
    """Describe the code and the planned change, and ask for confirmation.

    A follow-up skips the analysis: the conversation already has it.
    """
    if await step.earlier() is not None:
        return ""
    subject = _subject(step)
    await ask_about_secrets(step, subject, needed=True)
    model = model_of(step, "refactor", more_tools=report_tools(step, subject))
    around = await surroundings(step, subject)
    way = way_to_report(step)
    variables = {**subject.variables(), **around, "tools": may_look(step), "affected": way}
    variables["fence"] = fence_for(subject.text, around["whole"])
    prompt = step.render("refactor_analyze", prompt=step.prompt, **variables)
    reply = await model.ask(brief(step, await with_memory(step, prompt)))
    text = text_of(step, reply)
    if way == "block":
        text, reported = await split_report(step, text)
        await propose(step, subject, reported)
    question = f"Refactor {_lines_of(subject)} along this analysis?"
    if not (files := affected_files(step)):
        return Confirm(text, question, details=text)
    question += f" {len(files)} other file{'' if len(files) == 1 else 's'} must change, too: offered next."
    details = f"{text}\n\nThese must change, too, and are offered as the next run:\n\n{listed(files)}"
    return Confirm(text, question, details=details)


def _lines_of(subject: Subject) -> str:
    first, last = subject.start + 1, subject.end
    if not subject.selected:
        # the name would wrap the question
        return f"the whole buffer, {last} line{'' if last == 1 else 's'},"
    lines = f"line {last}" if first == last else f"lines {first}-{last}"
    return f"{lines} of {subject.path or 'the buffer'}"


async def refactor(step: StepContext) -> dict[str, Any]:
    """Rewrite the selected lines, and only these."""
    if (run := await step.earlier()) is not None:
        return await write_again(step, run, _selected(run), reports=True)
    subject = _subject(step)
    await ask_about_secrets(step, subject, needed=True)
    around = subject.around(0 if step.demonstration else ORIENTATION)
    variables = {**subject.variables(), **around, "fence": fence_for(subject.text, *around.values())}
    variables |= {"analysis": step.results["analyze"], "affected": way_to_report(step)}
    prompt = step.render("refactor", prompt=step.prompt, **variables)
    # the conversation still has the context of the analysis
    earlier = step.conversation("analyze") if may_look(step) else None
    model = model_of(step, "refactor", earlier=earlier, more_tools=report_tools(step, subject))
    write = line_writer(step, model.ask, subject, subject.start, subject.end, insert=False)
    prompt = prompt if earlier else await with_memory(step, prompt)
    lines, rewriting = await write_lines(step, write, prompt)
    at = subject.start, subject.end
    result, written = await _review(step, subject, at, lines, rewriting, insert=False)
    await settle_proposal(step, written)
    return result


async def edit(step: StepContext) -> dict[str, Any]:
    """Rewrite the selected lines or the cursor's line with one request; fill a blank line."""
    if (run := await step.earlier()) is not None:
        return await write_again(step, run, _edited(run.context), looks=False)
    start, end = at = _edited(step.context)
    subject = _subject(step, at)
    if not subject.buffer.modifiable:
        where = subject.path or "the buffer"
        raise InvalidInput(f"{where} is read-only (in Neovim: 'readonly' or 'nomodifiable')")
    fills = not subject.text.strip()
    await ask_about_secrets(step, subject, needed=True)
    around = nearby(step, subject)
    variables = {**subject.variables(), **around, "text": "" if fills else subject.text}
    variables["fence"] = fence_for(subject.text, around["before"], around["after"], around["top"])
    prompt = await with_memory(step, step.render("edit", prompt=step.prompt, **variables))
    ask = shown(step, RememberedModel(step), subject, at)
    write = line_writer(step, ask, subject, start, end, insert=fills)
    lines, rewriting = await write_lines(step, write, prompt)
    return (await _review(step, subject, at, lines, rewriting, insert=fills))[0]


def _edited(context: RunContext) -> tuple[int, int]:
    """Return the half-open line range that `edit` replaces: the selection, or the cursor's line.

    Blank lines are replaced only as by an insertion. Without a cursor, the range is the whole text.
    """
    subject = Subject.of(context)
    if subject is None:
        return 0, 0
    start, end = subject.start, subject.end
    if not subject.selected and context.cursor:
        end = min(context.cursor.line, len(subject.lines))
        start = end - 1
    if "".join(subject.lines[start:end]).strip():
        return start, end
    return _blank_place(subject, end)


async def generate(step: StepContext) -> dict[str, Any]:
    """Write new code at the cursor, or in a new buffer if there is no modifiable one."""
    if (run := await step.earlier()) is not None:
        return await write_again(step, run, _insertion(run.context, Subject.of(run.context)))
    subject = Subject.of(step.context)
    await ask_about_secrets(step, subject)
    language = subject.language if subject else ""
    at = _insertion(step.context, subject)
    lines = subject.lines if subject else [""]
    around = {
        "before": "\n".join(lines[max(0, at[0] - ORIENTATION) : at[0]]).strip("\n"),
        "after": "\n".join(lines[at[1] : at[1] + ORIENTATION]).strip("\n"),
    }
    model = model_of(step, "generate")
    place = await file_around(step, subject, at[0]) if subject else NO_FILE
    fence = fence_for(*around.values(), place["top"], place["outline"])
    prompt = step.render("generate", prompt=step.prompt, language=language, fence=fence, **around, **place)
    write = line_writer(step, model.ask, subject, *at, insert=True)
    written, rewriting = await write_lines(step, write, await with_memory(step, prompt))
    if subject is None or not subject.buffer.modifiable:
        text = await present_text(step, written, subject.buffer.filetype if subject else "", rewriting)
        return {"response": text, "files": []}
    return (await _review(step, subject, at, written, rewriting, insert=True))[0]


async def _review(
    step: StepContext,
    subject: Subject,
    at: tuple[int, int],
    lines: list[str],
    rewriting: Rewriting,
    *,
    insert: bool,
) -> tuple[dict[str, Any], list[FileChange]]:
    """Review and write lines at a range, or at the place of an insertion."""

    def replaced() -> tuple[int, int]:
        return at if not insert or rewriting.at == at[1] else (rewriting.at, rewriting.at)

    return await review_lines(step, subject, *at, lines, rewriting.again, replaced)


def _subject(step: StepContext, at: tuple[int, int] | None = None) -> Subject:
    """Return the lines to rewrite: a half-open range, by default the selection."""
    subject = Subject.of(step.context)
    if subject is None:
        raise InvalidInput(f"{step.step} needs lines to work on: open a file, or name one with --file")
    if at is not None:
        subject = replace(subject, start=at[0], end=at[1], selected=True)
    budget = text_budget(step)
    if budget is not None and len(subject.text) > budget:
        raise ContextTooLong(
            f"{subject.end - subject.start} lines ({len(subject.text)} characters) do not fit this model, "
            f"which can rewrite about {budget} characters; select fewer lines or choose another model"
        )
    return subject


def _selected(run: EarlierRun) -> tuple[int, int]:
    """Return the line range that an earlier run rewrote."""
    subject = Subject.of(run.context)
    return (subject.start, subject.end) if subject else (0, 0)


def _insertion(context: RunContext, subject: Subject | None) -> tuple[int, int]:
    """Return the half-open line range that new lines replace, usually empty.

    Only an indented blank line at the cursor and the single line of an empty text are replaced.
    """
    if subject is None:
        return 0, 1
    if subject.selected:
        return subject.end, subject.end
    cursor = context.cursor
    return _blank_place(subject, min(cursor.line, len(subject.lines)) if cursor else len(subject.lines))


def _blank_place(subject: Subject, line: int) -> tuple[int, int]:
    """Return the range that new lines at a line (1-based) replace: at most one removable blank line."""
    here = subject.lines[line - 1]
    replaced = not here.strip() and (here != "" or subject.lines == [""])
    return (line - 1, line) if replaced else (line, line)


# -- follow-ups of earlier runs ------------------------------------------------------------------------


async def write_again(
    step: StepContext,
    earlier: EarlierRun,
    at: tuple[int, int],
    *,
    reports: bool = False,
    looks: bool = True,
) -> dict[str, Any]:
    """Rewrite the lines of an earlier run according to the user's reply, and review them.

    If the lines cannot be found, a model with tools edits the file.

    :param at: line range of the earlier text that its answer replaced, 0-based and half open.
    :param reports: the model may report other affected files.
    :param looks: the model may read the project first, if it can call tools.
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
    start, end = at = subject.start, subject.end
    said = earlier.conversation
    ask: Ask
    if looks:
        ask = model_of(step, step.step, earlier=said, more_tools=more_tools).ask
    else:
        ask = shown(step, RememberedModel(step, said), subject, at)
    variables = {**subject.variables(), "affected": "tool" if more_tools else ""}
    prompt = step.render("follow_up", prompt=step.prompt, written=written, **variables)
    prompt = await with_material(step, prompt, rules=False)
    write = line_writer(step, ask, subject, start, end, insert=start == end)
    lines, rewriting = await write_lines(step, write, prompt)
    result, changes = await _review(step, subject, at, lines, rewriting, insert=start == end)
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
