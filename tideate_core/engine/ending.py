"""End of a run: last event, result, stored row, summary; rollback of an all-or-nothing run."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from tideate_core.engine.context.memory import NEXT_RUN, PENDING_END, RUN
from tideate_core.engine.driver import NO_HOOKS
from tideate_core.engine.events import Event, EventName, error_fields, failure_fields, identity
from tideate_core.engine.recorder import now_ms, tokens_of
from tideate_core.engine.request import WorkflowResult, leaves_unchanged, usage_json
from tideate_core.errors import StoreError, TideateError, UnusableFile, WorkspaceError
from tideate_core.machines import ExecutionEvent, ExecutionState
from tideate_core.store import Ending
from tideate_core.workflows import MISSING, Declined, NextRun

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tideate_core.engine.driver import DriverHooks, PlanCounts, Reversible, Settled
    from tideate_core.engine.recorder import Recorder
    from tideate_core.engine.run import Run
    from tideate_core.project import Documents
    from tideate_core.snapshots import SnapshotManager
    from tideate_core.workspace import RollbackResult, Workspace

log = logging.getLogger(__name__)

INTERRUPTED: Final = "interrupted"
"""The reason of a run that its process left and that can be resumed."""
PATIENCE: Final = 3.0
"""Seconds spent on finding foreign changes after a rollback."""
MOST_KEPT: Final = 100
"""Foreign changes listed in an event; the rest is only counted."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The end of a run: its last event and its result."""

    name: EventName
    data: dict[str, Any]
    """Of the event."""
    result: WorkflowResult


# -- how a run ends --------------------------------------------------------------------------------------


def end_of(run: Run, task: asyncio.Task[None]) -> RunEnd:
    """Move a run to its final state, and return its end.

    :param task: the run's, done.
    """
    if task.cancelled():
        if run.stopped_by is not None:
            return _failed(run, run.stopped_by)
        return _interrupted(run) if run.left else _cancelled(run, "cancelled", "")
    error = task.exception()
    if isinstance(error, Declined):
        return _cancelled(run, "declined", str(error))
    return _completed(run) if error is None else _failed(run, error)


def _completed(run: Run) -> RunEnd:
    run.move(ExecutionEvent.AGGREGATE_RESULTS)
    result = _result(run, ok=True, response=run.driver.response())
    data: dict[str, Any] = {"response": result.response, "usage": usage_json(run.usage), "files": run.files}
    if result.executed:
        data["executed"] = result.executed
    if not run.files and leaves_unchanged(run.results):
        data["unchanged"] = True
    if next_run := _next_run(run):
        data["next"], result = next_run, replace(result, next_run=next_run)
    return RunEnd(EventName.WORKFLOW_COMPLETED, _timed(run, data), result)


def _next_run(run: Run) -> dict[str, Any] | None:
    """Return the run that the steps of a completed run proposed to follow it.

    A run of a single step proposes none, and a nested run only says so: a person is asked about whole runs.
    """
    kept = run.memory.recall(RUN, NEXT_RUN) or None
    if not kept or run.request.step is not None:
        return None
    shape = {**NextRun.of_json(kept).as_json(), "continues": run.id, "asks": run.gated}
    del shape["done"]  # the next run reads it from the store
    if run.request.adapter is not None:
        shape["adapter"] = run.request.adapter
    if run.parent is not None:
        run.notify(f"{shape['message']}; {shape['workflow']} can continue the run {run.id[:8]}")
    return shape


def _cancelled(run: Run, reason: str, words: str) -> RunEnd:
    run.move(ExecutionEvent.CANCEL_WORKFLOW)
    data = {"reason": reason, "message": words, "step": run.step}
    result = _result(run, cancelled=True, reason=reason)
    return RunEnd(EventName.WORKFLOW_CANCELLED, _timed(run, data), result)


def _interrupted(run: Run) -> RunEnd:
    data = {"step": run.step, "reason": INTERRUPTED}
    result = _result(run, cancelled=True, reason=INTERRUPTED)
    return RunEnd(EventName.WORKFLOW_PAUSED, _timed(run, data), result)


