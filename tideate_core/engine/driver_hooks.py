"""Driver hooks of workflows with a driver of their own: conclude, restart and summary of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.config import Config
    from tideate_core.engine.driver import Driver
    from tideate_core.engine.run import RunRequest
    from tideate_core.engine.step_services import Services
    from tideate_core.gates import TaskResult
    from tideate_core.project import Documents
    from tideate_core.store import Ending
    from tideate_core.workflows import MachineWorkflow

__all__ = [
    "NO_HOOKS",
    "DriverHooks",
    "DriverSummary",
    "PlanCounts",
    "driver_hooks",
    "register_driver_hooks",
    "task_workflow",
]


@dataclass(frozen=True, slots=True)
class DriverSummary:
    """Facts of a run that only its kind of workflow knows, from the results of its steps."""

    attempts: int | None = None
    """Corrections of its own work; None of a workflow that makes none."""
    snapshot: str | None = None
    """The id of the snapshot that it made before it wrote anything."""
    plan_id: str | None = None
    """The id of the plan that it carries out."""
    result: TaskResult | None = None
    """The files that a task's execution changed."""


@dataclass(frozen=True, slots=True)
class PlanCounts:
    """Agents and steps of a plan that a run carried out, by how they ended."""

    agents: tuple[str, ...]
    total: int
    completed: int
    failed: int


class DriverHooks:
    """The defaults of most workflows; a workflow of its own kind overrides some."""

    name: str = ""
    """Of the workflow; empty of those without hooks of their own."""
    is_reversible: bool = False
    """A run of it is all or nothing: its writes are rolled back where it breaks off."""
    asks_model: bool = True
    """It needs an adapter; else it runs without one, whatever is configured."""
    takes_prompt: bool = True
    """Its steps use the prompt; otherwise a prompt is refused."""
    carries_out_tasks: bool = False
    """A `WorkflowOrchestrator` runs it for the tasks of a program."""

    def driver(
        self, definition: MachineWorkflow, request: RunRequest, config: Config, services: Services
    ) -> Driver | None:
        """Return a driver for one run; None where the workflow has none of its own.

        :raises InvalidInput: the run cannot start as it was asked for.
        """
        return None

    def restart(self, steps: Sequence[str]) -> Sequence[str] | None:
        """Return which of a run's ended steps, in their order, a run from a checkpoint does again.

        None: those that failed, and those that were skipped because of that.
        """
        return None

    def summary(self, results: Mapping[str, Any]) -> DriverSummary:
        """Return what the results of a run's completed steps say, by step."""
        return DriverSummary()

    def conclude(
        self,
        run_id: str,
        results: Mapping[str, Any],
        ending: Ending,
        documents: Documents,
        checkpoints: Sequence[str],
    ) -> PlanCounts | None:
        """Leave documents of a run that has ended; return what its plan came to, if it had one; blocking.

        :param checkpoints: the run's, by id, the oldest first.

        :raises StoreError: they cannot be written.
        """
        return None


NO_HOOKS: Final = DriverHooks()
_registered: dict[tuple[str, str], DriverHooks] = {}


def register_driver_hooks(name: str, kind: str, hooks: DriverHooks) -> None:
    """Give the built-in workflow of this name and kind hooks of its own."""
    _registered[name, kind] = hooks


def driver_hooks(name: str, kind: str, source: str) -> DriverHooks:
    """Return the hooks of a workflow.

    :param source: a file of a built-in workflow's name is another workflow.
    """
    return _registered.get((name, kind), NO_HOOKS) if source == "builtin" else NO_HOOKS


def task_workflow() -> str:
    """Return the name of the workflow that carries out a program's tasks, empty where none is registered."""
    return next((hooks.name for hooks in _registered.values() if hooks.carries_out_tasks), "")
