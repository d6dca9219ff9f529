"""Budgets of a work loop: limits left to its step and its run, and the warnings for the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tideate_core.workflows import Allowance, ModelAccess

__all__ = ["Budget", "last_words", "warning"]

LOW: Final = 0.2
"""Share of a limit left at which the model is warned."""
FEWEST: Final = 3
"""Units left at which the model is warned, for any limit."""


class Budget:
    """Reads the limits left to a loop; other loops and steps use them too."""

    def __init__(self, model: ModelAccess) -> None:
        self._model = model
        self._told: set[str] = set()

    @property
    def has_calls(self) -> bool:
        """True if the requested tool calls are within the limit."""
        return all(one.left >= 0 for one in self._model.allowances() if one.unit == "tool_calls")

    @property
    def reached(self) -> Allowance | None:
        """The first limit reached, if any."""
        return next((one for one in self._model.allowances() if one.left <= 0), None)

    def running_low(self) -> dict[str, str]:
        """Describe the limits that run low, by name; each limit is reported once."""
        low = {
            one.name: f"{one.left} {one.unit.replace('_', ' ')}{' of the whole run' if one.of_run else ''}"
            for one in self._model.allowances()
            if 0 < one.left <= max(FEWEST, one.limit * LOW) and one.limit > FEWEST
        }
        new = {name: words for name, words in low.items() if name not in self._told}
        self.mark_warned(new)
        return new

    def mark_warned(self, names: dict[str, str]) -> None:
        """Record limits that the model was already warned about."""
        self._told.update(names)


def warning(low: dict[str, str]) -> str:
    """Return the warning to the model for limits of `running_low`."""
    return f"Left: {', '.join(low.values())}. Come to an end."


def last_words(limit: str, submit: str) -> str:
    """Return the message to the model before its last turn.

    :param limit: the limit reached.
    :param submit: name of the submitting tool; empty if a text ends the work.
    """
    what = f"call {submit} with what you have" if submit else "answer with what you know"
    return f"The limit {limit} is reached. This is your last turn: {what}."
