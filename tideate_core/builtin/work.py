"""Edits by a model with tools: staged, reviewed and written; a later run can continue them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from tideate_core.agents import CACHED, Bounds, StagedFiles, within_plan, write_with_tools
from tideate_core.engine import listed_points, review_and_apply, revision_prompt, with_material
from tideate_core.errors import StepFailed
from tideate_core.workflows import Declined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.adapters import Conversation, Prompt, RequestedCall
    from tideate_core.agents import WrittenWork
    from tideate_core.engine import Feedback
    from tideate_core.workflows import EarlierRun, StepContext
    from tideate_core.workspace import FileChange

SIGNS: Final = {"create": "+", "modify": "~", "delete": "-", "move": "→"}


async def work_and_review(
    step: StepContext,
    prompt: Prompt,
    staged: StagedFiles,
    bounds: Bounds,
    *,
    earlier: Conversation | None = None,
    taken_up: Sequence[RequestedCall] = (),
    named: Sequence[str] = (),
) -> dict[str, Any]:
    """Let a model stage edits with tools, review them, and return the step's result.

    :param earlier: the conversation to continue.
    :param taken_up: see `WorkLoop.run`.
    :param named: files expected to change; the result lists those that did not.
    """
    done = await _work(step, prompt, staged, bounds, earlier, taken_up)
    if done.exhausted and not done.changes:
        raise StepFailed(
            f"nothing was edited: {done.exhausted} was reached before the model handed in its work. Ask for "
            "less at once, rephrase the request, raise that limit, or use another adapter"
        )
    if done.exhausted:
        await _ask_about_unfinished(step, done)

    ended = time.monotonic()

    async def revise(feedback: Feedback) -> list[FileChange]:
        nonlocal done, ended
        words = revision_prompt(step, feedback, staged=True)
        # a planned edit may be missing because the user rejected it
        bounds_now, earlier_now = Bounds(bounds.may_change), step.conversation(step.step)
        rested = time.monotonic() - ended > CACHED
        done = await _work(step, words, staged, bounds_now, earlier_now, rested=rested)
        ended = time.monotonic()
        return done.changes

    written = await review_and_apply(step, done.changes, revise, lambda: done.open_points)
    changed = {path for change in done.changes for path in (change.path, change.move_to)}
    unchanged = [path for path in named if path not in changed]
    paths = [change.move_to or change.path for change in written]
    return {
        "response": "\n\n".join(
            filter(None, [done.summary, listed_points(done.open_points), summary_of(written, unchanged)])
        ),
        "files": paths,
        **({} if written else {"unchanged": True}),
    }


async def _work(
    step: StepContext,
    prompt: Prompt,
    staged: StagedFiles,
    bounds: Bounds,
    earlier: Conversation | None,
    taken_up: Sequence[RequestedCall] = (),
    *,
    rested: bool = False,
) -> WrittenWork:
    done = await write_with_tools(
        step, "work", prompt, staged, bounds, earlier=earlier, taken_up=taken_up, rested=rested
    )
    for note in done.notes:
        step.notice(note, level="warn")
    if done.exhausted:
        step.notice(f"{done.exhausted} was reached before the model handed in its work", level="warn")
    return done


async def _ask_about_unfinished(step: StepContext, done: WrittenWork) -> None:
    """Ask whether to review unfinished edits; a policy's yes does not count.

    :raises Declined: the user does not want them.
    :raises StepFailed: no user could be asked.
    """
    question = "Review the unfinished edits?"
    decision = await step.confirm(
        "override",
        f"The edits are unfinished: {done.exhausted} was reached. {question}",
        details=summary_of(done.changes, ()),
    )
    if decision.accepted:
        return
    if decision.by == "user":
        raise Declined(decision.reason or f"the edits are unfinished: {done.exhausted} was reached")
    raise StepFailed(
        f"the edits are unfinished: {done.exhausted} was reached; nothing was written. Raise that limit in "
        "the configuration, ask for less at once, or run it interactively"
    )


async def work_again(
    step: StepContext, earlier: EarlierRun, names: Sequence[str], written: Sequence[str]
) -> dict[str, Any]:
    """Continue earlier work on the current files, according to the user's reply.

    Declined edits are staged again if their files have not changed since.

    :param names: files that may be changed without a question, by workspace name.
    :param written: the files among `names` that the earlier run wrote.
    """
    staged = StagedFiles()
    await staged.load(step, names)
    again = [] if written else await _stage_again(step, staged, earlier.staged)
    may_change = {*names, *written, *again}

    def why_not(path: str) -> str | None:
        return "" if path in may_change else None

    prompt = step.render("follow_up_files", prompt=step.prompt, written=written, staged=again)
    prompt = await with_material(step, prompt, rules=False)
    return await work_and_review(
        step, prompt, staged, Bounds(within_plan(step, why_not)), earlier=earlier.conversation
    )


async def _stage_again(step: StepContext, staged: StagedFiles, changes: Sequence[FileChange]) -> list[str]:
    """Stage the declined edits of unchanged files, and return the files.

    After a crash the same edits are staged, because the model was told about them.
    """

    async def fitting() -> list[str]:
        for change in changes:
            await staged.load(step, [change.path, *([change.move_to] if change.move_to else [])])
        return [change.path for change in changes if _fits(staged, change)]

    fit = await step.choose_once(f"staged_again:{step.attempt}", "", fitting)
    again = [change for change in changes if change.path in fit]
    for change in again:
        before = {change.path: change.before, **({change.move_to: None} if change.move_to else {})}
        await staged.load(step, before, before)
    staged.stage(again)
    return [change.move_to or change.path for change in again]


def _fits(staged: StagedFiles, change: FileChange) -> bool:
    """Tell whether the files still match the texts that a change was made for."""
    if not staged.knows(change.path) or staged.text(change.path) != change.before:
        return False
    return not change.move_to or (staged.knows(change.move_to) and staged.text(change.move_to) is None)


def summary_of(changes: Sequence[FileChange], unchanged: Sequence[str] = ()) -> str:
    """Return one line per changed file, and per file that was expected to change."""
    if not changes:
        return "nothing to change"
    lines = [
        f"{SIGNS[change.action]} {change.path}{f' → {change.move_to}' if change.move_to else ''}"
        for change in changes
    ]
    return "\n".join([*dict.fromkeys(lines), *(f"= {path}: no change" for path in unchanged)])
