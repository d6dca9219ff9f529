"""Machine definition: states, transitions, guidance, and their positions in the `.workflow` text."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple, NewType

if TYPE_CHECKING:
    from collections.abc import Mapping

BOUNDARY: Final = "*"
"""The sign of the entry (as a source) and of the exit (as a target); it is not a state."""

WorkflowState = NewType("WorkflowState", str)
"""The name of an existing state, or `*`."""


class Position(NamedTuple):
    """A position in a text: line and column from 1; columns count characters."""

    line: int
    column: int


class Transition(NamedTuple):
    """One `from to to` line. `when`: the guidance line before it; `guidance`: for the target."""

    source: str
    target: str
    when: str = ""
    guidance: str = ""
    line: int = 0
    """From 1; 0 without a text. Stored as numbers, not as `Position`: large files have many."""
    target_column: int = 0

    @property
    def source_at(self) -> Position:
        """The source's position: always in the first column."""
        return Position(self.line, 1)

    @property
    def target_at(self) -> Position:
        return Position(self.line, self.target_column)


class State(NamedTuple):
    """A state, defined by its first mention. `guidance`: from the first transition into it that has any."""

    name: str
    guidance: str = ""
    position: Position = Position(0, 0)


@dataclass(frozen=True)
class MachineDefinition:
    """A machine of states and transitions. `states`: in the order of first mention, without `*`."""

    name: str
    states: Mapping[str, State]
    transitions: tuple[Transition, ...] = field(default=())

    @cached_property
    def outgoing(self) -> Mapping[str, tuple[Transition, ...]]:
        """Transitions by source, including `*`; for each target the first one wins."""
        rows: dict[str, dict[str, Transition]] = {BOUNDARY: {}, **{name: {} for name in self.states}}
        for transition in self.transitions:
            rows[transition.source].setdefault(transition.target, transition)
        return {source: tuple(row.values()) for source, row in rows.items()}
