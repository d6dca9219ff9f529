"""A door's state machine with adjustable guards and clock."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tideate_core.machines import PREVIOUS, Choice, StateMachine

if TYPE_CHECKING:
    from tideate_core.machines import Table

DOOR: Table[str, str] = {
    "closed": {"open": "opened", "lock": Choice("has_key", "locked"), "knock": "closed"},
    "opened": {"close": "closed", "break": "broken", "look": "watched"},
    "locked": {"unlock": Choice("has_key", "closed", Choice("has_axe", "broken"))},
    "watched": {"look_away": PREVIOUS, "break": "broken"},
    "broken": {"repair": "closed"},
}


class Door(StateMachine[str, str]):
    """A door with adjustable guards and clock."""

    def __init__(self, *, has_key: bool = True, has_axe: bool = False) -> None:
        self.has_key, self.has_axe = has_key, has_axe
        self.ticks = itertools.count(1000)
        super().__init__(
            DOOR,
            "closed",
            guards={"has_key": lambda: self.has_key, "has_axe": lambda: self.has_axe},
            reset="repair",
            clock=lambda: next(self.ticks) / 8,
        )


def door(*events: str) -> Door:
    machine = Door()
    for event in events:
        machine.require(event)
    return machine
