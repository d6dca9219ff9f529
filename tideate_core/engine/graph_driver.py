"""Drives a graph: steps in the order of their dependencies, each once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideate_core.engine.work import Work
from tideate_core.errors import MissingStepHandler
from tideate_core.workflows import dependency_graph

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.workflows import DependencyGraph, StepContext, StepHandler, WorkflowDefinition

__all__ = ["GraphDriver"]


class GraphDriver:
    """A `Driver`.

    :param handlers: by step id; one may be missing, the run fails when it gets there.
    """

    path = None

    def __init__(self, definition: WorkflowDefinition, handlers: Mapping[str, StepHandler]) -> None:
        self._definition = definition
        self._handlers = handlers
        self._graph: DependencyGraph | None = None
        self._order: list[str] = []
        self._results: dict[str, Any] = {}

    @property
    def has_steps(self) -> bool:
        return bool(self._definition.steps)

    @property
    def ready(self) -> bool:
        return self._graph is not None

    @property
    def has_more(self) -> bool:
        return len(self._results) < len(self._definition.steps)

    @property
    def at_last(self) -> bool:
        return len(self._results) + 1 >= len(self._definition.steps)

    def prepare(self) -> None:
        self._graph = dependency_graph(self._definition.steps)
        self._order = [step for batch in self._graph.execution_order for step in batch]

    def outline(self) -> dict[str, Any]:
        return {"kind": "graph", "steps": list(self._order)}

    def next(self) -> Work:
        done = len(self._results)
        step = self._order[done]
        return Work(step, self._handlers.get(step) or self._missing, done + 1, len(self._order))

    def begin(self, work: Work) -> None:
        """Nothing to do: a step changes nothing before it runs."""

    async def take(self, work: Work, value: Any, step: StepContext) -> None:
        self._results[work.step] = value

    def response(self) -> Any:
        last = self._results[self._definition.steps[-1].id]
        return last.get("response", last) if isinstance(last, dict) else last

    def unfinished(self) -> None:
        """Nothing: what one step made is only what the next one needs."""

    async def _missing(self, step: StepContext) -> None:
        raise MissingStepHandler(step.step, self._definition.name)
