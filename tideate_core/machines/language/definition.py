"""Definition of a machine: states, transitions, guidance, and their positions in the `.workflow` text."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple, NewType

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BOUNDARY", "MachineDefinition", "Position", "State", "Transition", "WorkflowState"]

BOUNDARY: Final = "*"
"""The sign for both the entry (as a source) and the exit (as a target); it is no state."""

WorkflowState = NewType("WorkflowState", str)
"""The name of a state that a machine is known to have, or `*`."""


class Position(NamedTuple):
    """A place in a text: line and column from 1, the column in characters."""

    line: int
    column: int


class Transition(NamedTuple):
    """One `from to to` line. `when`: the guidance line before it; `guidance`: what to do in the target."""

    source: str
    target: str
    when: str = ""
    guidance: str = ""
    line: int = 0
    """From 1; 0 where there is no text. Numbers and no `Position`s: a large file has many of these."""
    target_column: int = 0

    @property
    def source_at(self) -> Position:
        """The position of the source: always in the first column."""
        return Position(self.line, 1)

    @property
    def target_at(self) -> Position:
        return Position(self.line, self.target_column)


class State(NamedTuple):
    """A state, made by its first mention. `guidance`: the first that a transition into it gives."""

    name: str
    guidance: str = ""
    position: Position = Position(0, 0)


@dataclass(frozen=True)
class MachineDefinition:
    """A workflow of the machine kind. `states` are in the order of their first mention, without `*`."""

    name: str
    states: Mapping[str, State]
    transitions: tuple[Transition, ...] = field(default=())

    @cached_property
    def outgoing(self) -> Mapping[str, tuple[Transition, ...]]:
        """The transitions by their source, `*` among the sources; each target once, the first wins."""
        rows: dict[str, dict[str, Transition]] = {BOUNDARY: {}, **{name: {} for name in self.states}}
        for transition in self.transitions:
            rows[transition.source].setdefault(transition.target, transition)
        return {source: tuple(row.values()) for source, row in rows.items()}
