"""Budgets of a work loop, which are its step's and its run's: what is left, and what the model is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tideate_core.workflows import Allowance, ModelAccess

__all__ = ["Budget", "last_words", "warning"]

LOW: Final = 0.2
"""The part that is left when the model is told so."""
FEWEST: Final = 3
"""Left when the model is told, however large the limit."""


class Budget:
    """Reads what is left for a loop; other loops of the step and other steps draw on it, too."""

    def __init__(self, model: ModelAccess) -> None:
        self._model = model
        self._told: set[str] = set()

    @property
    def has_calls(self) -> bool:
        """The tool calls that were asked for are within what is allowed."""
        return all(one.left >= 0 for one in self._model.allowances() if one.unit == "tool_calls")

    @property
    def reached(self) -> Allowance | None:
        """The first limit that is reached."""
        return next((one for one in self._model.allowances() if one.left <= 0), None)

    def running_low(self) -> dict[str, str]:
        """Return what runs low, in words by the limit's name, once for each limit."""
        low = {
            one.name: f"{one.left} {one.unit.replace('_', ' ')}{' of the whole run' if one.of_run else ''}"
            for one in self._model.allowances()
            if 0 < one.left <= max(FEWEST, one.limit * LOW) and one.limit > FEWEST
        }
        new = {name: words for name, words in low.items() if name not in self._told}
        self.note_told(new)
        return new

    def note_told(self, names: dict[str, str]) -> None:
        """These the model knows."""
        self._told.update(names)


def warning(low: dict[str, str]) -> str:
    """Return words for the model on what `running_low` gave."""
    return f"Left: {', '.join(low.values())}. Come to an end."


def last_words(limit: str, submit: str) -> str:
    """Return what the model is told before its last turn.

    :param limit: that is reached.
    :param submit: the tool to end with; empty: a text is the end.
    """
    what = f"call {submit} with what you have" if submit else "answer with what you know"
    return f"The limit {limit} is reached. This is your last turn: {what}."
