"""Driver protocol: the steps of a run in their order, by the kind of its workflow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from tideate_core.adapters import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.gates import TaskResult
    from tideate_core.snapshots import SnapshotManager
    from tideate_core.workflows import DependencyGraph, StepContext, StepHandler, WorkflowStep

__all__ = ["Driver", "Question", "Reversible", "Settled", "Work"]


@dataclass(frozen=True, slots=True)
class Settled:
    """The end of a step, as a resumed run is given it back."""

    step: str
    status: Literal["completed", "failed", "skipped"]
    value: Any = None
    error: str | None = None
    error_code: str | None = None
    duration_ms: int = 0
    usage: Usage = field(default_factory=Usage)
    files: tuple[str, ...] = ()
    """Files and buffers that it changed."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the person before the step starts; `details` is Markdown."""

    message: str
    details: str = ""
    payload: Any = None


@dataclass(frozen=True, slots=True)
class Work:
    """One step of a run."""

    step: str
    """Unique in the run."""
    handler: StepHandler
    index: int
    """From 1: of a graph its place in the order of execution, of a machine the count of its works."""
    total: int
    """0 where nobody knows how many there will be."""
    question: Question | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    """Additional data of the step's events."""
    agent: str = "handler"
    """The doer: an agent's name, `handler`, `tool`, `workflow`, `machine`."""
    task: str = ""
    """Its task, as the definition words it."""
    dependencies: tuple[str, ...] = ()
    idempotent: bool = True
    """It may start again after a crash without a question."""
    exclusive: bool = False
    """Nothing else of the run works beside it."""
    priority: float = 0.0
    """Milliseconds of the longest path from its start to the end of the run; the greatest goes first."""
    impossible: str = ""
    """The reason that it can never run and is skipped at once; empty where it can."""
    step_definition: WorkflowStep | None = None
    """None of a machine's state."""

    @property
    def name(self) -> str:
        """The name for a person."""
        return (self.step_definition.name if self.step_definition else "") or self.step

    @property
    def place(self) -> dict[str, Any]:
        return {"step": self.step, **self.more, "index": self.index, "total": self.total}


class Reversible(Protocol):
    """An all-or-nothing run: its writes are rolled back where it breaks off."""

    @property
    def attempts(self) -> int:
        """The number of corrections of its own writes."""
        ...

    @property
    def result(self) -> TaskResult | None:
        """The files that a task changed; None before its execution."""
        ...

    @property
    def snapshot(self) -> str | None:
        """The id of the snapshot that was made before it wrote anything."""
        ...

    @property
    def snapshots(self) -> SnapshotManager | None:
        """The manager that made the snapshot; None: the project's."""
        ...

    @property
    def checks_ran(self) -> bool:
        """Programs ran that may have written files, too."""
        ...

    def stage_of(self, step: str | None) -> int | None:
        """Return the number of the stage that a step or its gate belongs to; None for the preparation."""
        ...

    def reset(self) -> None:
        """Return to the beginning: its writes were rolled back."""
        ...


class Driver(Protocol):
    """The order of one run's steps: gives those that may start, and is given how each ended."""

    @property
    def has_steps(self) -> bool:
        """There is something to do at all."""
        ...

    @property
    def prepared(self) -> bool:
        """`prepare` was called."""
        ...

    @property
    def has_more(self) -> bool:
        """Not everything has ended yet."""
        ...

    @property
    def batches_done(self) -> int:
        """The number of batches of the execution order that have ended; 0 of a machine."""
        ...

    @property
    def at_last(self) -> bool:
        """Nothing can come after the steps that are under way."""
        ...

    @property
    def reversible(self) -> Reversible | None:
        """Given where the run is all or nothing."""
        ...

    @property
    def path(self) -> list[dict[str, str]] | None:
        """The moves made so far, None where there are no moves."""
        ...

    def prepare(self) -> None:
        """Make what the order of the steps needs.

        :raises InvalidDefinition: there is no such order.
        """
        ...

    def outline(self) -> dict[str, Any]:
        """Return what the run's first event says about the workflow."""
        ...

    def graph(self) -> DependencyGraph | None:
        """Return the order of the steps once it is prepared, None of a machine."""
        ...

    def ready_steps(self) -> list[Work]:
        """Return the steps that may start now; each is given once.

        :raises MoveLimitReached: it would be one too many.
        """
        ...

    def begin_step(self, work: Work) -> None:
        """The step starts: the person agreed, where one was asked."""
        ...

    async def complete_step(self, work: Work, value: Any, step: StepContext) -> None:
        """Find what comes next of a step that is done and recorded.

        :param value: its result.
        :param step: its context, to ask with.
        """
        ...

    async def fail_step(self, work: Work, settled: Settled) -> bool:
        """Return whether the run goes on without a step that failed; that is recorded."""
        ...

    def skip_step(self, work: Work) -> None:
        """Pass over a step that was not wanted or not possible; that is recorded."""
        ...

    def unstarted_steps(self) -> list[Work]:
        """Return the steps that were never given: a run that failed skips them."""
        ...

    def response(self) -> Any:
        """Return what a completed run answers."""
        ...

    def unfinished_response(self) -> Any:
        """Return what a run that broke off leaves; None where that is nothing."""
        ...
