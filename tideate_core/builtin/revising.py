"""Revisions of a model's edit: asked for in the conversation that made it, as the person's comments say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tideate_core.adapters import Turn
from tideate_core.engine import revision_prompt

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tideate_core.adapters import Prompt
    from tideate_core.agents import Written
    from tideate_core.engine import Feedback
    from tideate_core.workflows import StepContext

    Write = Callable[[Prompt], Awaitable[Written]]

__all__ = ["Rewriting", "write_lines"]


class Rewriting:
    """Lines that a model wrote, and writes again as it is told.

    :param write: asks for them.
    """

    def __init__(self, step: StepContext, write: Write, prompt: Prompt, written: Written) -> None:
        self._step = step
        self._write = write
        self._prompt = prompt
        self._written = written

    async def again(self, feedback: Feedback) -> list[str]:
        """Return the lines as they are wanted now."""
        answer = self._written.replies[-1].text.strip()
        before = Turn(self._prompt.user, answer or "(no answer)")
        words = revision_prompt(self._step, feedback).user
        prompt = replace(self._prompt, user=words, history=(*self._prompt.history, before))
        self._written = await self._write(prompt)
        self._prompt = prompt
        return self._written.lines


async def write_lines(step: StepContext, write: Write, prompt: Prompt) -> tuple[list[str], Rewriting]:
    """Return the lines that a model writes, with what has it write them again."""
    written = await write(prompt)
    return written.lines, Rewriting(step, write, prompt, written)
