"""Handlers of Lua's requests about the inbox: list, fetch, find unfinished answers, continue a run here."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from tideate_core.app import read_runs
from tideate_core.engine import RecordedAnswers
from tideate_core.errors import ConfigError, RunNotFound, WorkspaceError
from tideate_core.store import Reader

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tideate_core.app import Continuation, Project
    from tideate_core.editor.projects import Projects
    from tideate_core.store import RunRow

log = logging.getLogger(__name__)


class InboxRequests:
    """Requests about the inbox of a folder's project.

    :param recorded: the front end's answers that were given elsewhere, by run.
    :param notify: shows notices.
    """

    def __init__(
        self,
        projects: Projects,
        recorded: dict[str, RecordedAnswers],
        notify: Callable[[list[str]], None],
    ) -> None:
        self._projects = projects
        self._recorded = recorded
        self._notify = notify
        self._opening = asyncio.Lock()
        """The first look at the remotes creates a repository, which fetches side by side then share."""

    async def remotes(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the names of the project's remotes; none outside of a project."""
        root = self._projects.root(params.get("folder"))
        return {"remotes": [] if root is None else await self._remotes(root)}

    async def fetch(self, params: dict[str, Any]) -> dict[str, Any]:
        """Fetch and return the questions of a remote, and the error if it cannot be reached.

        :param params: `remote`: its name.
        """
        # imported here: the host has to be ready before git and the format of questions are loaded
        from tideate_core.app import list_inbox, waiting_json

        root, remote = self._root(params), str(params["remote"])
        shape: dict[str, Any] = {"remotes": await self._remotes(root), "waiting": [], "failed": []}
        try:
            waiting = await list_inbox(root, (remote,))
        except WorkspaceError as error:  # of this remote, or there is none of this name
            return {**shape, "failed": [{"remote": remote, "reason": str(error)}]}
        return {**shape, "waiting": [waiting_json(one) for one in waiting]}

    async def answering(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the unfinished run that answers a question, and the process that executes it.

        :param params: `run` and `commit` of the question.
        """
        from tideate_core.app import unfinished_answer

        run, commit = str(params["run"]), str(params["commit"])
        found = await read_runs(self._root(params), partial(unfinished_answer, run, commit))
        return {} if found is None else {"execution_id": found.id, "owner": found.owner}

    async def show(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return whether this version of a published run is here, whether others continue it, and its facts.

        :param params: `run` and `remote`.
        :raises RefusedRef: the run or its answer is invalid, was rewritten, or its signature does not count.
        """
        from tideate_core.app import find_published, opening_lines, read_published

        project = self._projects.project(params.get("folder"))
        found = await find_published(project, str(params["remote"]), str(params["run"]))
        taken = found.asked.question.n in found.refs.taken
        if found.own and await asyncio.to_thread(_row_of, project, found.run) is not None:
            return {"here": True, "taken": taken}
        bundle = await read_published(project, found)
        return {"here": False, "taken": taken, "facts": await opening_lines(project, found, bundle)}

    async def continue_here(self, params: dict[str, Any]) -> dict[str, Any]:
        """Continue a published run here to its end, with the answer given elsewhere; return its result.

        :param params: `execution_id` and `remote`; `again`: even if another person or job continues it.
        :raises RunTaken: another person or job continues it.
        """
        from tideate_core.app import (
            end_published,
            find_published,
            open_published,
            read_published,
            take_published,
        )

        project, again = self._projects.project(params.get("folder")), bool(params.get("again"))
        found = await find_published(project, str(params["remote"]), str(params["execution_id"]), again=again)
        if found.notices:
            self._notify(found.notices)
        bundle = await read_published(project, found)
        await take_published(project, found, again=again)
        await open_published(project, bundle, lambda words: self._notify([words]))
        shape: dict[str, Any] = {}
        if not await asyncio.to_thread(_has_ended, project, found.run):
            shape = await self._resume(found, params.get("folder"))
        if await asyncio.to_thread(_has_ended, project, found.run):
            await end_published(project, found, lambda words: self._notify([words]))
        return shape

    async def _resume(self, found: Continuation, folder: str | None) -> dict[str, Any]:
        """Resume a run with the answers given elsewhere."""
        self._recorded[found.run] = RecordedAnswers(found.answers, log.info)
        try:
            return (await self._projects.runner(folder).resume_run(found.run, changed="ask")).as_json()
        finally:
            self._recorded.pop(found.run, None)

    async def _remotes(self, root: Path) -> list[str]:
        from tideate_core.app import inbox_remotes

        async with self._opening:
            return await inbox_remotes(root)

    def _root(self, params: dict[str, Any]) -> Path:
        root = self._projects.root(params.get("folder"))
        if root is None:
            raise ConfigError("this folder is in no project, so there is no repository with an inbox")
        return root


def _row_of(project: Project, run: str) -> RunRow | None:
    try:
        return Reader(project.private).run(run)
    except RunNotFound:
        return None


def _has_ended(project: Project, run: str) -> bool:
    row = _row_of(project, run)
    return row is not None and row.ended
