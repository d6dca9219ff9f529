"""Spending of work loops: turns, tool calls and tokens of each step and of the run, against their budgets."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from tideate_core.workflows import Allowance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tideate_core.adapters import ModelTurn
    from tideate_core.config import LimitsConfig

__all__ = ["MORE", "TURN", "WITHIN", "Ledger", "Spent"]

TURN: Final = "turn:"
"""Stands in the keys of a model's turns, after those of its replies."""
MORE: Final = "more_budget:"
"""Stands before the numbers of the extensions of a step's budget, in their keys."""
WITHIN: Final = "spent_within:"
"""Stands before the ids of runs that are steps, in the keys of what they took."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Turns, tool calls and tokens of models in work loops."""

    turns: int = 0
    tool_calls: int = 0
    tokens: int = 0
    """Read and written."""

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.turns + other.turns, self.tool_calls + other.tool_calls, self.tokens + other.tokens)

    @classmethod
    def of_turn(cls, turn: Mapping[str, Any]) -> Self:
        """Return what a turn took, as `ModelTurn.as_json` gives it."""
        usage = turn["usage"]
        return cls(1, len(turn["calls"]), usage["input_tokens"] + usage["output_tokens"])


class Ledger:
    """Spending of models in the work loops of a run: by step, in all its attempts, and in the runs within it.

    An item of a `for_each` counts like a step of its own.

    :param memos: what earlier processes wrote, by step and key.
    """

    def __init__(self, memos: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._spent: dict[str, Spent] = {}
        self._extended: dict[str, int] = {}
        """How often a step was given its budget anew."""
        self._run_extended = 0
        self._within: dict[str, Ledger | Spent] = {}
        """Of the runs within this one, by their ids."""
        self._around: Ledger | None = None
        for step, kept in (memos or {}).items():
            for key, value in kept.items():
                self._read(step, key, value)

    def _read(self, step: str, key: str, value: Any) -> None:
        if key.startswith(MORE):
            self.extend(value["of"], run=value["run"])
        elif key.startswith(WITHIN):
            self._within[key.removeprefix(WITHIN)] = Spent(**value)
        elif TURN in key and isinstance(value, dict) and "turn" in value:
            self._add(value.get("of", step), Spent.of_turn(value["turn"]))

    def open_within(self, run: str, ledger: Ledger) -> None:
        """Count a run that is a step of this one here, too."""
        self._within[run] = ledger
        ledger._around = self

    def within(self, run: str) -> Spent:
        """Return what a run that is a step of this one took."""
        one = self._within.get(run, Spent())
        return one if isinstance(one, Spent) else one.total

    def spend(self, step: str, turn: ModelTurn) -> None:
        """A turn was taken for a step."""
        self._add(step, Spent.of_turn(turn.as_json()))

    def _add(self, step: str, spent: Spent) -> None:
        self._spent[step] = self._spent.get(step, Spent()) + spent

    @property
    def total(self) -> Spent:
        """Spending of all steps, and of the runs within."""
        return sum((*self._spent.values(), *map(self.within, self._within)), Spent())

    @property
    def outermost(self) -> Ledger:
        """The one of the run that this one's is, directly or not, a step of; itself if it is none."""
        return self if self._around is None else self._around.outermost

    def extend(self, step: str, *, run: bool) -> None:
        """Give a step its budget once more.

        :param run: the outermost run, too.
        """
        self._extended[step] = self._extended.get(step, 0) + 1
        self._run_extended += run

    @property
    def _all_run_extensions(self) -> int:
        within = (one for one in self._within.values() if isinstance(one, Ledger))
        return self._run_extended + sum(one._all_run_extensions for one in within)

    def allowances(self, limits: LimitsConfig, step: str) -> Iterator[Allowance]:
        """Yield what is left of the budgets of a step and of the outermost run, where one has a limit."""
        run = self.outermost
        scopes = (
            ("", self._spent.get(step, Spent()), 1 + self._extended.get(step, 0)),
            ("run_", run.total, 1 + run._all_run_extensions),
        )
        for scope, spent, times in scopes:
            for unit, used in asdict(spent).items():
                once = getattr(limits, f"{scope}{unit}")
                if once is not None:
                    limit = once * times
                    yield Allowance(f"limits.{scope}{unit}", unit, limit, limit - used, of_run=bool(scope))
