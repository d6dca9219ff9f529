"""Ask a model for lines, rewrite them on the user's comments; review a text for a new buffer."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tideate_core.adapters import Turn
from tideate_core.engine import ask_for_review, revision_prompt
from tideate_core.workflows import Declined
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tideate_core.adapters import Prompt, Reply
    from tideate_core.agents import Written
    from tideate_core.engine import Feedback, Subject
    from tideate_core.workflows import StepContext

    Ask = Callable[[Prompt], Awaitable[Reply]]
    Write = Callable[[Prompt], Awaitable[Written]]


def line_writer(
    step: StepContext, ask: Ask, subject: Subject | None, start: int, end: int, *, insert: bool
) -> Write:
    """Return a function that asks a model for the text of a line range.

    :param insert: ask for new lines, which are inserted before line `end` or replace the blank range.
    """
    from tideate_core.agents import edit_range, insert_text

    place: dict[str, Any] = {"lines": [""], "language": ""}
    if subject:
        place = {"lines": subject.lines, "language": subject.language, "path": subject.path}
        place["buffer"] = subject.buffer.number
    if insert:
        return partial(insert_text, step, ask, at=end, replaced=end - start, **place)
    return partial(edit_range, step, ask, start=start, end=end, **place)


class Rewriting:
    """Lines written by a model, which it can rewrite on feedback.

    :param write: requests the lines.
    """

    def __init__(self, step: StepContext, write: Write, prompt: Prompt, written: Written) -> None:
        self._step = step
        self._write = write
        self._prompt = prompt
        self._written = written

    @property
    def at(self) -> int:
        """Line, 0-based, before which the latest lines belong."""
        return self._written.at

    async def again(self, feedback: Feedback) -> list[str]:
        """Return the lines, rewritten according to the feedback."""
        answer = self._written.replies[-1].text.strip()
        before = Turn(self._prompt.user, answer or "(no answer)")
        words = revision_prompt(self._step, feedback).user
        prompt = replace(self._prompt, user=words, history=(*self._prompt.history, before))
        self._written = await self._write(prompt)
        self._prompt = prompt
        return self._written.lines


async def write_lines(step: StepContext, write: Write, prompt: Prompt) -> tuple[list[str], Rewriting]:
    """Return the lines that a model writes, and the means to revise them."""
    written = await write(prompt)
    return written.lines, Rewriting(step, write, prompt, written)


async def present_text(step: StepContext, lines: list[str], filetype: str, rewriting: Rewriting) -> str:
    """Review a new text, open it in a new buffer, and return the accepted version.

    Outside an editor the text is the run's result, without a review.

    :raises Declined: the text was not accepted.
    """

    def change_to(lines: list[str]) -> FileChange:
        return FileChange("", "create", None, "\n".join(lines), filetype=filetype)

    async def revised(feedback: Feedback) -> list[FileChange]:
        return [change_to(await rewriting.again(feedback))]

    text = "\n".join(lines)
    if step.editor is not None:
        accepted = await ask_for_review(step, [change_to(lines)], revised, gated=True)
        if not accepted:
            raise Declined("no change was accepted")
        text = accepted[0].after or ""
    await step.present(text, filetype)
    return text
