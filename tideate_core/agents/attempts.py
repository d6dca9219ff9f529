"""Attempts at an edit: ask, build, check, and ask again with the reason until the answer is usable."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from textwrap import shorten
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from tideate_core.adapters import Prompt, Reply, Turn
from tideate_core.errors import ContextTooLong, EditConflict, NotText, UnusableAnswer
from tideate_core.util.cutting import beginning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.gates import SyntaxProblem
    from tideate_core.workflows import StepContext

Ask = Callable[[Prompt], Awaitable[Reply]]
LONGEST_REASON: Final = 300
"""Characters of a reason shown to the person."""

T = TypeVar("T")

_LONGEST = 2 << 20
"""Characters of an answer with edits; larger than any file that is read or text that a model writes."""
_MOST_QUOTED = 6_000
"""Characters of a truncated answer quoted in the correction."""


@dataclass(frozen=True, slots=True)
class Draft(Generic[T]):
    """An edit built from one answer."""

    value: T
    notes: list[str] = field(default_factory=list)
    """Notes on places that were not matched exactly."""


@dataclass(frozen=True, slots=True)
class Attempted(Generic[T]):
    """The outcome of all attempts. `problems` are syntax errors that only a person may accept."""

    value: T
    problems: list[SyntaxProblem]
    attempts: int
    replies: list[Reply]
    notes: list[str] = field(default_factory=list)


def report_refusal(step: StepContext, reason: str) -> None:
    """Notify the person that an answer was refused and the model is asked again."""
    short = shorten(reason, LONGEST_REASON, placeholder=" …")
    step.notice(f"answer refused, asking again: {short}", level="warn")


async def until_usable(
    step: StepContext,
    ask: Ask,
    prompt: Prompt,
    build: Callable[[str], Draft[T]],
    check: Callable[[T], Sequence[SyntaxProblem]],
    *,
    form: str = "",
    accept: Callable[[T], Awaitable[None]] | None = None,
) -> Attempted[T]:
    """Ask for an answer until it passes its checks, at most `step.attempts` times.

    It ends early if the model repeats an answer, an edit or its errors. If drafts have only syntax errors,
    the one with the fewest is returned, with its errors.

    :param form: name of the answer format that the prompt asks for, such as `search/replace blocks`.
    :param accept: rejects an edit that cannot be written; raises `EditConflict` or `NotText`.
    :raises UnusableAnswer: no answer gave an edit; `build` raises it with the reason.
    """
    replies: list[Reply] = []
    drafts: list[Attempted[T]] = []
    reason = ""
    asked = prompt
    while len(replies) < step.attempts:
        try:
            reply = await ask(asked)
        except ContextTooLong:
            if not replies:
                raise
            break
        repeated = any(reply.text == earlier.text for earlier in replies)
        replies.append(reply)
        try:
            # in a thread: 50,000 lines take seconds, and the event loop serves every other client
            attempted = await asyncio.to_thread(_try, replies, build, check)
            if accept is not None:
                await accept(attempted.value)
        except (UnusableAnswer, EditConflict, NotText) as error:
            reason = str(error)
        else:
            if not attempted.problems:
                return attempted
            reason = "it brings new syntax errors: " + "; ".join(map(str, attempted.problems))
            repeated = repeated or any(_same(attempted, earlier) for earlier in drafts)
            drafts.append(attempted)
        if repeated or len(replies) == step.attempts:
            break
        report_refusal(step, reason)
        asked = _correction(prompt, reply, reason, form)
    return _best(drafts, len(replies), reason)


def _best(drafts: Sequence[Attempted[T]], count: int, reason: str) -> Attempted[T]:
    if drafts:
        best = min(drafts, key=lambda attempted: len(attempted.problems))
        return replace(best, attempts=count)
    times = f"{count} attempt{'s' if count > 1 else ''}"
    raise UnusableAnswer(f"the model's answer could not be used after {times}: {reason}; it changed nothing")


def _try(
    replies: list[Reply], build: Callable[[str], Draft[T]], check: Callable[[T], Sequence[SyntaxProblem]]
) -> Attempted[T]:
    draft = build(_complete(replies[-1]))
    return Attempted(draft.value, [*check(draft.value)], len(replies), replies, draft.notes)


def _complete(reply: Reply) -> str:
    if reply.truncated:
        raise UnusableAnswer("it was cut off at the length limit; write shorter, without explanations")
    if len(reply.text) > _LONGEST:
        raise UnusableAnswer(f"it has {len(reply.text)} characters, and at most {_LONGEST} are read")
    return reply.text


def _same(one: Attempted[T], other: Attempted[T]) -> bool:
    unplaced, others = ({replace(each, line=0, column=0) for each in done.problems} for done in (one, other))
    return one.value == other.value or unplaced == others


def _correction(prompt: Prompt, reply: Reply, reason: str, form: str) -> Prompt:
    """Return the follow-up prompt: the task, the last answer and its mistakes.

    Only the last answer is quoted: a weak model copies bad examples, and a small context fills up.
    """
    answer = (
        reply.text
        if len(reply.text) <= _MOST_QUOTED or not (reply.truncated or len(reply.text) > _LONGEST)
        else beginning(reply.text, _MOST_QUOTED)
    )
    stop = "" if "\n" in reason else "."  # it ends with lines of the file that must be copied exactly
    return replace(
        prompt,
        user=(
            f"Your answer cannot be used: {reason}{stop}\n\n"
            f"Answer the same task again, completely, in the form that was asked for{form and f': {form}'}."
        ),
        history=(*prompt.history, Turn(prompt.user, answer.strip() or "(no answer)")),
    )
