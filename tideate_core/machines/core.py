"""One state machine for everything with a lifecycle; what differs is the table.

A table maps a state and an event to the next state. Three kinds of target exist: a state, `PREVIOUS`
(back to where the machine stood before it was suspended) and a `Choice` between two targets by a guard.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

from tideate_core.errors import InvalidTransition

__all__ = ["PREVIOUS", "Choice", "Guard", "StateMachine", "StateTransition", "Table", "Target"]

S = TypeVar("S", bound=StrEnum)
E = TypeVar("E", bound=StrEnum)


class _Previous(Enum):
    PREVIOUS = "previous"


PREVIOUS = _Previous.PREVIOUS
"""The state from which the present one was entered, suspensions of suspensions included."""


@dataclass(frozen=True, slots=True)
class Choice(Generic[S]):
    """`then` where the guard of this name holds, else `otherwise`; None refuses the event."""

    guard: str
    then: S | Choice[S] | None
    otherwise: S | Choice[S] | None = None


Target: TypeAlias = S | _Previous | Choice[S]
Table = Mapping[S, Mapping[E, Target[S]]]
Guard = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class StateTransition(Generic[S, E]):
    """One step of a machine's history; `timestamp` in seconds since the epoch."""

    from_state: S
    to_state: S
    event: E
    timestamp: float


class StateMachine(Generic[S, E]):
    """A table, the present state, and how it came there. Does no I/O.

    :param table: every state is a key; a state without events is terminal.
    :param guards: by the names that the table's choices use.
    """

    def __init__(
        self,
        table: Table[S, E],
        initial: S,
        *,
        guards: Mapping[str, Guard] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._table = table
        self._initial = initial
        self._state = initial
        self._guards = guards or {}
        self._clock = clock
        self._history: list[StateTransition[S, E]] = []
        self._suspended: list[S] = []
        self._suspending = frozenset(
            state for state, row in table.items() if any(target is PREVIOUS for target in row.values())
        )

    @property
    def state(self) -> S:
        return self._state

    def get_state(self) -> S:
        """Return the present state."""
        return self._state

    def get_history(self) -> list[StateTransition[S, E]]:
        """Return a copy of all transitions so far, oldest first."""
        return list(self._history)

    def is_terminal(self) -> bool:
        """Tell whether nothing but a reset leads out of the present state."""
        return all(target is self._initial for target in self._table[self._state].values())

    def can_transition(self, event: E) -> bool:
        """Tell whether the table and its guards allow the event now."""
        return self._target(event) is not None

    def transition(self, event: E) -> bool:
        """Follow the event; False, and nothing changed, where it is not allowed."""
        target = self._target(event)
        if target is None:
            return False
        if self._table[self._state].get(event) is PREVIOUS:
            self._suspended.pop()
        elif target in self._suspending:
            self._suspended.append(self._state)
        self._history.append(StateTransition(self._state, target, event, self._clock()))
        self._state = target
        return True

    def require(self, event: E) -> None:
        """Follow the event.

        :raises InvalidTransition: it is not allowed now.
        """
        if not self.transition(event):
            allowed = ", ".join(sorted(e for e in self._table[self._state] if self.can_transition(e)))
            where = f"in state {self._state.value!r}"
            raise InvalidTransition(
                f"{event.value!r} is not allowed {where} (allowed: {allowed or 'nothing'})"
            )

    def serialize(self) -> dict[str, Any]:
        """Return the machine as JSON values."""
        return {
            "state": self._state.value,
            "history": [
                {"from": t.from_state, "to": t.to_state, "event": t.event, "at": t.timestamp}
                for t in self._history
            ],
        }

    def _target(self, event: E) -> S | None:
        target = self._table[self._state].get(event)
        if target is PREVIOUS:
            return self._suspended[-1] if self._suspended else None
        while isinstance(target, Choice):
            target = target.then if self._guards[target.guard]() else target.otherwise
        return target
