"""Interfaces of drivers (choose a run's next step) and of workflow hooks; base of state drivers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from tideate_core.adapters import Usage
from tideate_core.engine.events import EventName
from tideate_core.errors import InvalidTransition, MoveLimitReached

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.config import LimitsConfig
    from tideate_core.engine.events import Emit
    from tideate_core.engine.run import Run
    from tideate_core.gates import TaskResult
    from tideate_core.project import Documents
    from tideate_core.snapshots import SnapshotManager
    from tideate_core.store import Ending, Graph
    from tideate_core.workflows import (
        StepContext,
        StepHandler,
        WorkflowStep,
    )


@dataclass(frozen=True, slots=True)
class DriverSummary:
    """Facts about a run that only its kind of workflow can derive from the steps' results."""

    attempts: int | None = None
    """Corrections of its own work; None for a workflow without corrections."""
    snapshot: str | None = None
    """The id of the snapshot that it made before it wrote anything."""
    plan_id: str | None = None
    """Id of the plan that it executes."""
    result: TaskResult | None = None
    """The files that a task's execution changed."""


@dataclass(frozen=True, slots=True)
class PlanCounts:
    """Agents of a plan that a run executed, and counts of its steps by their end."""

    agents: tuple[str, ...]
    total: int
    completed: int
    failed: int


class DriverHooks:
    """Hooks of a kind of workflow; these defaults suit most workflows."""

    name: str = ""
    """The workflow's name; empty without own hooks."""
    is_reversible: bool = False
    """Its runs are all or nothing: changes are rolled back unless the run completes."""
    asks_model: bool = True
    """It needs an adapter; otherwise it runs without one, even if one is configured."""
    takes_prompt: bool = True
    """Its steps use the prompt; otherwise a prompt is refused."""
    carries_out_tasks: bool = False
    """A `WorkflowOrchestrator` runs it for the tasks of a program."""

    def driver(self, run: Run) -> Driver | None:
        """Return the workflow's own driver for a run; None: it uses the graph or machine driver.

        :raises InvalidInput: the run cannot start as requested.
        """
        return None

    def restart(self, steps: Sequence[str]) -> Sequence[str] | None:
        """Return the ended steps that a run from a checkpoint repeats, in order.

        None: the failed ones, and those skipped because of them.
        """
        return None

    def summary(self, results: Mapping[str, Any]) -> DriverSummary:
        """Return the facts in the results of a run's completed steps."""
        return DriverSummary()

    def conclude(
        self,
        run_id: str,
        results: Mapping[str, Any],
        ending: Ending,
        documents: Documents,
        checkpoints: Sequence[str],
    ) -> PlanCounts | None:
        """Write the documents of an ended run; return the counts of its plan, if it had one. Blocking.

        :param checkpoints: ids of the run's checkpoints, the oldest first.
        :raises StoreError: they cannot be written.
        """
        return None


NO_HOOKS: Final = DriverHooks()
_registered: dict[tuple[str, str], DriverHooks] = {}


def register_driver_hooks(name: str, kind: str, hooks: DriverHooks) -> None:
    """Register the hooks of a built-in workflow."""
    _registered[name, kind] = hooks


def driver_hooks(name: str, kind: str, source: str) -> DriverHooks:
    """Return the hooks of a workflow.

    :param source: only `builtin` has own hooks; a file with the same name is another workflow.
    """
    return _registered.get((name, kind), NO_HOOKS) if source == "builtin" else NO_HOOKS


def task_workflow() -> str:
    """Return the name of the workflow that executes a program's tasks; empty if none is registered."""
    return next((hooks.name for hooks in _registered.values() if hooks.carries_out_tasks), "")


@dataclass(frozen=True, slots=True)
class Settled:
    """End of a step, as a resumed run reads it."""

    step: str
    status: Literal["completed", "failed", "skipped"]
    value: Any = None
    error: str | None = None
    error_code: str | None = None
    duration_ms: int = 0
    usage: Usage = field(default_factory=Usage)
    files: tuple[str, ...] = ()
    """Changed files and buffers."""


@dataclass(frozen=True, slots=True)
class Question:
    """Question to the person before a step starts; `details` is Markdown."""

    message: str
    details: str = ""
    payload: Any = None


@dataclass(frozen=True, slots=True)
class Work:
    """Step that is ready to run."""

    step: str
    """Unique in the run."""
    handler: StepHandler
    index: int
    """From 1: the position in a graph's execution order, or the count of a machine's steps."""
    total: int
    """Total number of steps; 0 if unknown."""
    question: Question | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    """Additional data of the step's events."""
    agent: str = "handler"
    """The executor: an agent's name, `handler`, `tool`, `workflow` or `machine`."""
    task: str = ""
    """The task in the words of the definition."""
    dependencies: tuple[str, ...] = ()
    idempotent: bool = True
    """It may start again after a crash without a question."""
    exclusive: bool = False
    """No other step of the run runs at the same time."""
    priority: float = 0.0
    """Milliseconds of the longest path from its start to the run's end; the highest starts first."""
    impossible: str = ""
    """Reason that it can never run and is skipped; empty if it can."""
    step_definition: WorkflowStep | None = None
    """None for a machine's state."""

    @property
    def name(self) -> str:
        """The name for a person."""
        return (self.step_definition.name if self.step_definition else "") or self.step

    @property
    def event_data(self) -> dict[str, Any]:
        """Fields of the step's events that identify it."""
        return {"step": self.step, **self.more, "index": self.index, "total": self.total}


