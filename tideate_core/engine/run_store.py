"""Access to the runs' store: opened on demand; the first row of a run, the release of its lease."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from tideate_core.engine.recording import now_ms
from tideate_core.errors import RunLost, StoreError
from tideate_core.store import Graph, NewRun
from tideate_core.workflows import WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tideate_core.engine.run import Execution
    from tideate_core.project import Documents
    from tideate_core.store import Definition, RunLog, Store

__all__ = ["LazyStore", "new_run", "release_lease", "summary_place"]


logger = logging.getLogger(__name__)


class LazyStore:
    """A store that is opened in a thread when it is first needed, and tried again where that failed.

    One whose file was deleted or replaced is opened anew.

    :param open_store: blocking.
    """

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self._open = open_store
        self._opening: asyncio.Task[Store] | None = None

    async def get(self) -> Store:
        """Return the store.

        :raises StoreError: it cannot be opened.
        """
        opening = self._opening
        if opening is None or (opening.done() and (opening.cancelled() or opening.exception())):
            opening = self._opening = asyncio.create_task(
                asyncio.to_thread(self._open), name="open the store"
            )
        elif opening.done() and opening.result().is_gone:
            opening = self._opening = asyncio.create_task(
                asyncio.to_thread(self._open_anew, opening.result()), name="open the store anew"
            )
        # shielded: others wait for it, and a store that nobody has would never be closed
        return await asyncio.shield(opening)

    async def close(self) -> None:
        """Close what was opened."""
        opening, self._opening = self._opening, None
        if opening is None:
            return
        await asyncio.wait({opening})
        if not opening.cancelled() and opening.exception() is None:
            await asyncio.to_thread(opening.result().close)

    def _open_anew(self, gone: Store) -> Store:
        gone.close()
        return self._open()


async def summary_place(store: Callable[[], Awaitable[Store]]) -> Documents | None:
    """Return where a run that could not begin leaves its summary; None: the store cannot be opened."""
    try:
        return (await store()).documents
    except StoreError:
        logger.exception("a run that could not begin has no summary")
        return None


def new_run(execution: Execution, definition: Definition, parent: tuple[str, str] | None) -> NewRun:
    """Return a run that begins as the store has it.

    :param parent: the run and the step that it is part of.
    """
    graph = execution.driver.graph()
    known = execution.definition
    steps = known.steps if isinstance(known, WorkflowDefinition) else ()
    parent_run, parent_step = parent or (None, None)
    return NewRun(
        execution.id,
        definition,
        execution.request.model_dump(mode="json"),
        len(steps),
        now_ms(),
        Graph(graph.nodes, graph.edges, graph.execution_order) if graph else None,
        parent_run,
        parent_step,
        execution.machine.state.value,
        tuple((step.id, step.name or step.id, step.agent or step.kind) for step in steps),
    )


async def release_lease(log: RunLog) -> None:
    """Leave a run to others because of an error, which this one never hides; nothing if it has ended."""
    try:
        await log.release()
    except RunLost:
        return  # it is not this process's any more
    except StoreError:
        # the store deletes its lease with the next commit that works
        logger.warning("run %s was left without a word to the store", log.run_id, exc_info=True)
