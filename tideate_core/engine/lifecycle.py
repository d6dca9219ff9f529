"""Start, restoration and end of a run: machine events, first and last event, result, summary."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NoReturn

from tideate_core.engine.driver import Settled
from tideate_core.engine.driver_hooks import NO_HOOKS
from tideate_core.engine.events import Event, EventName, error_fields, failure_fields
from tideate_core.engine.recording import tokens_of
from tideate_core.engine.result import WorkflowResult, leaves_unchanged, usage_json
from tideate_core.errors import StoreError, TideateError, WorkflowError
from tideate_core.machines import ExecutionEvent, ExecutionState
from tideate_core.store import Ending
from tideate_core.workflows import Declined, NextRun

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tideate_core.adapters import Adapter
    from tideate_core.engine.driver_hooks import DriverHooks
    from tideate_core.engine.recorded_run import RecordedRun
    from tideate_core.engine.recording import Recorder
    from tideate_core.engine.run import Execution, RunRequest
    from tideate_core.project import Documents

__all__ = [
    "CannotGoOn",
    "RecordedFailure",
    "conclude_execution",
    "end_as_recorded",
    "ending_of",
    "restore_execution",
    "start_execution",
    "with_next_run",
    "write_run_documents",
]


log = logging.getLogger(__name__)

INTERRUPTED: Final = "interrupted"
"""The reason of a run that its process left and that can be resumed."""


class CannotGoOn(StoreError):
    """A run within a step cannot go on now: neither it nor the run around it has ended, both can be resumed.

    :param code: of what is in its way.
    """

    def __init__(self, message: str, code: str | None) -> None:
        super().__init__(message)
        self._code = code

    @property
    def code(self) -> str:
        return self._code or super().code


class RecordedFailure(WorkflowError):
    """The failure of a step in an earlier process.

    :param settled: the store's record of it.
    """

    def __init__(self, settled: Settled) -> None:
        super().__init__(settled.error or f"the step {settled.step!r} failed")
        self.step = settled.step
        self._code = settled.error_code

    @property
    def code(self) -> str:
        return self._code or super().code


def start_execution(
    execution: Execution, recorder: Recorder, adapter: Adapter, parent: tuple[str, str] | None
) -> None:
    """Begin a run that was prepared.

    :param parent: the run and the step that it is part of.
    """
    execution.move(ExecutionEvent.STEPS_SCHEDULED)
    recorder.event(EventName.WORKFLOW_STARTED, _about(execution, adapter, parent))


def restore_execution(
    execution: Execution,
    recorder: Recorder,
    adapter: Adapter,
    parent: tuple[str, str] | None,
    recorded: RecordedRun,
) -> None:
    """Let a run stand where its last commit left it."""
    execution.usage = recorded.usage
    execution.files = list(recorded.files)
    execution.executed = dict(recorded.executed)
    execution.elapsed_before = recorded.elapsed_ms
    execution.state.restore_context(recorded.context)
    execution.move(ExecutionEvent.CHECKPOINT_RESTORED)
    about = _about(execution, adapter, parent)
    forked = {"forked": True} if recorded.forked else {}  # then a notice tells what is reused
    recorder.event(EventName.WORKFLOW_RESTORED, {**about, "completed": list(recorded.settled), **forked})


def _about(execution: Execution, adapter: Adapter, parent: tuple[str, str] | None) -> dict[str, Any]:
    return {
        "name": execution.definition.name,
        "adapter": adapter.name,
        "demonstration": adapter.demonstration,
        "prompt": execution.request.prompt,
        **({"compared": list(execution.request.compared)} if execution.request.compared else {}),
        **({"parent": parent[0], "parent_step": parent[1]} if parent else {}),
        **execution.driver.outline(),
    }


def conclude_execution(execution: Execution, task: asyncio.Task[None]) -> tuple[Event, WorkflowResult]:
    """Bring the execution to its terminal state and say how it ended.

    :param task: the run's, done.
    """
    if task.cancelled():
        if execution.stopped_by is not None:
            return _failed(execution, execution.stopped_by)
        return _interrupted(execution) if execution.left else _cancelled(execution, "cancelled", "")
    error = task.exception()
    if isinstance(error, Declined):
        return _cancelled(execution, "declined", str(error))
    return _completed(execution) if error is None else _failed(execution, error)


def with_next_run(
    event: Event, result: WorkflowResult, kept: Mapping[str, Any] | None, request: RunRequest, *, asks: bool
) -> tuple[Event, WorkflowResult]:
    """Return the end of a run with the run that its steps proposed to follow it.

    Only a completed one has it, of which not just a single step was wanted.

    :param kept: the proposal as `NextRun.as_json` gave it.
    :param asks: the person wants to be asked; else they are only told.
    """
    if not kept or not result.ok or request.step is not None:
        return event, result
    proposed = NextRun.of_json(kept)
    shape = {**proposed.as_json(), "continues": result.execution_id, "asks": asks}
    del shape["done"]  # the next run has it from the store
    if request.adapter is not None:
        shape["adapter"] = request.adapter
    return replace(event, data={**event.data, "next": shape}), replace(result, next_run=shape)


def end_as_recorded(execution: Execution, recorded: RecordedRun) -> NoReturn:
    """Break a run off again whose rollback had begun when its process ended: as it was going to end.

    :raises Declined: the person had said no.
    :raises RecordedFailure: it had failed.
    :raises asyncio.CancelledError: it had been cancelled.
    """
    for settled in recorded.settled.values():
        execution.settle(settled)
    end = recorded.pending_end
    assert end is not None  # noqa: S101 that is when it is called
    execution.step = end["step"]
    if end["reason"] == "declined":
        raise Declined(end["message"])
    if end["reason"] is not None:
        raise asyncio.CancelledError
    raise RecordedFailure(Settled(end["step"] or "", "failed", None, end["error"], end["error_code"]))


def ending_of(execution: Execution, result: WorkflowResult) -> Ending:
    """Return a run's end as the store has it."""
    steps = [settled.status for settled in execution.settled.values()]
    usage = result.usage
    return Ending(
        "completed" if result.ok else "cancelled" if result.cancelled else "failed",
        time.time_ns() // 1_000_000,
        result.duration_ms,
        result.response,
        result.error,
        result.error_code,
        tokens_of(usage),
        tuple(result.files),
        steps.count("completed"),
        steps.count("failed"),
        result.reason,
    )


