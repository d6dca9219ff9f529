"""Durable memory of a run and its steps: answers, choices, values and budgets that survive a crash."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from tideate_core.adapters import Usage
from tideate_core.workflows import MISSING, Allowance

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence

    from tideate_core.adapters import ModelTurn
    from tideate_core.config import LimitsConfig
    from tideate_core.store import Message, RunLog


TURN: Final = "turn:"
"""Key part of a model's turn, after `REPLY`."""
MORE: Final = "more_budget:"
"""Key prefix of a budget extension."""
WITHIN: Final = "spent_within:"
"""Key prefix of a nested run's spending."""
PERMIT: Final = "permit:"
"""Key part of a person's permission to run something here, or to read a secret of this machine."""
MENTIONS: Final = "mentions"
"""End of the key of resolved mentions."""
_PERMISSION: Final = re.compile(rf"{PERMIT}|[0-9]+\.{PERMIT}|choice:.*{PERMIT}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Spent:
    """Turns, tool calls and tokens spent in work loops."""

    turns: int = 0
    tool_calls: int = 0
    tokens: int = 0
    """Input and output tokens."""

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.turns + other.turns, self.tool_calls + other.tool_calls, self.tokens + other.tokens)

    @classmethod
    def of_turn(cls, turn: Mapping[str, Any]) -> Self:
        """Return the spending of a turn from its `ModelTurn.as_json` form."""
        usage = turn["usage"]
        return cls(1, len(turn["calls"]), usage["input_tokens"] + usage["output_tokens"])


