"""Interpreter of a `.workflow` machine: checks a move, returns guidance and the next allowed moves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from tideate_core.errors import did_you_mean
from tideate_core.machines import StateMachine
from tideate_core.machines.language.definition import BOUNDARY, MachineDefinition, WorkflowState
from tideate_core.machines.language.parser import parse

if TYPE_CHECKING:
    from tideate_core.machines import Table
    from tideate_core.machines.language.definition import Transition

_HINTED_STATES: Final = 1000
_HINTED_LENGTH: Final = 80
EXIT: Final = "*exit"
"""The exit in a `StateMachine` table, where `*` is the entry; no state can have this name."""


class Action(NamedTuple):
    """An allowed move: its target state, or `*` for the end, and its condition."""

    action: str
    when: str


@dataclass(frozen=True, slots=True)
class Success:
    """An allowed move. `guidance`: for the next state; `valid_actions`: the moves from there."""

    state: WorkflowState
    next_state: WorkflowState
    guidance: str
    valid_actions: tuple[Action, ...]
    ended: bool
    move: Literal["success"] = "success"


@dataclass(frozen=True, slots=True)
class Failure:
    """A rejected move. `valid_actions`: the allowed moves from the current state."""

    state: str
    message: str
    valid_actions: tuple[Action, ...]
    move: Literal["failure"] = "failure"


TransitionResult: TypeAlias = Success | Failure


class Workflow:
    """Checks moves against a definition; has no position, so it can be shared.

    :param source: the text of a `.workflow` file, or its parsed definition.
    :raises InvalidWorkflowFile: the text has errors.
    """

    def __init__(self, source: str | MachineDefinition, name: str = "workflow") -> None:
        parsed = source if isinstance(source, MachineDefinition) else parse(source, name).require(name)
        self.definition = parsed

    @property
    def name(self) -> str:
        return self.definition.name

    def transition(self, current: str, next: str) -> TransitionResult:  # noqa: A002 the public name
        """Check a move and return its guidance."""
        move = self._moves.get(current, {}).get(next)
        if move is None:
            return Failure(current, self._refusal(current, next), self.valid_actions(current))
        ended = next == BOUNDARY
        guidance = move.guidance or ("" if ended else self.guidance(next))
        actions = () if ended else self.valid_actions(next)
        return Success(WorkflowState(current), WorkflowState(next), guidance, actions, ended)

    def is_valid_state(self, name: str) -> bool:
        """Return whether the workflow has this state; `*`, the entry and the exit, counts as one."""
        return name == BOUNDARY or name in self.definition.states

    def valid_actions(self, state: str) -> tuple[Action, ...]:
        """Return the moves from a state; none for an unknown state."""
        return self._actions.get(state, ())

    def guidance(self, state: str) -> str:
        """Return a state's guidance, empty if there is none."""
        known = self.definition.states.get(state)
        return known.guidance if known else ""

    def table(self) -> Table[str, str]:
        """Return the table for a `StateMachine`: from `*` to `EXIT`, with target names as events."""
        rows = {
            source: {m.target: EXIT if m.target == BOUNDARY else m.target for m in moves}
            for source, moves in self.definition.outgoing.items()
        }
        return {**rows, EXIT: {}}

    def machine(self) -> StateMachine[str, str]:
        """Return a state machine at the entry."""
        return StateMachine(self.table(), BOUNDARY)

    @cached_property
    def _moves(self) -> dict[str, dict[str, Transition]]:
        outgoing = self.definition.outgoing
        return {source: {move.target: move for move in moves} for source, moves in outgoing.items()}

    @cached_property
    def _actions(self) -> dict[str, tuple[Action, ...]]:
        return {
            source: tuple(Action(move.target, move.when) for move in moves)
            for source, moves in self.definition.outgoing.items()
        }

    def _refusal(self, current: str, next_state: str) -> str:
        for name in (current, next_state):
            if not self.is_valid_state(name):
                return self._unknown(name)
        allowed = ", ".join(
            "the end (*)" if action.action == BOUNDARY else repr(action.action)
            for action in self.valid_actions(current)
        )
        return f"no transition leads from {current!r} to {next_state!r} (allowed: {allowed or 'none'})"

    def _unknown(self, name: str) -> str:
        known = self.definition.states
        if len(name) > _HINTED_LENGTH:
            return f"unknown state {name[:_HINTED_LENGTH] + '…'!r}"
        # the search for the nearest name takes long in a very large machine
        return f"unknown state {name!r}{did_you_mean(name, known if len(known) <= _HINTED_STATES else ())}"
