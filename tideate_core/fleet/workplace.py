"""The steps of a leg on one worker; each is idempotent, because it is repeated after a crash."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import FleetError, RefusedRef, RemoteFailed, SubmissionRefused
from tideate_core.fleet.advancing import Advance
from tideate_core.fleet.concurrency import Slots
from tideate_core.fleet.legs import LegResult, State, branch_of
from tideate_core.fleet.repositories import TRAILER, Repositories, commit_files
from tideate_core.fleet.trees import Trees
from tideate_core.fleet.words import clean
from tideate_core.portable import Inbox, Question
from tideate_core.workflows import WorkflowRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tideate_core.config import Config
    from tideate_core.fleet.authority import Authority, VerifiedLeg
    from tideate_core.fleet.legs import Prepared
    from tideate_core.fleet.objects import Kind, Objects
    from tideate_core.fleet.trees import WorkTree

log = logging.getLogger(__name__)

_TITLE: Final = 70
"""Maximum characters of a commit's first line."""


@dataclass(slots=True)
class Workplace:
    """Directories, configuration and database of a worker.

    :param place: `STATE/fleet`.
    """

    name: str
    config: Config
    place: Path
    objects: Objects
    authority: Authority
    concurrency: int
    """Maximum number of active legs."""
    trees: Trees = field(init=False)
    repositories: Repositories = field(init=False)
    registry: WorkflowRegistry = field(init=False)
    _slots: Slots = field(init=False)

    def __post_init__(self) -> None:
        from tideate_core.builtin import register_builtin

        self._slots = Slots(self.concurrency)
        self.repositories = Repositories(self.place)
        self.trees = Trees(self.place / "trees" / self.name)
        self.registry = WorkflowRegistry()
        register_builtin(self.registry)
        self.registry.load_packages()

    async def prepare(self, leg: VerifiedLeg, rate: str | None = None) -> Prepared:
        """Fetch a leg's commit into the mirror.

        :param rate: the provider whose rate limits the leg.
        :raises RemoteFailed: git cannot reach the repository.
        """
        one = leg.submission
        commit = one.commit or await self.repositories.resolve(one.repo, one.ref)
        await self.repositories.ensure(one.repo, one.ref, commit)
        return self.authority.seal_start(leg, commit, rate)

    async def advance(self, leg: VerifiedLeg, start: Prepared) -> LegResult:
        """Run a leg to the next question or the end, as soon as fewer than `concurrency` others run.

        :raises TideateError: its work tree cannot be created.
        """
        async with self._slots.one(), self.trees.hold(leg.leg.id) as tree:
            newest = await asyncio.to_thread(self.objects.newest, leg)
            result = await (await self._advance(leg, start.commit, tree, newest)).run(start.at)
        return result.model_copy(update={"worker": self.name})

    async def _advance(self, leg: VerifiedLeg, commit: str, tree: WorkTree, newest: str | None) -> Advance:
        one = leg.submission
        return Advance(
            leg.leg,
            commit,
            await self.repositories.ensure(one.repo, one.ref, commit),
            tree,
            self.registry,
            self.place / "home",
            self.config.fleet.bundle_every,
            load=partial(self._object, leg),
            keep=partial(self._keep, leg),
            newest=newest,
        )

    async def ask(self, leg: VerifiedLeg, result: LegResult) -> None:
        """Publish the question at the end of a leg in the inbox of its repository.

        :raises RemoteFailed: git cannot reach the repository, or it refuses the ref.
        """
        if result.question is None or result.bundle is None:
            raise FleetError(f"run {leg.run[:8]} waits without a question")
        address = leg.submission.repo
        question = Question.read(await self._object(leg, result.question), leg.run)
        inbox = await self.inbox(address)
        refs = await inbox.refs_of(address, leg.run)
        await inbox.publish(address, question, await self._object(leg, result.bundle), refs)

    async def _object(self, leg: VerifiedLeg, name: str) -> bytes:
        return await asyncio.to_thread(self.objects.get, leg, name)

    async def _keep(self, leg: VerifiedLeg, kind: Kind, content: bytes) -> str:
        return await asyncio.to_thread(self.objects.put, leg, kind, content)

    async def inbox(self, address: str) -> Inbox:
        """Return the inbox of a repository."""
        git = await self.repositories.git(address)
        return Inbox(git, git.place / "inbox-notes", self.config.inbox)

    async def land(
        self, leg: VerifiedLeg, result: LegResult, is_cancelled: Callable[[], Awaitable[bool]]
    ) -> LegResult:
        """Push the changes of a completed run as a branch; return the result with the branch, if any.

        :raises RemoteFailed: git cannot reach the repository, or it refuses the branch.
        :raises SubmissionRefused: the submission does not want it.
        """
        one = leg.submission
        if not one.land or result.commit is None or result.bundle is None:
            raise SubmissionRefused(f"run {leg.run[:8]} is refused: its submission wants no branch")
        async with self.trees.hold(leg.leg.id) as tree:
            # made anew, from nothing but the result
            await asyncio.to_thread(tree.forget)
            await (await self._advance(leg, result.commit, tree, result.bundle)).take_up()
            title = (one.prompt.strip().splitlines() or [one.workflow])[0][:_TITLE]
            commit = await commit_files(tree.path, result.files, one, title, result.at)
            if commit is None:
                return result
            if await is_cancelled():
                return result
            branch = branch_of(leg.run)
            trailer = f"{TRAILER}: {leg.run}"
            landed = await self.repositories.push(one.repo, tree.path, branch, commit, trailer)
        return result.model_copy(update={"landed": landed, "branch": branch})

    async def finish(self, leg: VerifiedLeg, result: LegResult | None) -> None:
        """Remove the leg's work tree, an ended run's inbox refs, and a completed run's older bundles.

        :param result: None: a step of the leg failed.
        """
        completed = result is not None and result.state is State.COMPLETED
        waiting = result is not None and result.state is State.WAITING
        if not waiting and (leg.leg.asked or not completed):
            await self.withdraw(leg)
        if completed and result is not None:
            kept = [result.bundle] if result.bundle else []
            await asyncio.to_thread(self.objects.keep_only, leg.run, kept)
        await asyncio.to_thread(self.trees.forget, leg.leg.id)

    async def withdraw(self, leg: VerifiedLeg) -> None:
        """Remove the refs of a run from the inbox; if the repository keeps them, mark the run as ended.

        :raises RemoteFailed: git cannot reach the repository.
        """
        address = leg.submission.repo
        inbox = await self.inbox(address)
        refs = await inbox.refs_of(address, leg.run)
        if refs is None:
            return
        try:
            number = (await inbox.question(refs)).question.n
        except RefusedRef:
            number = max(leg.leg.asked, 1)
        try:
            await inbox.end(address, refs, number)
        except RemoteFailed as error:
            await inbox.refs_of(address, leg.run)  # raises if the repository is away, to try again
            # how the run ended does not depend on it
            log.warning("run %s has ended, and its refs stay in the inbox: %s", leg.run[:8], error)

    def plain(self, words: str) -> str:
        """Return words of an error for a row, without paths and secrets of this machine."""
        words = words.replace(f"{self.place}/", "")
        home = Path.home()
        return clean(words if home == home.parent else words.replace(f"{home}/", "~/"))

    def leftover_trees(self) -> list[str]:
        """Return the ids of the legs that have a work tree; blocking."""
        return self.trees.legs()

    def forget(self, leg: str) -> None:
        """Remove a leg's work tree unless it is in use; blocking."""
        self.trees.forget(leg)