def _failed(run: Run, error: BaseException) -> RunEnd:
    reversible, failure = run.driver.reversible, failure_fields(error)
    stage = reversible.stage_of(run.step) if reversible is not None else None
    log.error(
        "run %s (%s) failed%s, step %s: %s; cause: %s",
        run.id,
        run.name,
        "" if stage is None else f" in stage {stage}",
        run.step,
        failure["error"],
        failure["cause"],
        exc_info=None if isinstance(error, TideateError) else error,
    )
    if run.machine.state is not ExecutionState.FAILED:
        run.move(ExecutionEvent.WORKFLOW_FAILED)
    data = {"name": run.name, "step": run.step, **failure}
    if stage is not None:
        data["stage"] = stage
    return RunEnd(EventName.WORKFLOW_FAILED, _timed(run, data), _result(run, **error_fields(error)))


def end_of_refused(run: Run, error: TideateError) -> tuple[RunEnd, Ending]:
    """Return the end of a run that could not begin, and its stored row."""
    words, duration = error_fields(error), run.elapsed_ms
    data = {**identity(run.id, run.name), "name": run.name, **failure_fields(error), "duration_ms": duration}
    result = WorkflowResult(run.id, run.name, ok=False, **words, duration_ms=duration)
    return RunEnd(EventName.WORKFLOW_FAILED, data, result), Ending("failed", now_ms(), duration, **words)


def _timed(run: Run, data: dict[str, Any]) -> dict[str, Any]:
    return {**run.recorder.identify(), **data, "duration_ms": run.elapsed_ms}


def _result(run: Run, *, ok: bool = False, response: Any = None, **ending: Any) -> WorkflowResult:
    reversible = run.driver.reversible
    return WorkflowResult(
        run.id,
        run.name,
        ok,
        response if ok else run.driver.unfinished_response(),
        results=run.results,
        files=run.files,
        executed=[run.executed[path] for path in run.files if path in run.executed],
        path=run.driver.path,
        usage=run.usage,
        duration_ms=run.elapsed_ms,
        task=run.request.prompt if reversible is not None else None,
        result=reversible.result if reversible is not None else None,
        **ending,
    )


# -- recording an end ------------------------------------------------------------------------------------


async def finish(run: Run, task: asyncio.Task[None]) -> WorkflowResult:
    """Record how a run ended, and report it.

    :param task: the run's, done.
    """
    end = end_of(run, task)
    try:
        return await _record(run, task, end)
    finally:
        if run.machine.state is ExecutionState.AGGREGATING_RESULTS:  # the store has its end now
            run.machine.require(ExecutionEvent.RESULTS_AGGREGATED)


async def _record(run: Run, task: asyncio.Task[None], end: RunEnd) -> WorkflowResult:
    if run.store is None:
        run.close_messages()
        if run.parent is None:
            await write_documents(run, row_of(run, end.result))
        run.front.emit(Event(end.name, run.id, end.data))
        return end.result
    error = None if task.cancelled() else task.exception()
    if run.left or run.stopped_by or isinstance(error, StoreError):
        run.front.emit(Event(end.name, run.id, end.data))  # not the run's end: it can be resumed
        await run.release()
        return end.result
    try:
        if run.driver.reversible is not None:
            end = await _roll_back_unless_completed(run, run.driver.reversible, end)
        if run.machine.state is ExecutionState.AGGREGATING_RESULTS:
            run.machine.require(ExecutionEvent.COMPLETE_WORKFLOW)
        row, metrics = row_of(run, end.result), run.metrics().as_json()
        run.close_messages()
        await run.recorder.ended(row, end.name, {**end.data, "metrics": metrics})
        if end.result.ok:  # otherwise its question can be asked again
            from tideate_core.engine.review.drafts import forget_drafts

            await forget_drafts(run.store.private, run.id, partial(run.notify, level="warn"))
    except StoreError as failure:
        if not run.machine.is_terminal():
            run.machine.require(ExecutionEvent.WORKFLOW_FAILED)
        data = {"name": run.name, "step": run.step, **failure_fields(failure)}
        run.front.emit(Event(EventName.WORKFLOW_FAILED, run.id, {**run.recorder.identify(), **data}))
        return replace(end.result, ok=False, cancelled=False, reason=None, **error_fields(failure))
    if run.parent is None:
        await write_documents(run, row)
    return end.result


