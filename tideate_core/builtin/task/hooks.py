"""Hooks of the gated task: its driver, its restart from a checkpoint, its corrections and its snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tideate_core.builtin.task import TASK
from tideate_core.engine import DriverHooks
from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.config import Config
    from tideate_core.engine import Driver, RunRequest, Services, Settled
    from tideate_core.workflows import MachineWorkflow

__all__ = ["TaskHooks"]

FIRST: Final = "idle"
"""The state in which the snapshot is made."""
CORRECTING: Final = "self_correcting"
"""The state in which what verification found is corrected; its steps are called so, with a number."""
WRITING: Final = "awaiting_execution_gate"
"""The first state in which files are written."""


class TaskHooks(DriverHooks):
    """Hooks of the workflow `task`."""

    name = TASK
    is_reversible = True

    def driver(
        self, definition: MachineWorkflow, request: RunRequest, config: Config, services: Services
    ) -> Driver:
        # here, because few runs are tasks
        from tideate_core.builtin.task.bench import Bench
        from tideate_core.builtin.task.driver import TaskDriver
        from tideate_core.engine import states_to_confirm

        if definition.obfuscator is not None:
            raise InvalidInput("the states of a task are known to everybody; run it without --obfuscate")
        configured = config.workflows.get(definition.name)
        wanted = (configured.confirm if configured else None) or ()
        confirm = states_to_confirm(definition, wanted, {**request.options, **request.inputs})
        return TaskDriver(definition, Bench(config, services), confirm=confirm, prompt=request.prompt)

    def repeated_steps(self, steps: Sequence[str]) -> Sequence[str]:
        """Return the first step that wrote to files and all after it.

        What they wrote is the old run's, which may have taken it back; the new run writes, and takes back,
        its own.
        """
        for number, step in enumerate(steps):
            if step.partition("#")[0] == WRITING:
                return steps[number:]
        return ()

    def attempts(self, results: Mapping[str, Any]) -> int:
        return sum(
            isinstance(value, dict) and value.get("event") == "correction_succeeded"
            for step, value in results.items()
            if step.partition("#")[0] == CORRECTING
        )

    def snapshot(self, settled: Mapping[str, Settled]) -> str | None:
        first = settled.get(FIRST)
        return first.value["snapshot"] if first is not None and first.value else None
