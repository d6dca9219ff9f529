"""Looks for answers: one worker of a queue reads the inboxes of waiting runs, and queues the next legs."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from tideate_core.errors import (
    CommandError,
    FleetError,
    RefusedRef,
    SubmissionRefused,
    TideateError,
    TransferTooLarge,
    WorkspaceError,
)
from tideate_core.fleet.database import APPLICATION, plain_errors
from tideate_core.fleet.legs import CONTINUE, START, Leg, LegResult
from tideate_core.fleet.queues import enqueue_options
from tideate_core.fleet.views import MALFORMED, REASON
from tideate_core.fleet.words import clean
from tideate_core.git import list_refs
from tideate_core.portable import Namespace
from tideate_core.util.escaping import one_line

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence

    from dbos import DBOSClient, WorkflowStatus
    from pydantic import JsonValue

    from tideate_core.fleet.authority import VerifiedLeg
    from tideate_core.fleet.workplace import Workplace

log = logging.getLogger(__name__)

T = TypeVar("T")

SOONEST: Final = 1.0
"""Seconds between two looks into an inbox with a new question or a new answer."""
LATEST: Final = 30.0
"""Maximum seconds between two looks into an inbox that can be read."""
LONGEST_PAUSE: Final = 300.0
"""Maximum seconds between two looks into an inbox that cannot be read."""
PATIENCE: Final = 30.0
"""Seconds that a repository has to list its answers."""
TRANSFER: Final = 300.0
"""Seconds that a repository has to send a question and its answer."""
AT_ONCE: Final = 8
"""Maximum number of looks that wait for a repository at the same time."""
FAILURES: Final = 3
"""Failed looks in a row after which another worker should try."""
PAGE: Final = 1000
"""Waiting runs that are read from the database at once."""
BATCH: Final = 50
"""Waiting runs whose inputs are read at once."""
LONGEST_REASON: Final = 300
"""Maximum characters of the reason why an answer does not count."""
ANSWERED: Final = "answered"
"""Attribute of a waiting leg: number of the question that a person said to have answered."""
_PATTERNS: Final = tuple(f"{space}/answers/*" for space in Namespace)


@dataclass(slots=True)
class _Row:
    """A waiting leg; without an address if its row is malformed or its submission refused."""

    changed: int | None
    """Time of the row's last change."""
    address: str | None = None
    question: int = 0
    refused: str = ""
    """Commit of the last answer that does not count."""


_GONE: Final = _Row(None)


@dataclass(slots=True)
class _Inbox:
    """The inbox of one repository, and the task that looks into it."""

    every: float = SOONEST
    due: float = 0.0
    failures: int = 0
    """Failed looks in a row."""
    seen: frozenset[tuple[str, str]] = frozenset()
    """Legs that were waiting at the last look, with what persons said about their answers."""
    look: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """A look is under way."""
        return self.look is not None and not self.look.done()

    def succeeded(self, *, found: bool) -> None:
        self.failures = 0
        self.every = SOONEST if found else min(LATEST, self.every * 1.5)
        self.due = time.monotonic() + self.every

    def failed(self) -> None:
        self.failures += 1
        self.due = time.monotonic() + min(LONGEST_PAUSE, 2.0**self.failures)


@dataclass(frozen=True, slots=True)
class _Failure:
    """An error of one repository or row, for the log and the row."""

    words: str
    passes: bool
    """It is of the repository or the database, so the same look may succeed later."""
    of_database: bool = False