def row_of(run: Run, result: WorkflowResult) -> Ending:
    """Return the end of a run as the store keeps it."""
    status: Final = "completed" if result.ok else "cancelled" if result.cancelled else "failed"
    return Ending(
        status,
        now_ms(),
        result.duration_ms,
        result.response,
        result.error,
        result.error_code,
        tokens_of(result.usage),
        tuple(result.files),
        *counts_of(run.settled),
        result.reason,
    )


def counts_of(settled: Mapping[str, Settled]) -> tuple[int, int]:
    """Return the numbers of completed and of failed steps."""
    ends = [one.status for one in settled.values()]
    return ends.count("completed"), ends.count("failed")


async def write_documents(run: Run, row: Ending) -> None:
    """Write the documents of a run of this process, even if it could not begin; see `write_run_documents`."""
    try:
        store = await run.runner.store()
    except StoreError:
        log.exception("run %s has no summary", run.id)
        return
    await write_run_documents(
        run.id,
        row,
        store.documents,
        name=run.name,
        total_steps=run.total_steps,
        hooks=run.driver_hooks,
        results=run.results,
        agents=run.recorder.agents,
        checkpoints=run.recorder.checkpoints,
    )


async def write_run_documents(
    run: str,
    ending: Ending,
    documents: Documents,
    *,
    name: str,
    total_steps: int,
    hooks: DriverHooks,
    results: Mapping[str, Any],
    agents: Iterable[str],
    checkpoints: Sequence[str],
) -> None:
    """Write the run's summary and its workflow's documents; a failure is logged and does not change the end.

    :param name: of the workflow.
    :param results: of the completed steps.
    """
    planned, plan = None, hooks.summary(results).plan_id or name
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


# -- rollback at the end -----------------------------------------------------------------------------------


async def _roll_back_unless_completed(run: Run, reversible: Reversible, end: RunEnd) -> RunEnd:
    """Return the end of an all-or-nothing run, once its changes are rolled back unless it completed.

    :raises StoreError: the rollback cannot be recorded; nothing was rolled back, and the run can be resumed.
    """
    end = replace(end, result=replace(end.result, attempts=reversible.attempts))
    if end.result.ok:
        await release_snapshots(run.workspace, run.id, reversible.snapshots)
        return replace(end, result=replace(end.result, rollback_performed=False))
    if run.memory.recall(RUN, PENDING_END) is MISSING:
        # before the first file: a process that takes the run over must not continue it
        pending = {name: getattr(end.result, name) for name in ("reason", "error", "error_code")}
        pending |= {"step": end.data.get("step"), "message": end.data.get("message", "")}
        await run.memory.remember(RUN, PENDING_END, pending)
    try:
        done = await roll_back_and_report(
            run.workspace,
            run.recorder,
            run.files,
            reversible.snapshot,
            manager=reversible.snapshots,
            checks_ran=reversible.checks_ran,
        )
    except Exception as error:  # any error, an editor that is gone included: the run has to end
        log.exception("the changes of run %s could not be rolled back", run.id)
        failure = error_fields(error)["error"]
        run.recorder.event(EventName.ROLLED_BACK, rollback_fields(None, reversible.snapshot, failure))
        return _not_rolled_back(run, end, failure)
    finally:
        reversible.reset()
    run.files[:] = [*done.left]
    executed = [one for one in end.result.executed if one["path"] in done.left]
    return replace(
        end,
        result=replace(end.result, files=[*done.left], executed=executed, rollback_performed=not done.left),
    )


