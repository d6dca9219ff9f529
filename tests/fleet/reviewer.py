"""A script in place of a reviewer: answers the questions of an inbox, as the dialogs do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tideate_core.config import Config
from tideate_core.fleet import Repositories
from tideate_core.portable import Inbox
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Reviewer"]


class Reviewer:
    """Answers questions in the repositories of a fleet.

    :param place: a directory of its own.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self.answered: list[tuple[str, int]] = []
        """Run and number of each answered question."""

    def answer(self, address: str, decision: Decision | None = None) -> int:
        """Answer all open questions of a repository; return their number."""
        return asyncio.run(self._answer(address, decision or Decision(True, by="user")))

    async def _answer(self, address: str, decision: Decision) -> int:
        git = await Repositories(self.place).git(address)
        inbox = Inbox(git, git.place / "reviewer", Config().inbox)
        done = 0
        for refs in (await inbox.fetch(address)).runs.values():
            asked = await inbox.question(refs)
            if asked.question.n in refs.answers:
                continue
            if await inbox.send(address, asked, decision) is None:
                self.answered.append((asked.question.run, asked.question.n))
                done += 1
        return done
