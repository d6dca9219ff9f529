"""Graph driver: a step starts as soon as its own dependencies have ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tideate_core.engine.driver import Work
from tideate_core.workflows import StepHandler, WorkflowStep, dependency_graph

if TYPE_CHECKING:
    from tideate_core.engine.driver import Settled
    from tideate_core.store import Graph
    from tideate_core.workflows import StepContext, WorkflowDefinition


HandlerOf = Callable[[WorkflowStep], StepHandler]
"""Returns the handler of a step; a missing handler fails when it is called."""


class GraphDriver:
    """`Driver` of a dependency graph; the cost is linear in steps and edges.

    A step is skipped if all of its dependencies were skipped; otherwise it runs, so that branches can meet
    again.

    :param only: run only this step and its dependencies; None: all steps.
    """

    path = None
    reversible = None

    def __init__(
        self, definition: WorkflowDefinition, handler_of: HandlerOf, *, only: str | None = None
    ) -> None:
        self._definition = definition
        self._handler_of = handler_of
        self._steps = {step.id: step for step in definition.steps}
        self._only = only
        self._needed: set[str] | None = None
        """The only wanted step and its dependencies; None: all steps."""
        self._graph: Graph | None = None
        self._number: dict[str, int] = {}
        self._priority: dict[str, float] = {}
        self._dependents: dict[str, list[str]] = {}
        self._waits_for: dict[str, int] = {}
        self._wanted: set[str] = set()
        """Steps with a dependency that was not skipped."""
        self._free: list[str] = []
        self._given: set[str] = set()
        self._ended = 0
        self._begun = 0
        self._results: dict[str, Any] = {}
        self._batch_of: dict[str, int] = {}
        self._left_of_batches: list[int] = []
        self.batches_done = 0

    @property
    def has_steps(self) -> bool:
        return bool(self._steps)

    @property
    def has_more(self) -> bool:
        return self._ended < len(self._steps)

    @property
    def at_last(self) -> bool:
        return self._begun >= len(self._steps)

    def prepare(self) -> None:
        self._graph = graph = dependency_graph(self._definition.steps)
        order = [step for batch in graph.execution_order for step in batch]
        self._number = {step: number for number, step in enumerate(order, 1)}
        self._batch_of = {step: place for place, batch in enumerate(graph.execution_order) for step in batch}
        self._left_of_batches = [len(batch) for batch in graph.execution_order]
        self._dependents = {step: [] for step in order}
        for dependency, dependent in graph.edges:
            self._dependents[dependency].append(dependent)
        for step in reversed(order):
            after = max((self._priority[other] for other in self._dependents[step]), default=0.0)
            self._priority[step] = after + (self._steps[step].duration or 1)
        self._waits_for = {step.id: len(step.dependencies) for step in self._definition.steps}
        self._free = [step for step in order if not self._waits_for[step]]
        self._wanted.update(self._free)
        if self._only is not None:
            self._needed = _with_dependencies(self._only, self._steps)

    def outline(self) -> dict[str, Any]:
        return {"kind": "graph", "steps": list(self._number)}

    def graph(self) -> Graph | None:
        return self._graph

    def ready_steps(self) -> list[Work]:
        free, self._free = self._free, []
        self._given.update(free)
        return [self._work(self._steps[step]) for step in free]

    def begin_step(self, work: Work) -> None:
        self._begun += 1

    async def complete_step(self, work: Work, value: Any, step: StepContext) -> None:
        self._results[work.step] = value
        self._end(work.step)

    async def fail_step(self, work: Work, settled: Settled) -> bool:
        if not self._steps[work.step].continue_on_error:
            return False
        self._end(work.step)
        return True

    def skip_step(self, work: Work) -> None:
        self._begun += 1
        self._end(work.step, skipped=True)

    def unstarted_steps(self) -> list[Work]:
        return [self._work(self._steps[step]) for step in self._number if step not in self._given]

    def response(self) -> Any:
        """Return the result of the only wanted step, otherwise of the last completed one."""
        steps = [self._only] if self._only else [step.id for step in reversed(self._definition.steps)]
        last = next((self._results[step] for step in steps if step in self._results), None)
        return last.get("response", last) if isinstance(last, dict) else last

    def unfinished_response(self) -> None:
        """None: results of single steps are not a response."""

    def _end(self, step: str, *, skipped: bool = False) -> None:
        self._ended += 1
        left = self._left_of_batches
        left[self._batch_of[step]] -= 1
        while self.batches_done < len(left) and not left[self.batches_done]:
            self.batches_done += 1
        for dependent in self._dependents[step]:
            self._waits_for[dependent] -= 1
            if not skipped:
                self._wanted.add(dependent)
            if not self._waits_for[dependent]:
                self._free.append(dependent)

    def _impossible(self, step: str) -> str:
        if self._needed is not None and step not in self._needed:
            return f"it is not needed for the step {self._only!r}"
        return "" if step in self._wanted else "all steps that it depends on were skipped"

    def _work(self, step: WorkflowStep) -> Work:
        return Work(
            step.id,
            self._handler_of(step),
            self._number[step.id],
            len(self._steps),
            agent=step.agent or step.kind,
            task=step.task or "",
            dependencies=step.dependencies,
            idempotent=step.idempotent,
            exclusive=not step.parallel,
            priority=self._priority[step.id],
            impossible=self._impossible(step.id),
            step_definition=step,
        )


def _with_dependencies(step: str, steps: Mapping[str, WorkflowStep]) -> set[str]:
    found, left = {step}, [step]
    while left:
        new = set(steps[left.pop()].dependencies) - found
        found |= new
        left.extend(new)
    return found
