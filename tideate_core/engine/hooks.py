"""What a program that embeds the engine is told of its runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tideate_core.engine.events import Event, EventName

__all__ = ["WorkflowHooks"]

log = logging.getLogger(__name__)

Hook = Callable[[Event], None]

_CALLED: Final[Mapping[EventName, tuple[str, ...]]] = {
    EventName.WORKFLOW_STARTED: ("on_workflow_start",),
    EventName.WORKFLOW_RESTORED: ("on_workflow_start",),
    EventName.WORKFLOW_COMPLETED: ("on_workflow_end",),
    EventName.WORKFLOW_CANCELLED: ("on_workflow_end",),
    EventName.WORKFLOW_FAILED: ("on_error", "on_workflow_end"),
    EventName.STEP_STARTED: ("on_step_start", "on_stage_start"),
    EventName.STEP_COMPLETED: ("on_step_end", "on_stage_complete"),
    EventName.STEP_FAILED: ("on_step_fail",),
    EventName.CHECKPOINT_CREATED: ("on_checkpoint",),
    EventName.GATE_PASSED: ("on_gate_pass",),
    EventName.GATE_FAILED: ("on_gate_fail",),
}
_OF_STAGES: Final = frozenset({"on_stage_start", "on_stage_complete"})


@dataclass(frozen=True, slots=True)
class WorkflowHooks:
    """Called with the event, on the run's event loop: return soon. None is not called.

    One that raises is logged, and the run goes on.
    """

    on_workflow_start: Hook | None = None
    """Also of a run that goes on in this process."""
    on_workflow_end: Hook | None = None
    """Completed, failed or cancelled."""
    on_step_start: Hook | None = None
    on_step_end: Hook | None = None
    on_step_fail: Hook | None = None
    on_checkpoint: Hook | None = None
    on_error: Hook | None = None
    """The run failed."""
    on_stage_start: Hook | None = None
    """A step of a task begins that is one of its five stages; its event's data has `stage`, from 1."""
    on_stage_complete: Hook | None = None
    on_gate_pass: Hook | None = None
    on_gate_fail: Hook | None = None

    def tell(self, event: Event) -> None:
        """Call what wants to know of this event."""
        for name in _CALLED.get(event.name, ()):
            hook: Hook | None = getattr(self, name)
            if hook is None or (name in _OF_STAGES and "stage" not in event.data):
                continue
            try:
                hook(event)
            except Exception:  # another's code may raise anything
                log.exception("the hook %s raised at %s of run %s", name, event.name, event.execution_id)