class Ledger:
    """Budget account of a run's work loops: spending by step over all attempts, and by nested run.

    An item of a `for_each` counts as a step of its own.

    :param memos: memos of earlier processes, by step and key.
    """

    def __init__(self, memos: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._spent: dict[str, Spent] = {}
        self._extended: dict[str, int] = {}
        """Budget extensions by step."""
        self._run_extended = 0
        self._within: dict[str, Ledger | Spent] = {}
        """Ledgers of nested runs, by id."""
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
            self._add(value["of"], Spent.of_turn(value["turn"]))

    def open_within(self, run: str, ledger: Ledger) -> None:
        """Count the spending of a nested run here, too."""
        self._within[run] = ledger
        ledger._around = self

    def within(self, run: str) -> Spent:
        """Return the spending of a nested run."""
        one = self._within.get(run, Spent())
        return one if isinstance(one, Spent) else one.total

    def spend(self, step: str, turn: ModelTurn) -> None:
        """Count a turn for a step."""
        self._add(step, Spent.of_turn(turn.as_json()))

    def _add(self, step: str, spent: Spent) -> None:
        self._spent[step] = self._spent.get(step, Spent()) + spent

    @property
    def total(self) -> Spent:
        """Spending of all steps and nested runs."""
        return sum((*self._spent.values(), *map(self.within, self._within)), Spent())

    @property
    def outermost(self) -> Ledger:
        """Ledger of the outermost run; itself if the run is not nested."""
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
        """Yield the remaining budgets of a step and of the outermost run, if they have limits."""
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


REPLY: Final = ".ask:"
"""Key part of a model's reply, after the number of the attempt."""
FAILED: Final = "failed"
"""Key of a step's failed attempts."""
RUN: Final = ""
"""Step name of memos that belong to the whole run; no step has this name."""
CONTEXT: Final = "context:"
"""Key prefix of context values that steps have set."""
CONVERSATION: Final = "conversation:"
"""Key prefix of a step's conversation."""
EARLIER: Final = "earlier"
"""Key of the earlier run that this one continues."""
BEGINS: Final = "begins"
"""Key of the number of earlier runs' messages in a run's conversation."""
ITEM_DONE: Final = "choice:item:"
"""Key prefix of an item's result."""
OWN: Final = "own:"
"""Key prefix of a handler's own memos."""
LANDED: Final = ":landed:"
"""Part of the keys of an agent's landings, before the number of the turn."""
ASKED: Final = "asked:"
"""Key prefix of an address that answered the run."""
NEXT_RUN: Final = "next_run"
"""Key of the proposed next run."""
PENDING_END: Final = "taking_back"
"""Key of the end that a run was about to have when its rollback began."""

_NOTHING: Final = Usage()


def spent_on(memos: Mapping[str, Any], *, late: bool = False) -> Usage:
    """Return the usage of the replies among a step's memos.

    :param late: count only replies after the end of the step, which its record lacks.
    """
    replies = (value for key, value in memos.items() if REPLY in key)
    return _sum(Usage(**reply["usage"]) for reply in replies if reply["late"] or not late)


class Memory:
    """Memos of one run, available again to the process that resumes it.

    :param log: None for a run that is not in the store yet; see `attach`.
    :param memos: memos of earlier processes, by step and key.
    :param around: the memory of the run that contains this one.
    """

    def __init__(
        self,
        log: RunLog | None = None,
        memos: Mapping[str, Mapping[str, Any]] | None = None,
        around: Memory | None = None,
    ) -> None:
        self._attached = log
        self._around = around
        self.ledger: Ledger = Ledger(memos)
        """Spending of its work loops."""
        self._known = {step: dict(kept) for step, kept in (memos or {}).items()}
        self._spent = {step: spent_on(kept) for step, kept in self._known.items()}
        self._places = {step: _places(kept) for step, kept in self._known.items()}
        self._asked: dict[str, Counter[str]] = {}
        self._choosing = asyncio.Lock()

    def attach(self, log: RunLog) -> None:
        """Write to this log from now on."""
        self._attached = log

    @property
    def _log(self) -> RunLog:
        assert self._attached is not None  # noqa: S101 no step starts before the run is in the store
        return self._attached

    def recall(self, step: str, key: str) -> Any:
        """Return a stored value; `MISSING` if there is none."""
        return self._known.get(step, {}).get(key, MISSING)

    def note(self, step: str, key: str, value: Any, *, keep: bool = True) -> None:
        """Store a JSON value with the next commit.

        :param keep: it can be recalled in this process, too.
        """
        if keep:
            self._known.setdefault(step, {})[key] = value
        self._log.note(step, key, value)

    async def remember(self, step: str, key: str, value: Any, *, keep: bool = True) -> None:
        """Store a JSON value; durable on return."""
        if keep:
            self._known.setdefault(step, {})[key] = value
        await self._log.remember(step, key, value)

    async def read(self, step: str, key: str, messages: Sequence[Message]) -> None:
        """Store the messages that a step's model reads; durable on return. No other model gets them."""
        self._known.setdefault(step, {})[key] = [message.text for message in messages]
        await self._log.read(step, key, messages)

    async def choose(self, step: str, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        """Return the stored choice for the same question; otherwise choose and store it."""
        kept = self.recall(step, key)
        if kept is not MISSING and kept["digest"] == digest:
            return kept["value"]
        value = await produce()
        await self.remember(step, key, {"digest": digest, "value": value})
        return value

    async def choose_for_run(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        """Return the stored choice of any step for the same question; otherwise choose and store it.

        Steps that ask at the same time wait for the first. Nested runs share the choices.
        """
        if self._around is not None:
            return await self._around.choose_for_run(key, digest, produce)
        async with self._choosing:
            return await self.choose(RUN, key, digest, produce)

    def note_asked(self, destination: str) -> None:
        """Store the address that answered a step, for the outermost run."""
        if self._around is not None:
            self._around.note_asked(destination)
        elif self.recall(RUN, f"{ASKED}{destination}") is MISSING:
            self.note(RUN, f"{ASKED}{destination}", value=True)

    def numbered(self, step: str, key: str) -> str:
        """Return the key of this occurrence, because the same question may be asked more than once.

        The count restarts in the next process, so that repeated questions find their stored answers.
        """
        asked = self._asked.setdefault(step, Counter())
        asked[key] += 1
        count = asked[key]
        return key if count == 1 else f"{key}#{count}"

    def place(self, step: str) -> int:
        """Return the position of a new reply among a step's replies."""
        self._places[step] = self._places.get(step, 0) + 1
        return self._places[step]

    def failed(self, step: str, attempt: int, words: str) -> None:
        """Store that an attempt failed and another will follow.

        :param words: feedback for the next attempt.
        """
        self.note(step, FAILED, {"attempt": attempt, "words": words})

    def feedback(self, step: str) -> str:
        """Return the feedback of the last failed attempt; empty without one."""
        kept = self.recall(step, FAILED)
        return "" if kept is MISSING else str(kept["words"])

    def spend(self, step: str, usage: Usage) -> None:
        """Count the usage of a reply."""
        self._spent[step] = self.spent(step) + usage

    def spent(self, step: str) -> Usage:
        """Return the usage of all replies to a step, in all attempts and processes."""
        return self._spent.get(step, _NOTHING)

    def note_within(self, step: str, run: str) -> None:
        """Store the spending of a nested run that is this step."""
        spent = self.ledger.within(run)
        if spent != Spent():
            self.note(step, f"{WITHIN}{run}", asdict(spent), keep=False)

    async def extend_budget(self, step: str, attempt: int, of: str, *, run: bool) -> None:
        """Grant a step its budget once more; durable on return. A grant from before a crash is not repeated.

        :param of: the step, or an item of its list.
        :param run: extend the run's budget, too.
        """
        key = self.numbered(step, f"{MORE}{attempt}:{of}")
        if self.recall(step, key) is MISSING:
            await self.remember(step, key, {"of": of, "run": run})
            self.ledger.extend(of, run=run)

    def release(self, step: str) -> None:
        """Forget the memos of an ended step in this process."""
        self._known.pop(step, None)
        self._asked.pop(step, None)


def check_memos(memos: Mapping[str, Mapping[str, Any]]) -> None:
    """Check memos of another machine, by step and key.

    :raises ValueError: a value has another shape than this version writes.
    """
    try:
        Memory(None, memos)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"a memo cannot be read: {error!r}") from error


def is_permission(key: str, value: Any) -> bool:
    """Tell whether a memo is a permission, which counts only on the machine where it was given."""
    if _PERMISSION.match(key):
        return True
    items = value.get("value") if key.endswith(MENTIONS) and isinstance(value, dict) else None
    return isinstance(items, list) and any(isinstance(one, dict) and one.get("reason") for one in items)


def _places(memos: Mapping[str, Any]) -> int:
    return max((reply.get("place", 0) for key, reply in memos.items() if REPLY in key), default=0)


def _sum(usages: Iterable[Usage]) -> Usage:
    return sum(usages, Usage())
