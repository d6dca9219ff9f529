"""Forward the stream of a model with short answers in whole sentences."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tideate_core.adapters.base import OnText

_END: Final = re.compile(r".*(?:\n|[.!?][\"')\]*]*(?=\s))", re.DOTALL)
"""Text up to its last whole sentence or line."""
_PER_TOKEN: Final = 2
"""Minimum of characters per token in prose: a shorter answer is never cut off, so nothing is held back."""


class WholeSentences:
    """Forwards a streamed answer sentence by sentence.

    :param on_token: called with each part.
    :param tokens: the limit of the answer's length.
    """

    def __init__(self, on_token: OnText, tokens: int) -> None:
        self._on_token = on_token
        self._free = tokens * _PER_TOKEN
        self._held = ""

    def take(self, text: str) -> None:
        """Hold back a part of the answer, and forward the sentences that it completes."""
        self._held += text
        self._free -= len(text)
        if self._free > 0:
            self._forward(self._held)
        elif (end := _END.match(self._held)) is not None:
            self._forward(end[0])

    def end(self, text: str, *, truncated: bool) -> str:
        """Return the answer; a truncated one ends at its last whole sentence, if it has one.

        :param text: the whole answer.
        """
        last = _END.match(text) if truncated else None
        if last is None or not last[0].strip():
            self._forward(self._held)
            return text
        return last[0].rstrip()

    def _forward(self, text: str) -> None:
        self._held = self._held[len(text) :]
        if text and self._on_token is not None:
            self._on_token(text)
