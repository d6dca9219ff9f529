"""Warnings about a machine as a whole: what can be reached, what ends, what is said twice."""

from __future__ import annotations

from difflib import get_close_matches
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from tideate_core.errors import did_you_mean
from tideate_core.machines.language.model import BOUNDARY, Diagnostic, Position

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from tideate_core.machines.language.model import MachineDefinition, State, Transition

__all__ = ["warnings_for"]

_HINTED_STATES: Final = 200
_HINTED_LENGTH: Final = 80
_ALIKE: Final = 0.8
_START: Final = Position(1, 1)
_SOURCE: Final[Callable[[Transition], str]] = attrgetter("source")
_TARGET: Final[Callable[[Transition], str]] = attrgetter("target")


def warnings_for(definition: MachineDefinition, unsure: Collection[str] = ()) -> list[Diagnostic]:
    """Return what is doubtful about a machine that has transitions.

    :param unsure: what lines with mistakes name: the transitions of such states are not all known.
    """
    unsure = {name for name in unsure if name == BOUNDARY or name in definition.states}
    return [
        *_duplicates(definition),
        *_unreachable(definition, unsure),
        *_without_way_out(definition, unsure),
    ]


def _duplicates(definition: MachineDefinition) -> Iterator[Diagnostic]:
    sources: set[str] = set()
    several: set[str] = set()
    for source, _, _, _, _, _ in definition.transitions:
        (several if source in sources else sources).add(source)
    first: dict[tuple[str, str], int] = {}
    for transition in definition.transitions if several else ():
        if transition.source not in several:
            continue
        pair = (transition.source, transition.target)
        line = first.setdefault(pair, transition.line)
        if line != transition.line:
            message = f"'{pair[0]} to {pair[1]}' stands in line {line} already; that one is used"
            length = transition.target_column - 1 + len(pair[1])
            yield Diagnostic(transition.source_at, length, "warning", "duplicate-transition", message)


def _unreachable(definition: MachineDefinition, unsure: Collection[str]) -> Iterator[Diagnostic]:
    begins = any(transition.source == BOUNDARY for transition in definition.transitions)
    if not begins and BOUNDARY not in unsure:
        message = "no transition starts at '*': nothing says where the workflow begins; add '* to STATE'"
        yield Diagnostic(_START, 1, "warning", "no-entry", message)
        return
    reached = _closure({BOUNDARY, *unsure}, definition, forward=True)
    lost = [state for name, state in definition.states.items() if name not in reached]
    for state in lost:
        hint = _hint(state.name, reached - {BOUNDARY}, len(lost))
        yield _about(state, "unreachable-state", f"no path leads from '*' to state {state.name!r}{hint}")


def _without_way_out(definition: MachineDefinition, unsure: Collection[str]) -> Iterator[Diagnostic]:
    sources = {source for source, _, _, _, _, _ in definition.transitions}
    dead_ends = [name for name in definition.states if name not in sources and name not in unsure]
    ending = _closure({BOUNDARY, *dead_ends, *unsure}, definition, forward=False)
    for name in dead_ends:
        hint = _hint(name, sources - {BOUNDARY, name}, len(dead_ends))
        message = f"state {name!r} has no way out; add '{name} to *' if the workflow ends there{hint}"
        yield _about(definition.states[name], "no-way-out", message)
    for name, state in definition.states.items():
        if name not in ending:
            yield _about(state, "no-way-out", f"no path leads from state {name!r} to the end, '*'")


def _closure(reached: set[str], definition: MachineDefinition, *, forward: bool) -> set[str]:
    """Return what the transitions reach from there, or what reaches it.

    Most texts tell a machine in its order, and one walk over them finds everything.
    """
    moves: Sequence[Transition] = definition.transitions
    here, there = _SOURCE, _TARGET
    if not forward:
        moves, here, there = moves[::-1], there, here
    for move in moves:
        if here(move) in reached:
            reached.add(there(move))
    if len(reached) == len(definition.states) + 1:
        return reached
    onward: dict[str, list[str]] = {}
    for move in moves:
        onward.setdefault(here(move), []).append(there(move))
    waiting = list(reached)
    while waiting:
        for name in onward.get(waiting.pop(), ()):
            if name not in reached:
                reached.add(name)
                waiting.append(name)
    return reached


def _hint(name: str, known: Collection[str], count: int) -> str:
    """A name that looks like a slip of the pen; not in a text so large that looking would take long."""
    if count * len(known) > _HINTED_STATES or len(name) > _HINTED_LENGTH:
        return ""
    short = [other for other in sorted(known) if len(other) <= _HINTED_LENGTH and other != name]
    return did_you_mean(name, get_close_matches(name, short, n=1, cutoff=_ALIKE))


def _about(state: State, code: str, message: str) -> Diagnostic:
    return Diagnostic(state.position, len(state.name), "warning", code, message)
