"""Cases: the hostile trees and the commands tried with each."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from tests.hostile.malices import EXPENSIVE, TARGETS, Hostility, hostilities

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.hostile.malices import Forgeries

TOGETHER: Final = 4
"""Hostile files in one tree, if none hides the others from commands."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Hostile files in one `.tideate/`."""

    malices: tuple[Hostility, ...]

    @property
    def text(self) -> str:
        return (
            "nothing hostile"
            if not self.malices
            else ", ".join(f"{one.target.name or '.tideate'} ({one.kind})" for one in self.malices)
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a case."""

    tree: str
    command: str
    state: str
    """State of the project: `used` or `new`."""
    seconds: float
    mib: int
    problems: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, shape: Mapping[str, Any]) -> Outcome:
        return cls(**{**shape, "problems": tuple(shape["problems"])})


def trees(forged: Forgeries) -> list[Tree]:
    """Return a valid tree, and trees with each kind of attack once at each path."""
    alone: list[Tree] = []
    others: list[Hostility] = []
    for target in TARGETS:
        for hostility in hostilities(target, forged):
            if target.ends_commands:
                alone.append(Tree((hostility,)))
            else:
                others.append(hostility)
    return [Tree(()), *alone, *_grouped(others)]


def _grouped(every: list[Hostility]) -> list[Tree]:
    """Combine attacks on different areas deterministically."""
    left = list(every)
    random.Random(14).shuffle(left)
    made = []
    while left:
        group: list[Hostility] = []
        for hostility in list(left):
            if _goes_with(hostility, group):
                group.append(hostility)
                left.remove(hostility)
            if len(group) == TOGETHER:
                break
        made.append(Tree(tuple(group)))
    return made


def _goes_with(hostility: Hostility, group: Sequence[Hostility]) -> bool:
    costs = hostility.malice in EXPENSIVE and any(one.malice in EXPENSIVE for one in group)
    return not costs and hostility.target.area not in [one.target.area for one in group]


def assign(made: Sequence[Tree], commands: Sequence[str]) -> list[list[int]]:
    """Choose the commands for each tree, so that each command meets each path and each kind of attack.

    Each tree gets the commands with the most new pairs (command, path) and (command, attack), at least one.
    The valid tree gets all of them.

    :returns: for each tree the indexes of its commands.
    """
    pairs: set[tuple[int, str]] = {
        (command, mark) for tree in made for command in range(len(commands)) for mark in _marks(tree)
    }
    rounds = [0] * len(commands)
    chosen: list[list[int]] = [[] if tree.malices else list(range(len(commands))) for tree in made]
    while pairs:
        before = len(pairs)
        for tree, taken in zip(made, chosen, strict=True):
            wanted = _marks(tree)
            gain = {
                command: sum((command, mark) in pairs for mark in wanted)
                for command in range(len(commands))
                if command not in taken
            }
            if not gain or (not any(gain.values()) and taken):
                continue
            best = max(gain, key=lambda command: (gain[command], -rounds[command]))
            taken.append(best)
            rounds[best] += 1
            pairs -= {(best, mark) for mark in wanted}
        if len(pairs) == before:
            break
    return chosen


def chosen_for_editor(made: Sequence[Tree]) -> list[int]:
    """Return the numbers of a few trees that cover each path, attack and forgery."""
    missing = {mark for tree in made for mark in _finer_marks(tree)}
    chosen: list[int] = []
    while missing:
        best = max(range(len(made)), key=lambda number: len(missing & _finer_marks(made[number])))
        chosen.append(best)
        missing -= _finer_marks(made[best])
    return chosen


def _finer_marks(tree: Tree) -> set[str]:
    return {mark for one in tree.malices for mark in (f"at {one.target.name}", f"by {one.kind}")}


def _marks(tree: Tree) -> list[str]:
    return [mark for one in tree.malices for mark in (f"at {one.target.name}", f"by {one.malice}")]
