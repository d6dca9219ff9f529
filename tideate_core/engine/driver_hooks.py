"""Hooks of built-in workflows: a driver of their own, and what else the engine asks of a workflow's kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.config import Config
    from tideate_core.engine.driver import Driver, Settled
    from tideate_core.engine.run import RunRequest
    from tideate_core.engine.step_services import Services
    from tideate_core.project import Documents
    from tideate_core.store import Ending
    from tideate_core.workflows import MachineWorkflow

__all__ = ["NO_HOOKS", "DriverHooks", "driver_hooks", "register_driver_hooks"]


class DriverHooks:
    """What most workflows do; a workflow of its own kind overrides some of it."""

    name: str = ""
    """Of the workflow; empty of those without hooks of their own."""
    is_reversible: bool = False
    """A run of it is all or nothing: what it wrote is taken back where it breaks off."""

    def driver(
        self, definition: MachineWorkflow, request: RunRequest, config: Config, services: Services
    ) -> Driver | None:
        """Return a driver for one run; None where the workflow has none of its own.

        :raises InvalidInput: the run cannot start as it was asked for.
        """
        return None

    def repeated_steps(self, steps: Sequence[str]) -> Sequence[str] | None:
        """Return which of a run's ended steps, in their order, a run from a checkpoint does again.

        None: those that failed, and those that were skipped because of that.
        """
        return None

    def attempts(self, results: Mapping[str, Any]) -> int | None:
        """Return how often an ended run corrected itself, by its steps' results; None where it does not."""
        return None

    def snapshot(self, settled: Mapping[str, Settled]) -> str | None:
        """Return the id of the snapshot that a run made before it wrote anything."""
        return None

    def conclude(self, run_id: str, results: Mapping[str, Any], ending: Ending, documents: Documents) -> None:
        """Leave documents of a run that has ended; blocking.

        :raises StoreError: they cannot be written.
        """


NO_HOOKS: Final = DriverHooks()
_KNOWN: dict[tuple[str, str], DriverHooks] = {}


def register_driver_hooks(name: str, kind: str, hooks: DriverHooks) -> None:
    """Give the built-in workflow of this name and kind hooks of its own."""
    _KNOWN[name, kind] = hooks


def driver_hooks(name: str, kind: str, source: str) -> DriverHooks:
    """Return the hooks of a workflow.

    :param source: a file of a built-in workflow's name is another workflow.
    """
    return _KNOWN.get((name, kind), NO_HOOKS) if source == "builtin" else NO_HOOKS
