"""Runs workflows: lifecycle, steps, events, confirmation, cancellation."""

from tideate_core.engine.builtin import register_builtin
from tideate_core.engine.confirmation import ConfirmationRequest, FrontEnd, PolicyFrontEnd
from tideate_core.engine.events import Event, EventName
from tideate_core.engine.execution import Execution, RunRequest, WorkflowResult
from tideate_core.engine.runner import WorkflowRunner

__all__ = [
    "ConfirmationRequest",
    "Event",
    "EventName",
    "Execution",
    "FrontEnd",
    "PolicyFrontEnd",
    "RunRequest",
    "WorkflowResult",
    "WorkflowRunner",
    "register_builtin",
]