def _not_rolled_back(run: Run, end: RunEnd, failure: str) -> RunEnd:
    """Return the end of a run after an incomplete rollback."""
    result = end.result
    why = result.error or end.data.get("message") or f"the run was {result.reason}"
    words = (
        f"{why}\nIts changes could not be rolled back: {failure}\n"
        f"After fixing that, `tideate rollback {run.id[:8]}` tries again"
    )
    code = result.error_code or WorkspaceError.__name__
    data: dict[str, Any] = {"name": result.workflow, "step": run.step, "error": words, "error_code": code}
    data |= {**run.recorder.identify(), "duration_ms": result.duration_ms}
    data |= {key: end.data[key] for key in ("stage", "cause") if key in end.data}
    failed = replace(result, cancelled=False, reason=None, error=words, error_code=code)
    return RunEnd(EventName.WORKFLOW_FAILED, data, replace(failed, rollback_performed=False))


async def roll_back_and_report(
    workspace: Workspace,
    recorder: Recorder,
    files: Sequence[str],
    snapshot: str | None,
    *,
    manager: SnapshotManager | None = None,
    checks_ran: bool = True,
) -> RollbackResult:
    """Roll back the changes of an all-or-nothing run, and record the restored files.

    :param files: files that its steps report to have written.
    :param snapshot: made before the first write.
    :param manager: that made it; None: the project's.
    :param checks_ran: checks may have changed files; these are looked for.
    :raises WorkspaceError: its journal is gone or damaged, or a file cannot be written.
    """
    run = recorder.execution_id
    if files and not await asyncio.to_thread(workspace.has_journal, run):
        raise WorkspaceError(
            f"the journal of its changes is gone, and {', '.join(files)} may be as it left them; "
            f"`tideate snapshot diff {snapshot}` shows what differs from before"
        )
    done = await workspace.rollback_best_effort(run)
    foreign = await _foreign_changes(workspace, snapshot, done, manager) if checks_ran else []
    recorder.event(EventName.ROLLED_BACK, rollback_fields(done, snapshot, foreign=foreign))
    await release_snapshots(workspace, run, manager)
    return done


