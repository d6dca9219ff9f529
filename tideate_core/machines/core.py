"""One state machine for everything with a lifecycle; what differs is the table (`machines.table`)."""

from __future__ import annotations

import logging
import time
from array import array
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar, cast

from tideate_core.errors import InvalidMachineRecord, InvalidTransition, did_you_mean
from tideate_core.machines.record import Entry, Record, read_record, write_record
from tideate_core.machines.table import PREVIOUS, Back, Choice, Fork, Guard, Table, Target, follow, ways_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tideate_core.machines.table import Row, Step, Way

__all__ = ["PREVIOUS", "Choice", "Guard", "StateMachine", "StateTransition", "Table", "Target"]

S = TypeVar("S", bound=str)
E = TypeVar("E", bound=str)

_log = logging.getLogger(__name__)


class StateTransition(NamedTuple, Generic[S, E]):
    """One step of a machine's history; `timestamp` in seconds since the epoch."""

    from_state: S
    to_state: S
    event: E
    timestamp: float


class StateMachine(Generic[S, E]):
    """A table, the present state, and how it came there. Does no I/O; for one thread at a time.

    :param table: every state is a key; a state without events is terminal.
    :param guards: by the names that the table's choices use.
    :param reset: the event that leads from the end back to `initial`; None, and nothing does.
    :param clock: seconds since the epoch.
    :raises ValueError: the table names a state or a guard that does not exist.
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
        self._rows = follow(table, guards or {})
        if initial not in self._rows:
            raise ValueError(f"the initial state {initial!s} is no state of the table")
        if reset is not None and any(row.get(reset, initial) != initial for row in table.values()):
            raise ValueError(f"the event {reset!s} does not always lead to the initial state {initial!s}")
        self._initial = self._rows[initial]
        self._reset = reset
        self._clock = clock
        self._row = self._initial
        # A step is shared by all who make it, so a transition costs a history two words.
        self._steps: list[Step[S, E]] = []
        self._times = array("d")
        self._suspended: list[Row[S, E]] = []
        self._archive: list[tuple[list[Step[S, E]], array[float]]] = []

    @property
    def state(self) -> S:
        return self._row.state

    def get_state(self) -> S:
        """Return the present state."""
        return self._row.state

    def get_history(self) -> list[StateTransition[S, E]]:
        """Return a copy of all transitions since the start or the last reset, oldest first."""
        return _transitions(self._steps, self._times)

    def get_archive(self) -> list[list[StateTransition[S, E]]]:
        """Return copies of the histories that a reset ended, oldest first."""
        return [_transitions(steps, times) for steps, times in self._archive]

    def is_terminal(self) -> bool:
        """Tell whether nothing but a reset leads out of the present state."""
        return all(event == self._reset for event in self._row.ways)

    def can_transition(self, event: E) -> bool:
        """Tell whether the table and its guards allow the event now."""
        return self._way(event) is not None

    def transition(self, event: E) -> bool:
        """Follow the event; False, and nothing changed, where it is not allowed."""
        way = self._row.ways.get(event)
        if not isinstance(way, tuple):
            way = self._way(event)
            if way is None:
                return False
        step, row = way
        now = self._clock()
        if self._suspended or row.suspends:
            self._suspend(event, row)
        self._steps.append(step)
        self._times.append(now)
        self._row = row
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("%s: %s → %s (%s)", type(self).__name__, *step)
        return True

    def require(self, event: E) -> None:
        """Follow the event.

        :raises InvalidTransition: it is not allowed now.
        """
        if not self.transition(event):
            allowed = ", ".join(sorted(e for e in self._row.ways if self.can_transition(e))) or "nothing"
            where = f"in state {str(self.state)!r}"
            raise InvalidTransition(f"{str(event)!r} is not allowed {where} (allowed: {allowed})")

    def reset(self) -> bool:
        """Follow the reset event and archive the history; False, and nothing changed, where there is none."""
        if self._reset is None or not self.transition(self._reset):
            return False
        self._start_anew()
        return True

    def force_reset(self) -> None:
        """Go back to the initial state from any other, whatever the table says, and archive the history."""
        _log.warning(
            "%s: forced from %s back to %s", type(self).__name__, self._row.state, self._initial.state
        )
        self._start_anew()

    def serialize(self) -> str:
        """Return the machine as JSON: version, state, history and archive."""
        archive = [_entries(steps, times) for steps, times in self._archive]
        return write_record(Record(self._row.state, _entries(self._steps, self._times), archive))

    @classmethod
    def deserialize(cls, text: str, *arguments: Any, **options: Any) -> Self:
        """Make a machine anew from what `serialize` returned; every step is checked against the table.

        Guards are not asked again: of a choice, any branch is believed. `arguments` and `options` are
        those of the constructor.

        :raises InvalidMachineRecord: names what is wrong.
        """
        record = read_record(text)
        machine = cls(*arguments, **options)
        for number, history in enumerate(record.archive):
            machine._replay(history, f"archive[{number}]")
            machine._start_anew()
        machine._known(record.state, "state")
        machine._replay(record.history, "history")
        if record.state != machine.state:
            end = str(machine.state)
            raise InvalidMachineRecord(f"state: {record.state!r}, but the history ends in {end!r}")
        return machine

    def _way(self, event: E) -> Way[S, E] | None:
        """Return the way that the guards choose now."""
        way = self._row.ways.get(event)
        if isinstance(way, Back):
            return self._way_back(way)
        while isinstance(way, Fork):
            way = way.then if way.guard() else way.otherwise
        return way

    def _way_back(self, back: Back[E]) -> Way[S, E] | None:
        if not self._suspended:
            return None
        row = self._suspended[-1]
        return (self._row.state, row.state, back.event), row

    def _suspend(self, event: E, row: Row[S, E]) -> None:
        """Remember where a suspension began, or forget it."""
        if isinstance(self._row.ways[event], Back):
            self._suspended.pop()
        elif row.suspends:
            self._suspended.append(self._row)

    def _start_anew(self) -> None:
        if self._steps:
            self._archive.append((self._steps, self._times))
        self._steps, self._times = [], array("d")
        self._suspended.clear()
        self._row = self._initial

    def _replay(self, history: Sequence[Entry], where: str) -> None:
        for number, entry in enumerate(history):
            self._repeat(entry, f"{where}[{number}]")

    def _repeat(self, entry: Entry, where: str) -> None:
        source, target, event, at = entry
        self._known(source, f"{where}.from")
        self._known(target, f"{where}.to")
        if source != self.state:
            raise InvalidMachineRecord(
                f"{where}.from: broken chain: {source!r}, but the machine stood in {str(self.state)!r}"
            )
        step, row = self._recorded(target, event, where)
        if self._suspended or row.suspends:
            self._suspend(step[2], row)
        self._steps.append(step)
        self._times.append(at)
        self._row = row

    def _recorded(self, target: str, event: str, where: str) -> Way[S, E]:
        """Return the way that a record says was taken: of a choice, any branch."""
        way = self._row.ways.get(cast("E", event))
        for possible in ways_of(self._way_back(way) if isinstance(way, Back) else way):
            if possible[0][1] == target:
                return possible
        events = {str(known) for row in self._rows.values() for known in row.ways}
        if event not in events:
            raise InvalidMachineRecord(f"{where}.event: unknown event {event!r}{did_you_mean(event, events)}")
        raise InvalidMachineRecord(
            f"{where}: impossible transition: {event!r} does not lead from {str(self.state)!r} to {target!r}"
        )

    def _known(self, state: str, where: str) -> None:
        if state not in self._rows:
            known = map(str, self._rows)
            raise InvalidMachineRecord(f"{where}: unknown state {state!r}{did_you_mean(state, known)}")


def _transitions(steps: Sequence[Step[S, E]], times: Sequence[float]) -> list[StateTransition[S, E]]:
    return [StateTransition(*step, at) for step, at in zip(steps, times, strict=True)]


def _entries(steps: Sequence[Step[S, E]], times: Sequence[float]) -> list[Entry]:
    return [(*step, at) for step, at in zip(steps, times, strict=True)]
