"""What a run may hand over: said where it does so, as a commit would fail with all that is in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tideate_core.errors import InvalidInput
from tideate_core.store.objects import DEEPEST, is_deeper, is_storable

if TYPE_CHECKING:
    from tideate_core.store.records import Ending, StepOutcome

__all__ = ["bounded", "require_memo"]

Ended = TypeVar("Ended", "StepOutcome", "Ending")

MOST: Final = 2**53 - 1
"""Tokens: sums of a thousand steps fit SQLite's integers, and it is exact in every JSON."""


def bounded(ended: Ended) -> Ended:
    """Return what ended with tokens as columns can hold them: a count beyond `MOST` is not worth a run."""
    tokens = ended.tokens
    if 0 <= tokens.input <= MOST and 0 <= tokens.output <= MOST:
        return ended
    kept = replace(tokens, input=_within(tokens.input), output=_within(tokens.output))
    return replace(ended, tokens=kept)


def require_memo(step: str, key: str, value: Any) -> None:
    """Refuse what no memo can be.

    :raises InvalidInput: its key is no UTF-8, or its value is too deep.
    """
    for text in (step, key):
        if not is_storable(text):
            raise InvalidInput(
                f"{text!a} cannot be remembered under: it is no UTF-8;"
                " of a file's name take `os.fsencode(name).hex()`"
            )
    if is_deeper(value, DEEPEST):
        raise InvalidInput(
            f"the value of {key!r} cannot be remembered: it is deeper than {DEEPEST} levels; flatten it"
        )


def _within(count: int) -> int:
    return max(0, min(count, MOST))
