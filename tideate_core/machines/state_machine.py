"""State machine over a table of transitions: history, guards, suspension, reset and serialization."""

from __future__ import annotations

import logging
import time
from array import array
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar, cast

from tideate_core.errors import InvalidMachineRecord, InvalidTransition, did_you_mean
from tideate_core.machines.serialization import Entry, Record, read_record, write_record
from tideate_core.machines.table import (
    Branch,
    Guard,
    Return,
    Table,
    link_rows,
    links_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tideate_core.machines.table import Link, Move, Row

S = TypeVar("S", bound=str)
E = TypeVar("E", bound=str)

_log = logging.getLogger(__name__)


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
        self._rows = link_rows(table, guards or {})
        if initial not in self._rows:
            raise ValueError(f"the initial state {initial!s} is not a state of the table")
        if reset is not None and any(row.get(reset, initial) != initial for row in table.values()):
            raise ValueError(f"the event {reset!s} does not always lead to the initial state {initial!s}")
        self._initial = self._rows[initial]
        self._reset = reset
        self._clock = clock
        self._row = self._initial
        # histories share their moves, so a transition costs two words
        self._moves: list[Move[S, E]] = []
        self._times = array("d")
        self._suspended: list[Row[S, E]] = []
        self._archive: list[tuple[list[Move[S, E]], array[float]]] = []

    @property
    def state(self) -> S:
        return self._row.state

    def get_state(self) -> S:
        """Return the current state."""
        return self._row.state

    def get_history(self) -> list[StateTransition[S, E]]:
        """Return a copy of all transitions since the start or the last reset, oldest first."""
        return _transitions(self._moves, self._times)

    def get_archive(self) -> list[list[StateTransition[S, E]]]:
        """Return copies of the histories ended by a reset, oldest first."""
        return [_transitions(moves, times) for moves, times in self._archive]

    def is_terminal(self) -> bool:
        """Return whether only a reset leads out of the current state."""
        return all(event == self._reset for event in self._row.links)

    def can_transition(self, event: E) -> bool:
        """Return whether the table and its guards allow the event now."""
        return self._chosen_link(event) is not None

    def transition(self, event: E) -> bool:
        """Apply an event; if it is not allowed, return False and change nothing."""
        link = self._row.links.get(event)
        if not isinstance(link, tuple):
            link = self._chosen_link(event)
            if link is None:
                return False
        move, row = link
        now = self._clock()
        if self._suspended or row.suspends:
            self._suspend(event, row)
        self._moves.append(move)
        self._times.append(now)
        self._row = row
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("%s: %s → %s (%s)", type(self).__name__, *move)
        return True

    def require(self, event: E) -> None:
        """Apply an event.

        :raises InvalidTransition: it is not allowed now.
        """
        if not self.transition(event):
            allowed = ", ".join(sorted(e for e in self._row.links if self.can_transition(e))) or "nothing"
            where = f"in state {str(self.state)!r}"
            raise InvalidTransition(f"{str(event)!r} is not allowed {where} (allowed: {allowed})")

    def reset(self) -> bool:
        """Apply the reset event and archive the history; if it is not allowed, return False and change
        nothing."""
        if self._reset is None or not self.transition(self._reset):
            return False
        self._restart()
        return True

    def force_reset(self) -> None:
        """Return to the initial state from any state, even against the table, and archive the history."""
        _log.warning(
            "%s: forced from %s back to %s", type(self).__name__, self._row.state, self._initial.state
        )
        self._restart()

    def serialize(self) -> str:
        """Return the machine as JSON: version, state, history and archive."""
        archive = [_entries(moves, times) for moves, times in self._archive]
        return write_record(Record(self._row.state, _entries(self._moves, self._times), archive))

    @classmethod
    def deserialize(cls, text: str, *arguments: Any, **options: Any) -> Self:
        """Restore a machine from the output of `serialize`; every transition is checked against the table.

        Guards are not evaluated again: any branch of a choice is accepted. `arguments` and `options` go to
        the constructor.

        :raises InvalidMachineRecord: names the mistake.
        """
        record = read_record(text)
        machine = cls(*arguments, **options)
        for number, history in enumerate(record.archive):
            machine._replay(history, f"archive[{number}]")
            machine._restart()
        machine._require_known(record.state, "state")
        machine._replay(record.history, "history")
        if record.state != machine.state:
            end = str(machine.state)
            raise InvalidMachineRecord(f"state: {record.state!r}, but the history ends in {end!r}")
        return machine

    def _chosen_link(self, event: E) -> Link[S, E] | None:
        """Return the link chosen by the guards now."""
        link = self._row.links.get(event)
        if isinstance(link, Return):
            return self._previous_link(link)
        while isinstance(link, Branch):
            link = link.then if link.guard() else link.otherwise
        return link

    def _previous_link(self, back: Return[E]) -> Link[S, E] | None:
        if not self._suspended:
            return None
        row = self._suspended[-1]
        return (self._row.state, row.state, back.event), row

    def _suspend(self, event: E, row: Row[S, E]) -> None:
        """Push the state before a suspension, or pop it on return."""
        if isinstance(self._row.links[event], Return):
            self._suspended.pop()
        elif row.suspends:
            self._suspended.append(self._row)

    def _restart(self) -> None:
        if self._moves:
            self._archive.append((self._moves, self._times))
        self._moves, self._times = [], array("d")
        self._suspended.clear()
        self._row = self._initial

    def _replay(self, history: Sequence[Entry], where: str) -> None:
        for number, entry in enumerate(history):
            self._replay_entry(entry, f"{where}[{number}]")

    def _replay_entry(self, entry: Entry, where: str) -> None:
        source, target, event, at = entry
        self._require_known(source, f"{where}.from")
        self._require_known(target, f"{where}.to")
        if source != self.state:
            raise InvalidMachineRecord(
                f"{where}.from: broken chain: {source!r}, but the machine stood in {str(self.state)!r}"
            )
        move, row = self._recorded_link(target, event, where)
        if self._suspended or row.suspends:
            self._suspend(move[2], row)
        self._moves.append(move)
        self._times.append(at)
        self._row = row

    def _recorded_link(self, target: str, event: str, where: str) -> Link[S, E]:
        """Return the link of a recorded transition; any branch of a choice matches."""
        link = self._row.links.get(cast("E", event))
        for possible in links_of(self._previous_link(link) if isinstance(link, Return) else link):
            if possible[0][1] == target:
                return possible
        events = {str(known) for row in self._rows.values() for known in row.links}
        if event not in events:
            raise InvalidMachineRecord(f"{where}.event: unknown event {event!r}{did_you_mean(event, events)}")
        raise InvalidMachineRecord(
            f"{where}: impossible transition: {event!r} does not lead from {str(self.state)!r} to {target!r}"
        )

    def _require_known(self, state: str, where: str) -> None:
        if state not in self._rows:
            known = map(str, self._rows)
            raise InvalidMachineRecord(f"{where}: unknown state {state!r}{did_you_mean(state, known)}")


def _transitions(moves: Sequence[Move[S, E]], times: Sequence[float]) -> list[StateTransition[S, E]]:
    return [StateTransition(*move, at) for move, at in zip(moves, times, strict=True)]


def _entries(moves: Sequence[Move[S, E]], times: Sequence[float]) -> list[Entry]:
    return [(*move, at) for move, at in zip(moves, times, strict=True)]
