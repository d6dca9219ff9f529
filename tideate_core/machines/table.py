"""What a machine may do: the table as people write it, and the linked rows that a machine follows.

A table maps a state and an event to the next state. Three kinds of target exist: a state, `PREVIOUS`
(back to where the machine stood before it was suspended) and a `Choice` between two targets by a guard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeAlias, TypeVar

__all__ = [
    "PREVIOUS",
    "Back",
    "Choice",
    "Fork",
    "Guard",
    "Row",
    "Step",
    "Table",
    "Target",
    "Way",
    "follow",
    "ways_of",
]

S = TypeVar("S", bound=str)
E = TypeVar("E", bound=str)


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
Step: TypeAlias = tuple[S, S, E]
"""From, to, event: made once for a table and shared by every history."""


@dataclass(slots=True, eq=False)
class Row(Generic[S, E]):
    """A state with its ways out, each found by one look-up."""

    state: S
    suspends: bool
    """`PREVIOUS` leads out of it, so it has to be remembered where it was entered from."""
    ways: dict[E, Way[S, E] | Fork[S, E] | Back[E]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Back(Generic[E]):
    """`PREVIOUS`, by this event."""

    event: E


@dataclass(frozen=True, slots=True, eq=False)
class Fork(Generic[S, E]):
    """A `Choice` with its guard at hand."""

    guard: Guard
    then: Way[S, E] | Fork[S, E] | None
    otherwise: Way[S, E] | Fork[S, E] | None


Way: TypeAlias = tuple[Step[S, E], Row[S, E]]
"""A step and the row that it leads to."""


def follow(table: Table[S, E], guards: Mapping[str, Guard]) -> dict[S, Row[S, E]]:
    """Return the rows of a table, linked with each other.

    :raises ValueError: a target is no state of the table, or a guard is missing.
    """
    rows: dict[S, Row[S, E]] = {
        state: Row(state, any(target is PREVIOUS for target in targets.values()))
        for state, targets in table.items()
    }
    for state, targets in table.items():
        ways = rows[state].ways
        for event, target in targets.items():
            if target is PREVIOUS:
                ways[event] = Back(event)
            elif (way := _way(state, event, target, rows, guards)) is not None:
                ways[event] = way
    return rows


def _way(
    state: S, event: E, target: S | Choice[S] | None, rows: Mapping[S, Row[S, E]], guards: Mapping[str, Guard]
) -> Way[S, E] | Fork[S, E] | None:
    if target is None:
        return None
    if isinstance(target, Choice):
        if target.guard not in guards:
            raise ValueError(f"{event!s} in state {state!s} asks for the guard {target.guard!r}: not given")
        then = _way(state, event, target.then, rows, guards)
        otherwise = _way(state, event, target.otherwise, rows, guards)
        return Fork(guards[target.guard], then, otherwise)
    if target not in rows:
        raise ValueError(f"{event!s} leads from state {state!s} to {target!s}: that is no state of the table")
    return (state, rows[target].state, event), rows[target]


def ways_of(way: Way[S, E] | Fork[S, E] | None) -> Iterator[Way[S, E]]:
    """Yield every way that the guards may choose."""
    if isinstance(way, Fork):
        yield from ways_of(way.then)
        yield from ways_of(way.otherwise)
    elif way is not None:
        yield way
