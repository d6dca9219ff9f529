"""Memory of a run's steps over a crash: answers, choices and values that are not asked for twice."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters import Usage
from tideate_core.engine.spending import MORE, WITHIN, Ledger, Spent
from tideate_core.workflows import MISSING, persons_time

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from tideate_core.store import Message, RunLog

__all__ = [
    "ASKED",
    "CONTEXT",
    "CONVERSATION",
    "EARLIER",
    "FAILED",
    "ITEM_DONE",
    "MISSING",
    "NEXT_RUN",
    "PENDING_END",
    "REPLY",
    "RUN",
    "Memory",
    "StepMemory",
    "digest_of",
    "spent_on",
]

REPLY: Final = ".ask:"
"""Stands in the keys of a model's replies, after the attempt's number."""
FAILED: Final = "failed"
"""The key of what is known of a step's failed attempts."""
RUN: Final = ""
"""The step of what belongs to the whole run: no step is called so."""
CONTEXT: Final = "context:"
"""Stands before the names of the run's context, in the keys of the values that steps gave them."""
CONVERSATION: Final = "conversation:"
"""Stands before the names of steps, in the keys of the conversations that they had."""
EARLIER: Final = "earlier"
"""The key of what a run goes on with that continues another."""
ITEM_DONE: Final = "choice:item:"
"""Stands in the keys of the results of a `for_each`, before the item's index."""
ASKED: Final = "asked:"
"""Stands in the keys of a run before the adapters that answered it."""
NEXT_RUN: Final = "next_run"
"""The key of the run that is proposed to follow."""
PENDING_END: Final = "taking_back"
"""The key of how a run was going to end when the rollback of its writes began."""

_NOTHING: Final = Usage()