def rollback_fields(
    done: RollbackResult | None, snapshot: str | None = None, failure: str = "", foreign: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the data of a rollback event.

    :param done: None: nothing was restored.
    :param foreign: paths that others changed.
    """
    restored, merged, left = (done.restored, done.merged, done.left) if done else ([], [], [])
    return {
        "count": len(restored) + len(merged),
        "restored": restored,
        "merged": merged,
        "left": left,
        "foreign": [*foreign[:MOST_KEPT]],
        "more_foreign": len(foreign[MOST_KEPT:]),
        "snapshot": snapshot,
        "error": failure or None,
    }


async def _foreign_changes(
    workspace: Workspace, snapshot: str | None, done: RollbackResult, manager: SnapshotManager | None
) -> list[str]:
    """Return paths that differ from the snapshot though the run did not write them; caches are left out.

    A check may have changed them (a formatter), or the person, whose text is never replaced unasked. The
    search is limited to `PATIENCE` seconds.
    """
    root = workspace.root
    if snapshot is None or root is None:
        return []
    from tideate_core.snapshots import CacheDirectories, SnapshotManager

    manager = manager or SnapshotManager(root, private=workspace.private)
    try:
        async with asyncio.timeout(PATIENCE):
            found = await manager.diff(snapshot, changes=False)
    except (TideateError, OSError):  # a TimeoutError is one
        log.warning("the differences from the snapshot %s are not known", snapshot, exc_info=True)
        return []
    known, caches = {*done.left, *done.merged}, CacheDirectories(root)
    paths = [file.path for file in found if file.path not in known]
    return await asyncio.to_thread(lambda: [path for path in paths if not caches.contain(path)])


def temporary_pin(run: str) -> str:
    """Return the pin of the snapshots that a run needs only until its end."""
    return f"{run}/moment"


async def release_snapshots(workspace: Workspace, run: str, manager: SnapshotManager | None = None) -> None:
    """Leave the run's snapshots to retention, and delete its temporary ones at once.

    :param manager: that made them; None: the project's.
    """
    if workspace.root is None:
        return
    from tideate_core.snapshots import SnapshotManager

    try:
        snapshots = manager or SnapshotManager(workspace.root, private=workspace.private)
        await snapshots.drop(temporary_pin(run))
        await snapshots.release(run)
    except WorkspaceError:
        # the run has ended as it has; the snapshot only stays longer
        log.warning("the snapshots of run %s stay pinned", run, exc_info=True)


# -- summary and other reports -------------------------------------------------------------------------

SUMMARY: Final = "workflow/reports/run-summary.json"
SummaryStatus = Literal["completed", "failed", "partial"]

_STATUS: Final[Mapping[str, SummaryStatus]] = {
    "completed": "completed",
    "failed": "failed",
    "cancelled": "partial",
}
"""Status in a summary by status of the run; the format has no `cancelled`."""


class Report(BaseModel):
    """Base of reports for other tools: keys in camelCase."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, defer_build=True)


class StepCounts(Report):
    """Numbers of steps by their end."""

    total: int
    completed: int
    failed: int


class WorkflowSummaryDTO(Report):
    """Summary of a run at its end."""

    workflow_id: str
    """The run's id."""
    plan_id: str
    """The plan's id in a handoff, else the name of the workflow."""
    status: SummaryStatus
    """`partial` if the run was cancelled."""
    duration: int
    """Milliseconds."""
    agents: list[str]
    artifacts: list[str]
    """Files that were changed."""
    checkpoints: list[str]
    """Ids, the oldest first."""
    steps: StepCounts
    success: bool
    """The run completed, though steps that it can do without may have failed."""
    timestamp: str
    """When it ended: ISO 8601, UTC."""


def iso_time(at: int) -> str:
    """Return a time in ISO 8601, UTC.

    :param at: milliseconds since the epoch.
    """
    whole = datetime.fromtimestamp(at // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{at % 1000:03}Z"


def summary_of(
    ending: Ending,
    run: str,
    *,
    plan: str,
    total_steps: int = 0,
    agents: Iterable[str] = (),
    checkpoints: Iterable[str] = (),
    planned: PlanCounts | None = None,
) -> WorkflowSummaryDTO:
    """Return the summary of a run that ended.

    :param run: the run's id.
    :param plan: the id of the plan that it executed, else the name of its workflow.
    :param total_steps: 0 for a machine; its ended steps are counted.
    :param planned: agents and steps of the plan, in place of the workflow's.
    """
    total = total_steps or ending.completed_steps + ending.failed_steps
    counts = (total, ending.completed_steps, ending.failed_steps)
    if planned is not None:
        agents, counts = planned.agents, (planned.total, planned.completed, planned.failed)
    return WorkflowSummaryDTO(
        workflow_id=run,
        plan_id=plan,
        status=_STATUS[ending.status],
        duration=ending.duration_ms,
        agents=list(agents),
        artifacts=list(ending.files),
        checkpoints=list(checkpoints),
        steps=StepCounts(total=counts[0], completed=counts[1], failed=counts[2]),
        success=ending.status == "completed",
        timestamp=iso_time(ending.completed_at),
    )


def write_summary(documents: Documents, summary: WorkflowSummaryDTO) -> Path:
    """Replace the last run's summary; blocking.

    :raises StoreError: it cannot be written; the run itself is in the store.
    """
    return write_report(documents, SUMMARY, summary)


def write_report(documents: Documents, name: str, report: Report, *, private: bool = False) -> Path:
    """Write a report atomically and durably; blocking.

    :param private: only the person can read it.

    :raises StoreError: it cannot be written.
    """
    try:
        # ASCII: file names need not be valid UTF-8
        text = json.dumps(report.model_dump(by_alias=True), indent=2, allow_nan=False)
        return documents.write(name, f"{text}\n".encode(), private=private)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"this cannot be written as JSON, other tools could not read it: {error}") from error
    except UnusableFile as error:
        raise StoreError(f"{error}; the run itself is kept in the database") from error
