"""How a run's end is told: the last event and the result, from where the execution stands."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from tideate_core.engine.events import Event, EventName
from tideate_core.engine.execution import WorkflowResult, usage_json
from tideate_core.errors import TideateError
from tideate_core.machines import ExecutionEvent, ExecutionState
from tideate_core.workflows import Declined

if TYPE_CHECKING:
    import asyncio

    from tideate_core.engine.execution import Execution

__all__ = ["conclude", "words_of"]

log = logging.getLogger(__name__)


def conclude(execution: Execution, task: asyncio.Task[None]) -> tuple[Event, WorkflowResult]:
    """Bring the execution to its terminal state and say how it ended.

    :param task: the run's, done.
    """
    if task.cancelled():
        return _cancelled(execution, "cancelled", "")
    error = task.exception()
    if isinstance(error, Declined):
        return _cancelled(execution, "declined", str(error))
    return _completed(execution) if error is None else _failed(execution, error)


def words_of(error: BaseException) -> dict[str, str]:
    """Return an error as results and events carry it."""
    if isinstance(error, TideateError):
        return {"error": str(error), "error_code": error.code}
    return {"error": f"{type(error).__name__}: {error}", "error_code": type(error).__name__}


def _completed(execution: Execution) -> tuple[Event, WorkflowResult]:
    response = execution.driver.response()
    data = {"response": response, "usage": usage_json(execution.usage), "files": execution.files}
    return _event(execution, EventName.WORKFLOW_COMPLETED, data), _result(
        execution, ok=True, response=response
    )


def _cancelled(execution: Execution, reason: str, words: str) -> tuple[Event, WorkflowResult]:
    execution.machine.require(ExecutionEvent.CANCEL_WORKFLOW)
    data = {"reason": reason, "message": words, "step": execution.step}
    ending = _result(execution, **_unfinished(execution), cancelled=True, reason=reason)
    return _event(execution, EventName.WORKFLOW_CANCELLED, data), ending


def _failed(execution: Execution, error: BaseException) -> tuple[Event, WorkflowResult]:
    if not isinstance(error, TideateError):
        log.error("run %s failed unexpectedly", execution.id, exc_info=error)
    if execution.machine.state is not ExecutionState.FAILED:
        execution.machine.require(ExecutionEvent.WORKFLOW_FAILED)
    data = {"name": execution.definition.name, "step": execution.step, **words_of(error)}
    ending = _result(execution, **_unfinished(execution), **words_of(error))
    return _event(execution, EventName.WORKFLOW_FAILED, data), ending


def _unfinished(execution: Execution) -> dict[str, Any]:
    return {"ok": False, "response": execution.driver.unfinished()}


def _event(execution: Execution, name: EventName, data: dict[str, Any]) -> Event:
    return Event(name, execution.id, {**data, "duration_ms": execution.elapsed_ms})


def _result(execution: Execution, **ending: Any) -> WorkflowResult:
    return WorkflowResult(
        execution.id,
        execution.definition.name,
        results=execution.results,
        files=execution.files,
        path=execution.driver.path,
        usage=execution.usage,
        duration_ms=execution.elapsed_ms,
        **ending,
    )