@dataclass(slots=True)
class AnswerPoller:
    """Looks into the inboxes of one queue's waiting runs, each in a task of its own."""

    place: Workplace
    client: DBOSClient
    queue: str
    _rows: dict[str, _Row] = field(default_factory=dict)
    _inboxes: dict[str, _Inbox] = field(default_factory=dict)
    _lists: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _transfers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def poll(self) -> None:
        """Begin a look into each inbox that is due, the longest due first; wait for none.

        :raises FleetError: the database cannot be reached.
        """
        waiting = await asyncio.to_thread(lambda: list(self._waiting()))
        self._rows = {leg.workflow_id: self._row(leg) for leg in waiting}
        await self._verify([leg for leg, row in self._rows.items() if not (row.address or row.refused)])
        by_address: dict[str, list[WorkflowStatus]] = {}
        for leg in waiting:
            if (address := self._rows[leg.workflow_id].address) is not None:
                by_address.setdefault(address, []).append(leg)
        self._inboxes = {
            one: inbox for one, inbox in self._inboxes.items() if one in by_address or inbox.busy
        }
        for address in sorted(by_address, key=lambda one: self._inboxes.setdefault(one, _Inbox()).due):
            self._look_if_due(address, by_address[address])

    async def close(self) -> None:
        """Cancel all looks, and wait until their programs have ended."""
        looks = [one.look for one in self._inboxes.values() if one.look is not None]
        self._inboxes.clear()
        for look in looks:
            look.cancel()
        await asyncio.gather(*looks, return_exceptions=True)

    def fails(self) -> bool:
        """Tell whether an inbox cannot be read from here, so that another worker should try."""
        return any(one.failures >= FAILURES for one in self._inboxes.values())

    # -- rows -------------------------------------------------------------------------------------------

    def _waiting(self) -> Iterator[WorkflowStatus]:
        """Yield the waiting legs of the queue, the oldest first; blocking."""
        offset, full = 0, True
        while full:
            with plain_errors():
                page = self.client.list_workflows(
                    name=[START, CONTINUE],
                    status="SUCCESS",
                    attributes={"waiting": True},
                    application_name=APPLICATION,
                    queue_name=self.queue,
                    limit=PAGE,
                    offset=offset,
                    load_input=False,
                    load_output=False,
                )
            yield from page
            offset, full = offset + PAGE, len(page) == PAGE

    def _row(self, leg: WorkflowStatus) -> _Row:
        known = self._rows.get(leg.workflow_id)
        return known if known is not None and known.changed == leg.updated_at else _Row(leg.updated_at)

    async def _verify(self, legs: Sequence[str]) -> None:
        """Set the addresses of new and changed rows."""
        for at in range(0, len(legs), BATCH):
            for found in await asyncio.to_thread(self._load, legs[at : at + BATCH]):
                row = self._rows[found.workflow_id]
                checked = await _attempt(self._checked(found))
                if isinstance(checked, _Failure) and checked.passes:
                    log.warning("run %s cannot be verified now: %s", found.workflow_id[:8], checked.words)
                elif isinstance(checked, _Failure):
                    row.refused = "row"
                    await self._explain([found], checked.words)
                else:
                    leg, result, _ = checked
                    row.address = leg.submission.repo
                    row.question = result.asked.n if result.asked else 0

    def _load(self, legs: Sequence[str]) -> list[WorkflowStatus]:
        with plain_errors():
            return self.client.list_workflows(workflow_ids=list(legs))

    async def _checked(self, found: WorkflowStatus) -> tuple[VerifiedLeg, LegResult, str]:
        """Verify a waiting leg; return the leg, its result and its queue.

        :raises SubmissionRefused: its submission or its result does not count, or the row is malformed.
        """
        leg = leg_of(found)
        if leg.id != found.workflow_id:
            raise SubmissionRefused(f"run {found.workflow_id[:8]} is refused: {MALFORMED}")
        authority = self.place.authority
        verified = await authority.verify(leg.model_dump(mode="json"))
        queue = found.queue_name or leg.submission.queue
        return verified, authority.read_result(verified, found.output), queue

    async def _explain(self, legs: Iterable[WorkflowStatus], words: str) -> None:
        """Note at waiting legs why they do not continue; the first time also in the log."""
        words = one_line(clean(words))[:LONGEST_REASON]
        for leg in legs:
            if _attribute(leg, REASON) != words:
                log.warning("run %s is waiting: %s", leg.workflow_id[:8], words)
                await _attempt(asyncio.to_thread(self._note, leg.workflow_id, words))

    def _note(self, leg: str, words: str) -> None:
        with plain_errors():
            self.client.update_workflow_attributes(leg, {REASON: words}, merge=True)

    # -- looks ------------------------------------------------------------------------------------------

    def _look_if_due(self, address: str, legs: list[WorkflowStatus]) -> None:
        inbox = self._inboxes[address]
        if inbox.busy:
            return
        seen = frozenset((leg.workflow_id, repr(_attribute(leg, ANSWERED))) for leg in legs)
        if not seen <= inbox.seen and not inbox.failures:
            inbox.every, inbox.due = SOONEST, 0.0
        if time.monotonic() >= inbox.due:
            inbox.seen = seen
            inbox.look = asyncio.create_task(self._look(inbox, address, legs))

    async def _look(self, inbox: _Inbox, address: str, legs: list[WorkflowStatus]) -> None:
        listed = await _attempt(self._answers(address))
        failure, begun = (listed, 0) if isinstance(listed, _Failure) else await self._carry_on(legs, listed)
        if failure is None:
            inbox.succeeded(found=begun > 0)
        else:
            await self._failed(inbox, legs, failure)

    async def _carry_on(
        self, legs: list[WorkflowStatus], answers: Mapping[tuple[str, int], str]
    ) -> tuple[_Failure | None, int]:
        """Begin the next legs of answered runs; return an error that concerns all, and their number."""
        begun = 0
        for leg in legs:
            row = self._rows.get(leg.workflow_id, _GONE)
            commit = answers.get((leg.workflow_id.rpartition("-")[0], row.question))
            if commit is None or commit == row.refused or row.address is None:
                continue
            done = await _attempt(self._begin(row.address, leg.workflow_id))
            if not isinstance(done, _Failure):
                begun += done
            elif done.passes:
                return done, begun
            else:
                row.refused = commit
                await self._explain([leg], done.words)
        return None, begun

    async def _failed(self, inbox: _Inbox, legs: list[WorkflowStatus], failure: _Failure) -> None:
        if failure.of_database:
            inbox.due = time.monotonic() + SOONEST
            return
        inbox.failed()
        if inbox.failures > 1:
            await self._explain(legs, failure.words)

    async def _answers(self, address: str) -> dict[tuple[str, int], str]:
        """Return the commits of a repository's answers, by run and number of the question."""
        async with self._lists:
            try:
                async with asyncio.timeout(PATIENCE):
                    git = await self.place.repositories.git(address)
                    refs = await list_refs(git, address, _PATTERNS)
            except TimeoutError as error:
                raise TimeoutError(f"its repository did not answer within {PATIENCE:g} s") from error
        return _by_question(refs)

    async def _begin(self, address: str, leg_id: str) -> bool:
        """Queue the next leg of a run; return whether its answer counts."""
        loaded = await asyncio.to_thread(self._load, [leg_id])
        if not loaded:
            return False
        verified, result, queue = await self._checked(loaded[0])
        async with self._transfers, asyncio.timeout(TRANSFER):
            answer = await self._answer(address, verified.leg, result)
        if answer is not None:
            following = self.place.authority.following(verified, result, answer)
            await asyncio.to_thread(self._enqueue, verified.leg, following, queue)
        return answer is not None

    async def _answer(self, address: str, leg: Leg, result: LegResult) -> dict[str, JsonValue] | None:
        inbox = await self.place.inbox(address)
        refs = await inbox.refs_of(address, leg.run)
        if refs is None or result.asked is None or result.asked.n not in refs.answers:
            return None
        run = leg.run[:8]
        if result.asked.n in refs.taken:
            raise RefusedRef(
                f"run {run} was continued outside of the fleet; `tideate fleet cancel {run}` ends it here"
            )
        asked = await inbox.question(refs)
        if (asked.question.n, asked.question.digest) != (result.asked.n, result.asked.digest):
            raise RefusedRef(
                f"the question of run {run} was replaced in the inbox; `tideate fleet cancel` "
                "and then `tideate fleet retry` publish it again"
            )
        answer = await inbox.answer(refs, asked)
        return None if answer is None else answer.answer.model_dump(mode="json")

    def _enqueue(self, leg: Leg, following: Leg, queue: str) -> None:
        with plain_errors():
            self.client.enqueue(enqueue_options(following, queue), following.model_dump(mode="json"))
            self.client.update_workflow_attributes(leg.id, {"waiting": False, REASON: ""}, merge=True)


