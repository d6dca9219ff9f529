"""The steps of a leg on one worker; each is idempotent, because it is repeated after a crash."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from tideate_core.fleet.advancing import Advance, forget_tree
from tideate_core.fleet.concurrency import Slots
from tideate_core.fleet.legs import Leg, LegResult, State, branch_of
from tideate_core.fleet.objects import QUESTIONS, Objects
from tideate_core.fleet.repositories import TRAILER, Repositories, commit_files
from tideate_core.portable import Inbox, Question
from tideate_core.workflows import WorkflowRegistry

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.config import Config

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
    concurrency: int
    """Maximum number of active legs."""
    repositories: Repositories = field(init=False)
    registry: WorkflowRegistry = field(init=False)
    _slots: Slots = field(init=False)

    def __post_init__(self) -> None:
        from tideate_core.builtin import register_builtin

        self._slots = Slots(self.concurrency)
        self.repositories = Repositories(self.place)
        self.registry = WorkflowRegistry()
        register_builtin(self.registry)
        self.registry.load_packages()

    def tree(self, leg: Leg) -> Path:
        """Return the directory of a leg's work tree."""
        return self.place / "trees" / self.name / leg.id

    async def prepare(self, leg: Leg) -> str:
        """Check a leg's signature, fetch its commit into the mirror, and return the commit.

        :raises SubmissionRefused: the signature is invalid, or its key is not allowed.
        :raises RemoteFailed: git cannot reach the repository.
        """
        signed = await leg.signed.checked(self.config.fleet.allow)
        commit = signed.commit or await self.repositories.resolve(signed.repo, signed.ref)
        await self.repositories.ensure(signed.repo, signed.ref, commit)
        return commit

    async def advance(self, leg: Leg, commit: str) -> LegResult:
        """Run a leg to the next question or the end, as soon as fewer than `concurrency` others run.

        :raises TideateError: its work tree cannot be created.
        """
        async with self._slots.one():
            result = await (await self._advance(leg, commit)).run()
        return result.model_copy(update={"worker": self.name})

    async def _advance(self, leg: Leg, commit: str, bundle: str | None = None) -> Advance:
        one = leg.submission
        newest = bundle or await asyncio.to_thread(self.objects.newest, leg.run, leg.number) or leg.bundle
        return Advance(
            leg,
            commit,
            await self.repositories.ensure(one.repo, one.ref, commit),
            self.tree(leg),
            self.registry,
            self.config.fleet.bundle_every,
            load=partial(self._object, leg),
            keep=partial(self._keep, leg.run, leg.number),
            keep_question=partial(self._keep, leg.run, QUESTIONS),
            newest=newest,
        )

    async def ask(self, leg: Leg, result: LegResult) -> None:
        """Publish the question at the end of a leg in the inbox of its repository.

        :raises RemoteFailed: git cannot reach the repository, or it refuses the ref.
        """
        assert result.question is not None and result.bundle is not None  # noqa: S101 it waits
        address = leg.submission.repo
        question = Question.read(await self._object(leg, result.question), leg.run)
        inbox = await self.inbox(address)
        refs = await inbox.refs_of(address, leg.run)
        await inbox.publish(address, question, await self._object(leg, result.bundle), refs)

    async def _object(self, leg: Leg, name: str) -> bytes:
        return await asyncio.to_thread(self.objects.get, leg.run, name)

    async def _keep(self, run: str, leg: int, content: bytes) -> str:
        return await asyncio.to_thread(self.objects.put, run, leg, content)

    async def inbox(self, address: str) -> Inbox:
        """Return the inbox of a repository."""
        git = await self.repositories.git(address)
        return Inbox(git, git.place / "inbox-notes", self.config.inbox)

    async def land(self, leg: Leg, result: LegResult) -> str | None:
        """Push the changes of a completed run as a branch; return its commit, or None if nothing changed.

        :raises RemoteFailed: git cannot reach the repository, or it refuses the branch.
        """
        signed = await leg.signed.checked(self.config.fleet.allow)
        assert result.commit is not None  # noqa: S101 it ended
        await (await self._advance(leg, result.commit, result.bundle)).take_up()
        one, tree = leg.submission, self.tree(leg)
        title = (one.prompt.strip().splitlines() or [one.workflow])[0][:_TITLE]
        commit = await commit_files(tree, result.files, one, title)
        if commit is None:
            return None
        trailer = f"{TRAILER}: {leg.run}"
        return await self.repositories.push(signed.repo, tree, branch_of(leg.run), commit, trailer)

    async def finish(self, leg: Leg, result: LegResult) -> None:
        """Remove the leg's work tree, an ended run's inbox refs, and a completed run's older bundles."""
        if result.state is not State.WAITING:
            address = leg.submission.repo
            if leg.asked:
                inbox = await self.inbox(address)
                refs = await inbox.refs_of(address, leg.run)
                if refs is not None:
                    await inbox.remove(address, refs)
            if result.state is State.COMPLETED:
                kept = [result.bundle] if result.bundle else []
                await asyncio.to_thread(self.objects.keep_only, leg.run, kept)
        await asyncio.to_thread(forget_tree, self.tree(leg))

    def leftover_trees(self) -> list[str]:
        """Return the ids of the legs that have a work tree; blocking."""
        folder = self.place / "trees" / self.name
        return sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []

    def forget(self, leg: str) -> None:
        """Remove a leg's work tree; blocking."""
        forget_tree(self.place / "trees" / self.name / leg)
