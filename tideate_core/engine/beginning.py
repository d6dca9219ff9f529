"""How a run enters its first step in this process, and what is told then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideate_core.engine.events import EventName
from tideate_core.machines import ExecutionEvent, ExecutionState

if TYPE_CHECKING:
    from tideate_core.adapters import Adapter
    from tideate_core.engine.execution import Execution
    from tideate_core.engine.recording import Recorder
    from tideate_core.engine.resuming import Past

__all__ = ["restore", "start"]

START = (
    ExecutionEvent.INITIATE_WORKFLOW,
    ExecutionEvent.WORKFLOW_PARSED,
    ExecutionEvent.WORKFLOW_VALID,
    ExecutionEvent.GRAPH_BUILT,
    ExecutionEvent.STEPS_SCHEDULED,
)


def start(execution: Execution, recorder: Recorder, adapter: Adapter, parent: tuple[str, str] | None) -> None:
    """Begin a run.

    :param parent: the run and the step that it is part of.
    """
    for event in START:
        execution.machine.require(event)
    recorder.status(ExecutionState.EXECUTING_STEPS, None)
    recorder.event(EventName.WORKFLOW_STARTED, _about(execution, adapter, parent))


def restore(
    execution: Execution, recorder: Recorder, adapter: Adapter, parent: tuple[str, str] | None, past: Past
) -> None:
    """Let a run stand where its last commit left it."""
    execution.usage = past.usage
    execution.files = list(past.files)
    execution.executed = dict(past.executed)
    execution.elapsed_before = past.elapsed_ms
    execution.machine.require(ExecutionEvent.RESTORE_CHECKPOINT)
    execution.machine.require(ExecutionEvent.CHECKPOINT_RESTORED)
    recorder.status(ExecutionState.EXECUTING_STEPS, None)
    about = _about(execution, adapter, parent)
    recorder.event(EventName.WORKFLOW_RESTORED, {**about, "completed": list(past.settled)})


def _about(execution: Execution, adapter: Adapter, parent: tuple[str, str] | None) -> dict[str, Any]:
    return {
        "name": execution.definition.name,
        "adapter": adapter.name,
        "demonstration": adapter.demonstration,
        "prompt": execution.request.prompt,
        **({"parent": parent[0], "parent_step": parent[1]} if parent else {}),
        **execution.driver.outline(),
    }
