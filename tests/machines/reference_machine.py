"""Reference model of a state machine, random tables and walks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tideate_core.machines import PREVIOUS, Choice, StateMachine

AnyTable = Mapping[Any, Mapping[Any, Any]]


class Model:
    """The reference semantics: plain lookups, and a stack of suspended states."""

    def __init__(self, table: AnyTable, initial: str, facts: dict[str, bool]) -> None:
        self.table, self.state, self.facts = table, initial, facts
        self.stack: list[str] = []

    def send(self, event: str) -> bool:
        row = self.table[self.state]
        target = row.get(event)
        while isinstance(target, Choice):
            target = target.then if self.facts[target.guard] else target.otherwise
        if target is None or (target is PREVIOUS and not self.stack):
            return False
        if target is PREVIOUS:
            target = self.stack.pop()
        elif PREVIOUS in self.table[target].values():
            self.stack.append(self.state)
        self.state = target
        return True


class Move(NamedTuple):
    """One step of a walk: the event's index in the row or in all events, and the facts."""

    number: int
    known: bool
    facts: int


MOVES = st.lists(
    st.builds(Move, st.integers(0, 50), st.integers(0, 9).map(bool), st.integers(0, 31)), max_size=60
)


class Pair:
    """A machine and its model with the same events and facts."""

    def __init__(self, table: AnyTable, initial: str, reset: str | None = None) -> None:
        self.table = table
        self.events = sorted({event for row in table.values() for event in row})
        names = sorted({name for row in table.values() for target in row.values() for name in guards(target)})
        self.facts = dict.fromkeys(names, False)
        self.options: dict[str, Any] = {
            "guards": {name: partial(self.facts.__getitem__, name) for name in names},
            "reset": reset,
        }
        self.machine: StateMachine[str, str] = StateMachine(table, initial, **self.options)
        self.model = Model(table, initial, self.facts)

    def event(self, move: Move) -> str | None:
        """Set the facts of a move and return its event, None if there is none."""
        self.facts.update({name: bool(move.facts >> bit & 1) for bit, name in enumerate(self.facts)})
        choices: Sequence[str] = sorted(self.table[self.model.state]) if move.known else self.events
        return choices[move.number % len(choices)] if choices else None


def guards(target: Any) -> set[str]:
    """Return the names of a target's guards."""
    if not isinstance(target, Choice):
        return set()
    return {target.guard} | guards(target.then) | guards(target.otherwise)


_STATES = st.sampled_from("abcde")
_CHOICES = st.recursive(
    _STATES | st.none(),
    lambda inner: st.builds(Choice, st.sampled_from(["first", "second"]), inner, inner),
    max_leaves=4,
).filter(lambda target: isinstance(target, Choice))
_TARGETS = st.one_of(_STATES, _STATES, st.just(PREVIOUS), _CHOICES)

TABLES: st.SearchStrategy[AnyTable] = st.fixed_dictionaries(
    {state: st.dictionaries(st.sampled_from("pqrst"), _TARGETS, max_size=4) for state in "abcde"}
)
