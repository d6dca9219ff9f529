"""Transition tables: their declaration, and their compilation to linked rows for the state machine.

A table maps a state and an event to a target: a state, `PREVIOUS` (the state before a suspension), or a
`Choice` between two targets by a guard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeAlias, TypeVar

S = TypeVar("S", bound=str)
E = TypeVar("E", bound=str)


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
Move: TypeAlias = tuple[S, S, E]
"""From, to, event: created once for a table and shared by all histories."""


@dataclass(slots=True, eq=False)
class Row(Generic[S, E]):
    """A state with its outgoing links by event."""

    state: S
    suspends: bool
    """`PREVIOUS` leads out of it, so the state before it must be remembered."""
    links: dict[E, Link[S, E] | Branch[S, E] | Return[E]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Return(Generic[E]):
    """The target `PREVIOUS` of an event."""

    event: E


@dataclass(frozen=True, slots=True, eq=False)
class Branch(Generic[S, E]):
    """A `Choice` with its guard resolved."""

    guard: Guard
    then: Link[S, E] | Branch[S, E] | None
    otherwise: Link[S, E] | Branch[S, E] | None


Link: TypeAlias = tuple[Move[S, E], Row[S, E]]
"""A move and its target row."""


def link_rows(table: Table[S, E], guards: Mapping[str, Guard]) -> dict[S, Row[S, E]]:
    """Return the linked rows of a table.

    :raises ValueError: a target is not a state of the table, or a guard is missing.
    """
    rows: dict[S, Row[S, E]] = {
        state: Row(state, any(target is PREVIOUS for target in targets.values()))
        for state, targets in table.items()
    }
    for state, targets in table.items():
        links = rows[state].links
        for event, target in targets.items():
            if target is PREVIOUS:
                links[event] = Return(event)
            elif (link := _link(state, event, target, rows, guards)) is not None:
                links[event] = link
    return rows


def _link(
    state: S, event: E, target: S | Choice[S] | None, rows: Mapping[S, Row[S, E]], guards: Mapping[str, Guard]
) -> Link[S, E] | Branch[S, E] | None:
    if target is None:
        return None
    if isinstance(target, Choice):
        if target.guard not in guards:
            raise ValueError(f"{event!s} in state {state!s} asks for the guard {target.guard!r}: not given")
        then = _link(state, event, target.then, rows, guards)
        otherwise = _link(state, event, target.otherwise, rows, guards)
        return Branch(guards[target.guard], then, otherwise)
    if target not in rows:
        raise ValueError(
            f"{event!s} leads from state {state!s} to {target!s}, which is not a state of the table"
        )
    return (state, rows[target].state, event), rows[target]


def links_of(link: Link[S, E] | Branch[S, E] | None) -> Iterator[Link[S, E]]:
    """Yield every link that the guards may choose."""
    if isinstance(link, Branch):
        yield from links_of(link.then)
        yield from links_of(link.otherwise)
    elif link is not None:
        yield link
