"""Generic state machine over a transition table: state, history, guards, suspension, reset.

A table maps a state and an event to a target: a state, `PREVIOUS` (the state before a suspension), or a
`Choice` between two targets by a guard.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeAlias, TypeVar, cast

from tideate_core.errors import InvalidMachineRecord, InvalidTransition, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.machines.serialization import Entry

S = TypeVar("S", bound=str)
E = TypeVar("E", bound=str)

_log = logging.getLogger(__name__)


class _Previous(Enum):
    PREVIOUS = "previous"


PREVIOUS = _Previous.PREVIOUS
"""Target: the state from which the current state was entered, also in nested suspensions."""


@dataclass(frozen=True, slots=True)
class Choice(Generic[S]):
    """`then` if the named guard holds, else `otherwise`; None rejects the event."""

    guard: str
    then: S | Choice[S] | None
    otherwise: S | Choice[S] | None = None


Target: TypeAlias = S | _Previous | Choice[S]
Table = Mapping[S, Mapping[E, Target[S]]]
Guard = Callable[[], bool]


class StateTransition(NamedTuple, Generic[S, E]):
    """One transition of a history; `timestamp` in seconds since the epoch."""

    from_state: S
    to_state: S
    event: E
    timestamp: float


class StateMachine(Generic[S, E]):
    """A table, the current state, and the history. No I/O; not thread-safe.

    :param table: every state is a key; a state without events is terminal.
    :param guards: guard functions by the names in the table's choices.
    :param reset: the event that leads back to `initial`; None: there is none.
    :param clock: returns seconds since the epoch.
    :raises ValueError: the table names an unknown state or guard.
    """

    def __init__(
        self,
        table: Table[S, E],
        initial: S,
        *,
        guards: Mapping[str, Guard] | None = None,
        reset: E | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._guards = guards or {}
        for state, row in table.items():
            for event, target in row.items():
                _check(target, f"{event!s} in state {state!s}", table, self._guards)
        if initial not in table:
            raise ValueError(f"the initial state {initial!s} is not a state of the table")
        if reset is not None and any(row.get(reset, initial) != initial for row in table.values()):
            raise ValueError(f"the event {reset!s} does not always lead to the initial state {initial!s}")
        self._table = table
        self._suspensions = {state for state, row in table.items() if PREVIOUS in row.values()}
        self._initial = initial
        self._reset = reset
        self._clock = clock
        self._state = initial
        self._history: list[StateTransition[S, E]] = []
        self._suspended: list[S] = []
        self._archive: list[list[StateTransition[S, E]]] = []

    @property
    def state(self) -> S:
        return self._state

    def get_state(self) -> S:
        """Return the current state."""
        return self._state

    def get_history(self) -> list[StateTransition[S, E]]:
        """Return a copy of all transitions since the start or the last reset, oldest first."""
        return self._history.copy()

    def get_archive(self) -> list[list[StateTransition[S, E]]]:
        """Return copies of the histories ended by a reset, oldest first."""
        return [history.copy() for history in self._archive]

    def is_terminal(self) -> bool:
        """Return whether only a reset leads out of the current state."""
        return all(event == self._reset for event in self._table[self._state])

    def can_transition(self, event: E) -> bool:
        """Return whether the table and its guards allow the event now."""
        return self._chosen(event) is not None

    def transition(self, event: E) -> bool:
        """Apply an event; if it is not allowed, return False and change nothing."""
        target = self._chosen(event)
        if target is None:
            return False
        self._enter(target, event, self._clock())
        _log.debug("%s: %s → %s (%s)", type(self).__name__, *self._history[-1][:3])
        return True

    def require(self, event: E) -> None:
        """Apply an event.

        :raises InvalidTransition: it is not allowed now.
        """
        if not self.transition(event):
            row = self._table[self._state]
            allowed = ", ".join(sorted(e for e in row if self.can_transition(e))) or "nothing"
            where = f"in state {str(self._state)!r}"
            raise InvalidTransition(f"{str(event)!r} is not allowed {where} (allowed: {allowed})")

    def reset(self) -> bool:
        """Apply the reset event and archive the history; if not allowed, return False without a change."""
        if self._reset is None or not self.transition(self._reset):
            return False
        self._restart()
        return True

    def force_reset(self) -> None:
        """Return to the initial state from any state, even against the table, and archive the history."""
        _log.warning("%s: forced from %s back to %s", type(self).__name__, self._state, self._initial)
        self._restart()

    def serialize(self) -> str:
        """Return the machine as JSON: version, state, history and archive."""
        history, *archive = (
            [dict(zip(("from", "to", "event", "at"), step, strict=True)) for step in each]
            for each in (self._history, *self._archive)
        )
        shape = {"version": 1, "state": self._state, "history": history, "archive": archive}
        return json.dumps(shape, allow_nan=False)

    @classmethod
    def deserialize(cls, text: str, *arguments: Any, **options: Any) -> Self:
        """Restore a machine from the output of `serialize`; every transition is checked against the table.

        Guards are not evaluated again: any branch of a choice is accepted. `arguments` and `options` go to
        the constructor.

        :raises InvalidMachineRecord: names the mistake.
        """
        # here, because no run needs it
        from tideate_core.machines.serialization import read_record

        record = read_record(text)
        machine = cls(*arguments, **options)
        for number, history in enumerate(record.archive):
            machine._replay(history, f"archive[{number}]")
            machine._restart()
        machine._replay(record.history, "history")
        if record.state != machine.state:
            end = str(machine.state)
            raise InvalidMachineRecord(f"state: {record.state!r}, but the history ends in {end!r}")
        return machine

    def _chosen(self, event: E) -> S | None:
        """Return the target that the guards choose now, None if the event is not allowed."""
        target = self._table[self._state].get(event)
        if target is PREVIOUS:
            return self._suspended[-1] if self._suspended else None
        while isinstance(target, Choice):
            target = target.then if self._guards[target.guard]() else target.otherwise
        return target

    def _enter(self, target: S, event: E, at: float) -> None:
        if self._table[self._state][event] is PREVIOUS:
            self._suspended.pop()
        elif target in self._suspensions:
            self._suspended.append(self._state)
        self._history.append(StateTransition(self._state, target, event, at))
        self._state = target

    def _restart(self) -> None:
        if self._history:
            self._archive.append(self._history)
        self._history = []
        self._suspended.clear()
        self._state = self._initial

    def _replay(self, history: Sequence[Entry], where: str) -> None:
        for number, entry in enumerate(history):
            place = f"{where}[{number}]"
            if entry.source != self._state:
                stood = str(self._state)
                raise InvalidMachineRecord(
                    f"{place}.from: broken chain: {entry.source!r}, but the machine stood in {stood!r}"
                )
            self._enter(*self._recorded(entry, place), entry.at)

    def _recorded(self, entry: Entry, place: str) -> tuple[S, E]:
        """Return the target and event of a recorded transition; any branch of a choice matches."""
        row = self._table[self._state]
        target = row.get(cast("E", entry.event))
        options = self._suspended[-1:] if target is PREVIOUS else _options(target)
        if entry.to in options:
            event = next(known for known in row if known == entry.event)
            return next(state for state in options if state == entry.to), event
        hint = did_you_mean(entry.event, map(str, row)) or did_you_mean(entry.to, map(str, options))
        raise InvalidMachineRecord(
            f"{place}: impossible transition: {entry.event!r} does not lead from {str(self._state)!r}"
            f" to {entry.to!r}{hint}"
        )


def _options(target: Target[S] | None) -> list[S]:
    """Return every state that the guards may choose."""
    if isinstance(target, Choice):
        return [*_options(target.then), *_options(target.otherwise)]
    return [] if target is None or target is PREVIOUS else [target]


def _check(
    target: Target[S] | None, event: str, states: Mapping[S, object], guards: Mapping[str, Guard]
) -> None:
    if isinstance(target, Choice):
        if target.guard not in guards:
            raise ValueError(f"{event} asks for the guard {target.guard!r}: not given")
        _check(target.then, event, states, guards)
        _check(target.otherwise, event, states, guards)
    elif target is not None and target is not PREVIOUS and target not in states:
        raise ValueError(f"{event} leads to {target!s}, which is not a state of the table")