class Reversible(Protocol):
    """All-or-nothing run: its changes are rolled back unless it completes."""

    @property
    def attempts(self) -> int:
        """Number of corrections of its own changes."""
        ...

    @property
    def result(self) -> TaskResult | None:
        """Files that a task changed; None before its execution."""
        ...

    @property
    def snapshot(self) -> str | None:
        """Id of the snapshot made before the first write."""
        ...

    @property
    def snapshots(self) -> SnapshotManager | None:
        """Manager of the snapshot; None: the project's."""
        ...

    @property
    def checks_ran(self) -> bool:
        """Checks ran, which may have written files."""
        ...

    def stage_of(self, step: str | None) -> int | None:
        """Return the stage number of a step or its gate; None for the preparation."""
        ...

    def reset(self) -> None:
        """Return to the initial state after a rollback."""
        ...


class Driver(Protocol):
    """Order of one run's steps: yields the steps that may start, and learns how each ended."""

    @property
    def has_steps(self) -> bool:
        """The workflow has steps."""
        ...

    @property
    def has_more(self) -> bool:
        """Some steps have not ended."""
        ...

    @property
    def batches_done(self) -> int:
        """Number of completed batches of the execution order; 0 for a machine."""
        ...

    @property
    def at_last(self) -> bool:
        """No step can follow the running ones."""
        ...

    @property
    def reversible(self) -> Reversible | None:
        """Set if the run is all or nothing."""
        ...

    @property
    def path(self) -> list[dict[str, str]] | None:
        """Moves of a machine so far; None for a graph."""
        ...

    def prepare(self) -> None:
        """Compute the order of the steps.

        :raises InvalidDefinition: there is no valid order.
        """
        ...

    def outline(self) -> dict[str, Any]:
        """Return the workflow's data for the run's first event."""
        ...

    def graph(self) -> Graph | None:
        """Return the prepared order of the steps; None for a machine."""
        ...

    def ready_steps(self) -> list[Work]:
        """Return the steps that may start now, each once.

        :raises MoveLimitReached: the machine would exceed its moves.
        """
        ...

    def begin_step(self, work: Work) -> None:
        """Note that a step starts, after any question about it."""
        ...

    async def complete_step(self, work: Work, value: Any, step: StepContext) -> None:
        """Advance after a completed and recorded step.

        :param value: the step's result.
        :param step: the step's context, for questions.
        """
        ...

    async def fail_step(self, work: Work, settled: Settled) -> bool:
        """Advance after a failed and recorded step; return whether the run continues without it."""
        ...

    def skip_step(self, work: Work) -> None:
        """Advance after a skipped and recorded step."""
        ...

    def unstarted_steps(self) -> list[Work]:
        """Return the steps that were never ready, which a failed run skips."""
        ...

    def response(self) -> Any:
        """Return the response of a completed run."""
        ...

    def unfinished_response(self) -> Any:
        """Return the response of a run that did not complete; None without one."""
        ...


class StateDriver(ABC):
    """Common part of drivers that walk through states, one step at a time.

    :param emit: sends events of the run.
    :param prompt: the person's task.
    """

    batches_done = 0

    def __init__(
        self, name: str, states: Sequence[str], *, limits: LimitsConfig, prompt: str, emit: Emit
    ) -> None:
        self._name = name
        self._state_names = states
        self._limits = limits
        self._prompt = prompt
        self._emit = emit
        self._path: list[dict[str, str]] = []
        self._visits = Counter[str]()
        self._works = 0
        self._given = False

    @property
    def has_steps(self) -> bool:
        return bool(self._state_names)

    @property
    @abstractmethod
    def has_more(self) -> bool:
        """The machine is not at its end."""

    @property
    def path(self) -> list[dict[str, str]]:
        return list(self._path)

    def prepare(self) -> None:  # noqa: B027 nothing to override
        """Do nothing: the order of the states is not known in advance."""

    def outline(self) -> dict[str, Any]:
        return {"kind": "machine", "steps": [], "states": list(self._state_names), "prompt": self._prompt}

    def graph(self) -> None:  # noqa: B027 nothing to override
        """None: a machine has no fixed order."""

    def ready_steps(self) -> list[Work]:
        if self._given or not self.has_more:
            return []
        work = self._next()
        self._given = True
        return [work]

    async def fail_step(self, work: Work, settled: Settled) -> bool:
        """False: a machine does not continue without a state's work."""
        return False

    def skip_step(self, work: Work) -> None:
        raise InvalidTransition(f"{self._name}: the step {work.step!r} cannot be skipped")

    def unstarted_steps(self) -> list[Work]:
        return []

    @abstractmethod
    def _next(self) -> Work:
        """Return the work of the current state."""

    def _step_of(self, state: str) -> str:
        """Return the name of the next step in a state."""
        visit = self._visits[state] + 1
        return state if visit == 1 else f"{state}#{visit}"

    def _add_move(self, source: str, target: str, when: str, by: str, **more: str) -> None:
        move = {"from": str(source), "to": str(target), "when": str(when), "by": by}
        self._path.append(move)
        self._emit(EventName.TRANSITION, {**move, "move": len(self._path), **more})

    def _check_limits(self, state: str, where: str = "") -> None:
        """Check whether a state may be entered once more.

        :param where: the states passed before, for the message.
        :raises MoveLimitReached: the run exceeds its moves, or its visits of the state.
        """
        moves, visits = len(self._path), self._visits[state]
        for count, key, what in (
            (moves, "max_moves", f"{moves} moves were made"),
            (visits, "max_visits", f"{str(state)!r} was visited {visits} times"),
        ):
            most = getattr(self._limits, key)
            if count >= most:
                raise MoveLimitReached(
                    f"{self._name}: {where}{what}; if it needs more, raise `{key} = {most}` of [limits] in "
                    "the configuration"
                )
