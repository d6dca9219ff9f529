"""Content of the handoff state file: progress of each step, counts and produced files."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import ValidationError

from tideate_core.builtin.handoff.models import (
    ExecutionState,
    PlanFile,
    StateCounts,
    StepProgress,
    StepState,
)
from tideate_core.engine import iso_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STEP_GUESS_MS: Final = 60_000
"""Default for a step without the planner's estimate."""


def now() -> str:
    """Return the current time in the format of the handoff files."""
    return iso_time(time.time_ns() // 1_000_000)


def state_of(
    run: str,
    plan: PlanFile,
    started_at: str,
    progress: Mapping[str, StepProgress],
    *,
    artifacts: Sequence[str] = (),
    status: Literal["running", "completed", "failed"] = "running",
    checkpoints: Sequence[str] = (),
    duration: int | None = None,
) -> ExecutionState:
    """Return the content of the state file.

    :param progress: progress of started steps, by id.
    :param duration: milliseconds; None while the run is active.
    """
    blank = StepProgress()
    steps = [
        StepState.model_validate({**one.model_dump(), **progress.get(one.id, blank).model_dump()})
        for one in plan.steps
    ]
    return ExecutionState(
        workflow_id=run,
        plan_id=plan.plan_id,
        steps=steps,
        current_step_index=next(
            (at for at, one in enumerate(steps) if one.status != "completed"), len(steps)
        ),
        status=status,
        started_at=started_at,
        completed_at=None if status == "running" else now(),
        artifacts=list(artifacts),
        checkpoints=list(checkpoints),
        metadata=_counts(steps, duration),
    )


def _counts(steps: Sequence[StepState], duration: int | None) -> StateCounts:
    return StateCounts(
        total_steps=len(steps),
        completed_steps=sum(one.status == "completed" for one in steps),
        failed_steps=sum(one.status == "failed" for one in steps),
        estimated_duration=sum(
            STEP_GUESS_MS if one.estimated_duration is None else one.estimated_duration for one in steps
        ),
        actual_duration=duration,
    )


def artifacts_of(results: Mapping[str, Any]) -> list[str]:
    """Return the files produced so far: edits, patch set and analyses."""
    edited = results.get("edit")
    return [*edited["files"], edited["patchset"], *edited.get("analyses", ())] if edited else []


def progress_in(results: Mapping[str, Any]) -> dict[str, StepProgress]:
    """Return the steps' progress recorded in the run's results."""
    kept = results["edit"].get("steps", {}) if "edit" in results else {}
    return {identity: StepProgress.model_validate(one) for identity, one in kept.items()}


def last_state(
    run: str,
    results: Mapping[str, Any],
    error: str,
    *,
    before: bytes = b"",
    checkpoints: Sequence[str] = (),
    duration: int | None = None,
) -> ExecutionState | None:
    """Return the final state of a run; None if the run ended before it read a plan.

    :param results: results of the workflow's steps.
    :param error: reason of the failure, empty after success.
    :param before: the last state file, used for a run that was interrupted during its edits.
    :param duration: milliseconds.
    """
    planned = results.get("plan")
    if planned is None:
        return None
    plan = PlanFile.model_validate(planned["plan"])
    progress = progress_in(results) or _progress_of(before, run)
    ended = _failed(plan, progress, error, tested="tests" in results) if error else _completed(progress)
    return state_of(
        run,
        plan,
        planned["started_at"],
        ended,
        artifacts=artifacts_of(results),
        status="failed" if error else "completed",
        checkpoints=checkpoints,
        duration=duration,
    )


def _progress_of(before: bytes, run: str) -> dict[str, StepProgress]:
    try:
        state = ExecutionState.model_validate_json(before)
    except ValidationError:
        return {}  # not there, or not ours
    if state.workflow_id != run:
        return {}
    return {
        one.id: StepProgress.model_validate(one.model_dump(include=set(StepProgress.model_fields)))
        for one in state.steps
        if one.status != "pending"
    }


def _completed(progress: Mapping[str, StepProgress]) -> dict[str, StepProgress]:
    """Mark steps that were still running, the tests, as completed."""
    at = now()
    return {
        identity: one.model_copy(update={"status": "completed", "completed_at": at})
        if one.status == "running"
        else one
        for identity, one in progress.items()
    }


def _failed(
    plan: PlanFile, progress: Mapping[str, StepProgress], error: str, *, tested: bool
) -> dict[str, StepProgress]:
    """Mark the failed steps: tested ones if their tests failed, else the running or first pending one."""
    running = [identity for identity, one in progress.items() if one.status == "running"]
    waiting = [one.id for one in plan.steps if one.id not in progress]
    failed = running if tested else running[-1:] or waiting[:1]
    found = {identity: one for identity, one in progress.items() if identity not in running}
    for identity in failed:
        begun = progress.get(identity, StepProgress())
        found[identity] = begun.model_copy(update={"status": "failed", "completed_at": now(), "error": error})
    return found
