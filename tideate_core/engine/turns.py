"""Turns of a step's model that a fork begins with: the step goes on as after a crash before the next one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.memory import ITEM_DONE, REPLY
from tideate_core.engine.reused_writes import SHORT
from tideate_core.engine.spending import TURN
from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.store import Reader, RunRow

__all__ = ["TurnCut", "cut_at_turn", "replies_in_order"]

FIRST_ATTEMPT: Final = f"1{REPLY}"


@dataclass(frozen=True, slots=True)
class TurnCut:
    """The place in a step from which on a fork of it does it anew."""

    until: int
    """The event before which its memos were made that are reused."""
    hears: bool
    """The model can be told something before the turn."""
    memos: Mapping[str, Any] = field(default_factory=dict)
    """Those that are put in beside them."""


def cut_at_turn(
    reader: Reader, source: RunRow, step: str | None, turn: int | None, say: str, *, edited: bool
) -> TurnCut | None:
    """Return where a fork begins that takes a turn anew, None of one that runs its step anew; blocking.

    :param step: None: all of the run is run anew.
    :param say: what the model is told before the turn.
    :param edited: prompt, inputs or results are others than before.
    :raises InvalidInput: there is no such turn, or nothing can be reused before it; says why.
    """
    if turn is None:
        if say:
            raise InvalidInput("what is said to the model is said before a turn of it; name one with --turn")
        return None
    short = source.id[:SHORT]
    if step is None:
        raise InvalidInput(f"a turn is one of a step; name it, as {short}.STEP")
    if edited:
        raise InvalidInput(
            "the turns before it were taken with the prompt, the inputs and the results as they were; "
            "say something to the model (--say), or fork the step without --turn"
        )
    memos = reader.memos_of(source.id, step, "")
    key = _key_of_turn(memos, f"the step {step!r} of run {short}", turn)
    until = reader.events_of_memos(source.id, step)[key]
    hears = key.startswith(_of_loop(step))
    return TurnCut(until, hears, _said(memos, key, step, say) if say else {})


def replies_in_order(memos: Mapping[str, Any]) -> list[str]:
    """Return the keys of the replies among a step's memos, the first turn first."""
    return sorted((key for key in memos if REPLY in key), key=lambda key: memos[key].get("place", 0))


def _key_of_turn(memos: Mapping[str, Any], where: str, turn: int) -> str:
    """Return the key of a turn's reply.

    :raises InvalidInput: there is none, or nothing can be reused before it.
    """
    keys = replies_in_order(memos)
    owners = {key: memo.get("of", "") if isinstance(memo, dict) else "" for key, memo in memos.items()}
    if any(ITEM_DONE in key or "[" in owner for key, owner in owners.items()):
        raise InvalidInput(f"the items of {where} have turns of their own; fork it without --turn")
    if not 1 <= turn <= len(keys):
        count = f"{len(keys) or 'no'} turn{'' if len(keys) == 1 else 's'}"
        raise InvalidInput(f"there is no turn {turn}: the model took {count} in {where}")
    key = keys[turn - 1]
    if not key.startswith(FIRST_ATTEMPT):
        attempt = key.partition(REPLY)[0]
        raise InvalidInput(
            f"turn {turn} of {where} is one of attempt {attempt}, and turns of a repeated attempt cannot be "
            "taken anew; fork it without --turn"
        )
    return key


def _said(memos: Mapping[str, Any], key: str, step: str, text: str) -> dict[str, list[str]]:
    """Return the memo that has a model read a text before a turn, behind what it read there already.

    :raises InvalidInput: it was asked one question, and reads nothing else.
    """
    beginning = _of_loop(step)
    if not key.startswith(beginning):
        raise InvalidInput(
            "this turn answers a single prompt, to which nothing can be added; fork the step with another "
            "prompt, without --turn"
        )
    place = f"own:{key.removeprefix(beginning)}:said"
    return {place: [*memos.get(place, ()), text]}


def _of_loop(step: str) -> str:
    """Return the beginning of the keys of turns that are part of a conversation."""
    return f"{FIRST_ATTEMPT}{TURN}{step}:"
