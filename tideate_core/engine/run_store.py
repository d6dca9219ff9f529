"""Access to the runs' store: opened on demand; a run's first row; release of its lease."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tideate_core.engine.recording import now_ms
from tideate_core.errors import RunLost, StoreError
from tideate_core.store import Graph, NewRun
from tideate_core.workflows import WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Callable

    from tideate_core.adapters import AdapterPool
    from tideate_core.config import Config
    from tideate_core.engine.confirmation import FrontEnd
    from tideate_core.engine.events import WorkflowHooks
    from tideate_core.engine.run import Execution, RunRequest
    from tideate_core.store import Definition, RunLog, Store
    from tideate_core.workflows import PromptLibrary
    from tideate_core.workspace import Workspace

__all__ = ["LazyStore", "Tools", "inherited", "let_go", "new_run", "outlast"]


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tools:
    """What all runs of a runner work with."""

    adapters: AdapterPool
    config: Config
    front: FrontEnd
    workspace: Callable[[RunRequest], Workspace]
    prompts: PromptLibrary
    hooks: WorkflowHooks | None = None


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


async def outlast(task: asyncio.Task[Any], cancel: Callable[[], None] | None = None) -> bool:
    """Wait for a task's end, however often the caller is cancelled; returns whether it was.

    :param cancel: called as often as the caller is cancelled.
    """
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
            if cancel is not None:
                cancel()
    return cancelled


def inherited(request: RunRequest, parent: RunRequest) -> RunRequest:
    """Return a run's request with what it leaves open as it is in the run that it is within."""
    open_keys = ("adapter", "require_confirmation")
    own = {key: getattr(parent, key) for key in open_keys if getattr(request, key) is None}
    return request.model_copy(update=own)


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
        tuple((step.id, step.name or step.id, step.agent or step.kind) for step in steps),
    )


async def let_go(log: RunLog) -> None:
    """Leave a run to others because of an error, which this one never hides; nothing if it has ended."""
    try:
        await log.release()
    except RunLost:
        return  # it is not this process's any more
    except StoreError:
        # the store deletes its lease with the next commit that works
        logger.warning("run %s was left without a word to the store", log.run_id, exc_info=True)