async def write_run_documents(
    run: str,
    ending: Ending,
    documents: Documents,
    *,
    name: str,
    total_steps: int = 0,
    hooks: DriverHooks = NO_HOOKS,
    results: Mapping[str, Any] | None = None,
    agents: Iterable[str] = (),
    checkpoints: Iterable[str] = (),
) -> None:
    """Write the run's summary and its workflow's documents; where that fails it has ended all the same.

    :param name: of the workflow.
    :param results: of the completed steps.
    """
    # here: nothing of it is needed until now
    from tideate_core.engine.reports import summary_of, write_summary

    planned, results, checkpoints = None, results or {}, list(checkpoints)
    plan = hooks.summary(results).plan_id or name
    try:
        if hooks is not NO_HOOKS:
            planned = await asyncio.to_thread(hooks.conclude, run, results, ending, documents, checkpoints)
    except StoreError:
        log.exception("run %s has not all of its documents", run)
    try:
        summary = summary_of(
            ending,
            run,
            plan=plan,
            total_steps=total_steps,
            agents=agents,
            checkpoints=checkpoints,
            planned=planned,
        )
        await asyncio.to_thread(write_summary, documents, summary)
    except StoreError:
        log.exception("run %s has no summary", run)


def _completed(execution: Execution) -> tuple[Event, WorkflowResult]:
    execution.move(ExecutionEvent.AGGREGATE_RESULTS)
    response = execution.driver.response()
    data = {"response": response, "usage": usage_json(execution.usage), "files": execution.files}
    if executed := _executed(execution):
        data["executed"] = executed
    if not execution.files and leaves_unchanged(execution.results):
        data["unchanged"] = True
    return _event(execution, EventName.WORKFLOW_COMPLETED, data), _result(
        execution, ok=True, response=response
    )


def _cancelled(execution: Execution, reason: str, words: str) -> tuple[Event, WorkflowResult]:
    execution.move(ExecutionEvent.CANCEL_WORKFLOW)
    data = {"reason": reason, "message": words, "step": execution.step}
    ending = _result(execution, **_unfinished(execution), cancelled=True, reason=reason)
    return _event(execution, EventName.WORKFLOW_CANCELLED, data), ending


def _interrupted(execution: Execution) -> tuple[Event, WorkflowResult]:
    data = {"step": execution.step, "reason": INTERRUPTED}
    ending = _result(execution, **_unfinished(execution), cancelled=True, reason=INTERRUPTED)
    return _event(execution, EventName.WORKFLOW_PAUSED, data), ending


def _failed(execution: Execution, error: BaseException) -> tuple[Event, WorkflowResult]:
    reversible, failure = execution.driver.reversible, failure_fields(error)
    stage = reversible.stage_of(execution.step) if reversible is not None else None
    place = "" if stage is None else f" in stage {stage}"
    unexpected = None if isinstance(error, TideateError) else error
    log.error(
        "run %s (%s) failed%s, step %s: %s; cause: %s",
        execution.id,
        execution.definition.name,
        place,
        execution.step,
        failure["error"],
        failure["cause"],
        exc_info=unexpected,
    )
    if execution.machine.state is not ExecutionState.FAILED:
        execution.move(ExecutionEvent.WORKFLOW_FAILED)
    data = {"name": execution.definition.name, "step": execution.step, **failure}
    if stage is not None:
        data["stage"] = stage
    ending = _result(execution, **_unfinished(execution), **error_fields(error))
    return _event(execution, EventName.WORKFLOW_FAILED, data), ending


def _unfinished(execution: Execution) -> dict[str, Any]:
    return {"ok": False, "response": execution.driver.unfinished_response()}


def _event(execution: Execution, name: EventName, data: dict[str, Any]) -> Event:
    return Event(name, execution.id, {**data, "duration_ms": execution.elapsed_ms})


def _executed(execution: Execution) -> list[dict[str, str]]:
    return [execution.executed[path] for path in execution.files if path in execution.executed]


def _result(execution: Execution, **ending: Any) -> WorkflowResult:
    reversible = execution.driver.reversible
    return WorkflowResult(
        execution.id,
        execution.definition.name,
        results=execution.results,
        files=execution.files,
        executed=_executed(execution),
        path=execution.driver.path,
        usage=execution.usage,
        duration_ms=execution.elapsed_ms,
        task=execution.request.prompt if reversible is not None else None,
        result=reversible.result if reversible is not None else None,
        **ending,
    )
