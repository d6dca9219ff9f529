"""Polling for answers: one worker reads the inboxes of waiting runs, and queues the next legs."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tideate_core.errors import RefusedRef, RemoteFailed, SubmissionRefused, TideateError
from tideate_core.fleet.database import APPLICATION, plain_errors
from tideate_core.fleet.legs import CONTINUE, START, Leg
from tideate_core.fleet.queues import enqueue_options
from tideate_core.fleet.views import MALFORMED
from tideate_core.git import list_refs
from tideate_core.portable import Namespace

if TYPE_CHECKING:
    from dbos import DBOSClient, WorkflowStatus

    from tideate_core.fleet.workplace import Workplace

log = logging.getLogger(__name__)

SOONEST: Final = 1.0
"""Seconds between two polls of an inbox with a new question or a new answer."""
LATEST: Final = 30.0
"""Maximum seconds between two polls of an inbox."""
AT_ONCE: Final = 8
"""Maximum number of repositories that are polled at the same time."""
MOST: Final = 10_000
"""Maximum number of waiting runs in one poll."""
_PATTERNS: Final = tuple(f"{space}/answers/*" for space in Namespace)


@dataclass(slots=True)
class _Due:
    """Time of the next poll of an inbox."""

    every: float = SOONEST
    at: float = 0.0
    seen: frozenset[str] = frozenset()
    """Legs that were waiting at the last poll."""


@dataclass(slots=True)
class AnswerPoller:
    """Polls of the inboxes of waiting runs, at growing intervals."""

    place: Workplace
    client: DBOSClient
    _due: dict[str, _Due] = field(default_factory=dict)
    _refused: set[str] = field(default_factory=set)
    """Commits of rejected answers."""

    async def poll(self) -> int:
        """Queue the legs after new answers; return their number.

        :raises FleetError: the database cannot be reached.
        """
        waiting = await asyncio.to_thread(self._waiting)
        by_repository: dict[str, list[WorkflowStatus]] = {}
        for leg in waiting:
            by_repository.setdefault((leg.attributes or {}).get("repo", ""), []).append(leg)
        self._due = {address: self._due.get(address, _Due()) for address in by_repository}
        limit = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as group:
            looks = [
                group.create_task(self._look_if_due(address, legs, limit))
                for address, legs in by_repository.items()
            ]
        return sum(look.result() for look in looks)

    async def _look_if_due(self, address: str, legs: list[WorkflowStatus], limit: asyncio.Semaphore) -> int:
        due, seen = self._due[address], frozenset(leg.workflow_id for leg in legs)
        if not seen <= due.seen:
            due.every, due.at = SOONEST, 0.0
        if time.monotonic() < due.at:
            return 0
        due.seen = seen
        async with limit:
            found = await self._look(address, legs)
        due.every = SOONEST if found else min(LATEST, due.every * 1.5)
        due.at = time.monotonic() + due.every
        return found

    def _waiting(self) -> list[WorkflowStatus]:
        with plain_errors():
            return self.client.list_workflows(
                name=[START, CONTINUE],
                status="SUCCESS",
                attributes={"waiting": True},
                application_name=APPLICATION,
                limit=MOST,
                load_input=False,
                load_output=False,
            )

    async def _look(self, address: str, legs: list[WorkflowStatus]) -> int:
        try:
            git = await self.place.repositories.git(address)
            refs = await list_refs(git, address, _PATTERNS)
        except TideateError as error:
            log.warning("the inbox of a waiting run cannot be read: %s", error)
            return 0
        answered = {ref.split("/")[-2]: commit for ref, commit in refs.items() if commit not in self._refused}
        begun = 0
        for leg in legs:
            run = leg.workflow_id.rpartition("-")[0]
            if run in answered:
                try:
                    begun += await self._begin(address, leg.workflow_id)
                except SubmissionRefused as error:
                    log.warning("an answer is not read: %s", error)
        return begun

    async def _begin(self, address: str, leg_id: str) -> bool:
        shape, output, queue = await asyncio.to_thread(self._leg, leg_id)
        verified = await self.place.authority.verify(shape)
        leg, result = verified.leg, self.place.authority.read_result(verified, output)
        inbox = await self.place.inbox(address)
        try:
            refs = await inbox.refs_of(address, leg.run)
            if refs is None or result.asked is None or result.asked.n not in refs.answers:
                return False
            if result.asked.n in refs.taken:
                log.warning(
                    "run %s was continued outside of the fleet; `tideate fleet cancel %s` ends it here",
                    leg.run[:8],
                    leg.run[:8],
                )
                return False
            asked = await inbox.question(refs)
            if (asked.question.n, asked.question.digest) != (result.asked.n, result.asked.digest):
                raise RefusedRef(
                    f"the question of run {leg.run[:8]} was replaced in the inbox; `tideate fleet cancel` "
                    "and then `tideate fleet retry` publish it again"
                )
            answer = await inbox.answer(refs, asked)
        except RefusedRef as error:
            self._refused.add(refs.answers[result.asked.n] if refs and result.asked else "")
            log.warning("an answer to run %s is rejected: %s", leg.run[:8], error)
            return False
        except RemoteFailed as error:
            log.warning("the inbox of run %s cannot be read: %s", leg.run[:8], error)
            return False
        if answer is None:
            return False
        following = self.place.authority.following(verified, result, answer.answer.model_dump(mode="json"))
        await asyncio.to_thread(self._enqueue, leg, following, queue)
        return True

    def _leg(self, leg_id: str) -> tuple[object, object, str]:
        with plain_errors():
            (found,) = self.client.list_workflows(workflow_ids=[leg_id])
        leg = leg_of(found)
        return leg.model_dump(mode="json"), found.output, found.queue_name or leg.submission.queue

    def _enqueue(self, leg: Leg, following: Leg, queue: str) -> None:
        with plain_errors():
            self.client.enqueue(enqueue_options(following, queue), following.model_dump(mode="json"))
            self.client.update_workflow_attributes(leg.id, {"waiting": False}, merge=True)


def leg_of(found: WorkflowStatus) -> Leg:
    """Return the leg that a DBOS workflow has as its input, which must be loaded.

    :raises SubmissionRefused: it is malformed.
    """
    match found.input:
        case {"args": [shape, *_]}:
            return Leg.read(shape)
    raise SubmissionRefused(f"run {found.workflow_id[:8]} is refused: {MALFORMED}")
