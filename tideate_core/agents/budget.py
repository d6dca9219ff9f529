"""Budget of a work loop: turns, tool calls and tokens, and what the model is told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.adapters import Usage

if TYPE_CHECKING:
    from tideate_core.adapters import ModelTurn
    from tideate_core.config import LimitsConfig

__all__ = ["Budget"]

LOW: Final = 0.2
"""The part that is left when the model is told so."""
FEWEST: Final = 3
"""Left when the model is told, however large the limit."""


class Budget:
    """Counts what a loop took, against the configured limits."""

    def __init__(self, limits: LimitsConfig) -> None:
        self.turns = 0
        self.calls = 0
        self.usage = Usage()
        self._limits = limits
        self._told: set[str] = set()

    def spend(self, turn: ModelTurn) -> None:
        """A turn was taken."""
        self.turns += 1
        self.calls += len(turn.calls)
        self.usage += turn.usage

    @property
    def calls_left(self) -> int:
        """Negative where more were asked for than are allowed."""
        return self._limits.tool_calls - self.calls

    @property
    def exhausted(self) -> str:
        """Name the limit that is reached, as it is configured; empty where none is."""
        for name, left in self._left().items():
            if left <= 0:
                return f"limits.{name} ({getattr(self._limits, name)})"
        return ""

    def warning(self) -> str:
        """Return words for the model when something runs low, once for each limit."""
        words = []
        for name, left in self._left().items():
            limit = getattr(self._limits, name)
            if 0 < left <= max(FEWEST, limit * LOW) and name not in self._told and limit > FEWEST:
                self._told.add(name)
                words.append(f"{left} {name.replace('_', ' ')}")
        return f"Left: {', '.join(words)}. Come to an end." if words else ""

    def last_words(self, submit: str) -> str:
        """Return what the model is told before its last turn.

        :param submit: the tool to end with; empty: a text is the end.
        """
        what = f"call {submit} with what you have" if submit else "answer with what you know"
        return f"The limit {self.exhausted} is reached. This is your last turn: {what}."

    def _left(self) -> dict[str, int]:
        limits, used = self._limits, self.usage.input_tokens + self.usage.output_tokens
        left = {"turns": limits.turns - self.turns, "tool_calls": self.calls_left}
        return left if limits.tokens is None else {**left, "tokens": limits.tokens - used}
