"""Show the lines of an answer in the edited buffer while the model writes them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from tideate_core.edits import streamed_hunks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.adapters import Prompt, Reply
    from tideate_core.agents import RememberedModel
    from tideate_core.builtin.revising import Ask
    from tideate_core.engine import Subject
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import Hunk

LEAST_GAP: Final = 0.01
"""Seconds between two comparisons: editors hardly draw more often."""
LARGEST: Final = 200_000
"""Maximum of compared characters of an answer; the review shows the rest."""
SHARE: Final = 10
"""Pause after a comparison, as a multiple of its duration: long ranges are compared less often."""


def shown(step: StepContext, model: RememberedModel, subject: Subject, at: tuple[int, int]) -> Ask:
    """Return a function that asks a model and shows its answer in an editor while it streams."""
    number = subject.buffer.number
    if step.editor is None or number is None:
        return model.ask
    return ShownModel(step, model, subject, at, number).ask


class ShownModel:
    """Asks a model like `RememberedModel`, and shows the hunks of its answer while it streams.

    :param at: the half-open range of lines that the answer replaces, 0-based.
    :param number: of the buffer.
    """

    def __init__(
        self,
        step: StepContext,
        model: RememberedModel,
        subject: Subject,
        at: tuple[int, int],
        number: int,
    ) -> None:
        self._step = step
        self._model = model
        self._number = number
        self._lines = subject.lines
        self._before: str | None = subject.buffer.text
        self._at = at
        self._pieces: list[str] = []
        self._shown: Sequence[Hunk] = ()
        self._timer: asyncio.TimerHandle | None = None
        self._next = 0.0

    async def ask(self, prompt: Prompt) -> Reply:
        """Return the answer."""
        self._pieces.clear()
        self._show([])
        try:
            reply = await self._model.ask(prompt, on_text=self._feed)
        finally:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        self._pieces.append("\n")
        self._look()  # at the last line, too: the checks before the review take a while
        return reply

    def _feed(self, text: str) -> None:
        self._pieces.append(text)
        if "\n" not in text or self._timer is not None:
            return
        loop = asyncio.get_running_loop()
        if loop.time() >= self._next:
            self._look()
        else:
            self._timer = loop.call_at(self._next, self._look)

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        self._timer = None
        self._pieces[:] = ["".join(self._pieces)]
        if len(self._pieces[0]) <= LARGEST:
            hunks = streamed_hunks(self._pieces[0], self._lines, *self._at)
            self._show(self._shown if hunks is None else hunks)
        now = loop.time()
        self._next = now + max(LEAST_GAP, SHARE * (now - begun))

    def _show(self, hunks: Sequence[Hunk]) -> None:
        if list(hunks) != list(self._shown):
            self._shown = hunks
            self._step.show_hunks(self._number, hunks, self._before)
            self._before = None
