"""Runs that are steps of other runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from tideate_core.engine.lifecycle import CannotGoOn, result_of
from tideate_core.engine.run_store import inherited
from tideate_core.errors import RunNotFound, TideateError

if TYPE_CHECKING:
    from tideate_core.engine.live_run import LiveRun, Within
    from tideate_core.engine.run import RunRequest, WorkflowResult
    from tideate_core.engine.run_store import LazyStore
    from tideate_core.engine.stored_definition import Changed
    from tideate_core.store import RunRow

__all__ = ["Children"]


class Begin(Protocol):
    async def __call__(self, request: RunRequest, within: Within) -> WorkflowResult: ...


class Resume(Protocol):
    async def __call__(
        self, execution_id: str, within: Within, takeover_after: float, changed: Changed
    ) -> WorkflowResult: ...


class Children:
    """Begins them, or takes them up again, as a runner does with any run.

    :param begin: runs a workflow to its end within another.
    :param resume: continues a run within another.
    """

    def __init__(self, store: LazyStore, begin: Begin, resume: Resume) -> None:
        self._store = store
        self._begin = begin
        self._resume = resume

    async def run(self, parent: LiveRun, step: str, request: RunRequest) -> WorkflowResult:
        """Run a workflow as a step of another: begin it, take it up again, or return how it ended before.

        What it takes counts to its parent, too; what the request leaves open is as in the parent.

        :raises CannotGoOn: it has not ended, but does not go on now.
        """
        # it ends by itself when its parent is stopped, and so that its end is written down
        with parent.crew.bounded(step.partition("[")[0]):
            result = await self._run(parent, step, request)
            parent.spend(step, result)
            return result

    async def _run(self, parent: LiveRun, step: str, request: RunRequest) -> WorkflowResult:
        known = await self._known(parent, request)
        if known is None:
            return await self._begin(inherited(request, parent.execution.request), (parent, step))
        if known.ended:
            return await asyncio.to_thread(result_of, (await self._store.get()).reader(), known)
        after = parent.execution.takeover_after
        try:
            return await self._resume(known.id, (parent, step), after, "stored")
        except TideateError as error:
            raise CannotGoOn(str(error), error.code) from error

    async def _known(self, parent: LiveRun, request: RunRequest) -> RunRow | None:
        """Return what an earlier process made of a child."""
        if not parent.resumed:
            return None
        try:
            reader = (await self._store.get()).reader()
            return await asyncio.to_thread(reader.run, request.execution_id)
        except RunNotFound:
            return None
