"""Scenes of the inbox: questions of a job that wait in a git remote."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Final

from scripts.screenshots.scenes import BECAUSE, FILES, NOTICE, PLAN, SECOND, TASK
from tests.harness.project import git
from tests.harness.remotes import Job

if TYPE_CHECKING:
    from collections.abc import Callable

    from scripts.screenshots.scenes import Player

FIRST: Final = SECOND.replace("    return sum", '    print("adding up", len(prices))\n    return sum')


def _job(it: Player) -> Job:
    """Let a job leave two questions in a remote of the project."""
    job = Job(it.project.parent / "job", FILES)
    job.use(it.server)
    it.server.answers("say it with less code", FIRST)
    it.server.answers("Which files have to be", json.dumps(PLAN))
    job.leave("multi_file", TASK)
    job.leave("edit", "say it with less code", "--file", "shop.py:4-16")
    git(it.project, "init", "-q")
    git(it.project, "remote", "add", "origin", str(job.remote))
    git(it.project, "fetch", "-q", "origin")
    git(it.project, "reset", "-q", "origin/main")
    return job


def _inbox(it: Player) -> None:
    """List the questions of a job, and review one."""
    with closing(_job(it)):
        it.type(":Workflow inbox\r")
        it.wait_for("review")
        it.wait_gone("fetching")
        it.take("inbox")
        it.type("\r")
        it.wait_for("ga accept")
        it.type(f"gb{BECAUSE}")
        it.wait_for("themselves")
        it.wait_gone(NOTICE)
        it.take("inbox-review")


ACTS: Final[dict[str, Callable[[Player], None]]] = {"inbox": _inbox}