async def _attempt(work: Coroutine[object, object, T]) -> T | _Failure:
    """Await work about one repository or one row: an error of others must never end a worker."""
    try:
        return await work
    except Exception as error:  # noqa: BLE001 whatever others wrote there
        refused = isinstance(error, SubmissionRefused)
        of_database = isinstance(error, FleetError) and not refused
        passes = of_database or (
            isinstance(error, WorkspaceError | CommandError | TimeoutError | OSError)
            and not isinstance(error, RefusedRef | TransferTooLarge)
        )
        known = isinstance(error, TideateError | TimeoutError)
        words = (str(error).partition("\n")[0] or "its repository is too slow") if known else MALFORMED
        return _Failure(words, passes, of_database)


def _attribute(leg: WorkflowStatus, name: str) -> object:
    return leg.attributes.get(name) if isinstance(leg.attributes, dict) else None


def _by_question(refs: Mapping[str, str]) -> dict[tuple[str, int], str]:
    found = {}
    for ref, commit in refs.items():
        *_, run, number = ref.split("/")
        if number.isascii() and number.isdigit() and len(number) < 10:
            found[run, int(number)] = commit
    return found


def leg_of(found: WorkflowStatus) -> Leg:
    """Return the leg that a DBOS workflow has as its input, which must be loaded.

    :raises SubmissionRefused: it is malformed.
    """
    match found.input:
        case {"args": [shape, *_]}:
            return Leg.read(shape)
    raise SubmissionRefused(f"run {found.workflow_id[:8]} is refused: {MALFORMED}")