class StepMemory:
    """Memory of one step, or of one item of it.

    :param prefix: tells the item's keys from others of the step.
    """

    def __init__(self, memory: Memory, step: str, prefix: str = "") -> None:
        self._memory = memory
        self._step = step
        self._prefix = prefix

    def recall(self, key: str) -> Any:
        return self._memory.recall(self._step, f"own:{self._prefix}{key}")

    async def remember(self, key: str, value: Any) -> None:
        """Keep a value over a crash; the step's writes are rolled back all the same before it goes on."""
        await self._memory.remember(self._step, f"own:{self._prefix}{key}", value)

    async def read(self, key: str, messages: Sequence[Message]) -> None:
        """Keep the texts that the step's model reads now; no other one gets them."""
        await self._memory.read(self._step, f"own:{self._prefix}{key}", messages)

    async def choose_once(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        key = f"choice:{self._prefix}{key}"
        kept = self._memory.recall(self._step, key)
        if kept is not MISSING and kept["digest"] == digest:
            return kept["value"]
        value = await produce()
        await self._memory.remember(self._step, key, {"digest": digest, "value": value})
        return value

    async def choose_for_run(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        with persons_time():  # who waits for another step's question waits for a person, too
            return await self._memory.choose_for_run(key, digest, produce)


def digest_of(*parts: Any) -> str:
    """Return what a question is recognised by.

    :param parts: JSON.
    """
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def spent_on(memos: Mapping[str, Any], *, late: bool = False) -> Usage:
    """Return what the replies among a step's memos took.

    :param late: only those that came after the step had ended, and so are not in its record.
    """
    replies = (value for key, value in memos.items() if REPLY in key)
    return _sum(Usage(**reply["usage"]) for reply in replies if reply["late"] or not late)


class Memory:
    """One run's memos: what is written here is there again in the process that resumes the run.

    :param log: None of a run that is not in the store yet; see `attach`.
    :param memos: what earlier processes wrote, by step and key.
    :param around: of the run that this one is a step of.
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
        """What its work loops took."""
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
        """Return what was remembered, `MISSING` where nothing was."""
        return self._known.get(step, {}).get(key, MISSING)

    def note(self, step: str, key: str, value: Any, *, keep: bool = True) -> None:
        """Write a JSON value down with the next commit.

        :param keep: it may be recalled in this process, too.
        """
        if keep:
            self._known.setdefault(step, {})[key] = value
        self._log.note(step, key, value)

    async def remember(self, step: str, key: str, value: Any, *, keep: bool = True) -> None:
        """Write a JSON value down; durable when it returns."""
        if keep:
            self._known.setdefault(step, {})[key] = value
        await self._log.remember(step, key, value)

    async def read(self, step: str, key: str, messages: Sequence[Message]) -> None:
        """Remember the texts that a step's model reads; durable then; no other model gets them."""
        self._known.setdefault(step, {})[key] = [message.text for message in messages]
        await self._log.read(step, key, messages)

    async def choose_for_run(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        """Return what a step of the run chose before for the same question, else choose and remember it.

        Steps that ask at the same time wait for the first. Runs within one another are one here.
        """
        if self._around is not None:
            return await self._around.choose_for_run(key, digest, produce)
        async with self._choosing:
            kept = self.recall(RUN, key)
            if kept is not MISSING and kept["digest"] == digest:
                return kept["value"]
            value = await produce()
            await self.remember(RUN, key, {"digest": digest, "value": value})
            return value

    def note_asked(self, destination: str) -> None:
        """Write down which adapter answered a step. Runs within one another are one here."""
        if self._around is not None:
            self._around.note_asked(destination)
        elif self.recall(RUN, f"{ASKED}{destination}") is MISSING:
            self.note(RUN, f"{ASKED}{destination}", value=True)

    def numbered(self, step: str, key: str) -> str:
        """Return the key of this occurrence: one thing may be asked again, and is another question then.

        In the next process the count begins anew, so that what is asked again there finds the answers.
        """
        asked = self._asked.setdefault(step, Counter())
        asked[key] += 1
        count = asked[key]
        return key if count == 1 else f"{key}#{count}"

    def place(self, step: str) -> int:
        """Return the place of a new reply among those to a step: their keys have no order."""
        self._places[step] = self._places.get(step, 0) + 1
        return self._places[step]

    def failed(self, step: str, attempt: int, words: str) -> None:
        """An attempt failed and there will be another.

        :param words: what the next one is told of it.
        """
        self.note(step, FAILED, {"attempt": attempt, "words": words})

    def feedback(self, step: str) -> str:
        """Return what the next attempt is told of the one that failed last, empty without any."""
        kept = self.recall(step, FAILED)
        return "" if kept is MISSING else str(kept["words"])

    def spend(self, step: str, usage: Usage) -> None:
        """A reply took this."""
        self._spent[step] = self.spent(step) + usage

    def spent(self, step: str) -> Usage:
        """Return what all replies to a step took, of all its attempts, those before a crash too."""
        return self._spent.get(step, _NOTHING)

    def note_within(self, step: str, run: str) -> None:
        """Write down what the work loops of a run took that is this step, for the budget of this one."""
        spent = self.ledger.within(run)
        if spent != Spent():
            self.note(step, f"{WITHIN}{run}", asdict(spent), keep=False)

    async def extend_budget(self, step: str, attempt: int, of: str, *, run: bool) -> None:
        """Give a step its budget once more; durable when it returns. Given before a crash, it has it already.

        :param of: the step, or the item of it.
        :param run: the run, too.
        """
        key = self.numbered(step, f"{MORE}{attempt}:{of}")
        if self.recall(step, key) is MISSING:
            await self.remember(step, key, {"of": of, "run": run})
            self.ledger.extend(of, run=run)

    def release(self, step: str) -> None:
        """The step has ended: nothing of it is recalled any more in this process."""
        self._known.pop(step, None)
        self._asked.pop(step, None)


def _places(memos: Mapping[str, Any]) -> int:
    return max((reply.get("place", 0) for key, reply in memos.items() if REPLY in key), default=0)


def _sum(usages: Iterable[Usage]) -> Usage:
    return sum(usages, Usage())
