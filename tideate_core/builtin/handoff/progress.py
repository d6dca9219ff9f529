"""State of a handoff: the plan's steps and how far each is."""

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

__all__ = ["artifacts_of", "last_state", "now", "progress_in", "state_of"]


STEP_GUESS_MS: Final = 60_000
"""Of a step for which the planner made no guess."""


def now() -> str:
    """Return the time as the files have it."""
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
    """Return the state of a run.

    :param progress: of the steps that have begun, by id.
    :param duration: milliseconds that it took, None while it runs.
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
    """Return what the run's steps left so far."""
    edited = results.get("edit")
    return [*edited["files"], edited["patchset"], *edited.get("analyses", ())] if edited else []


def progress_in(results: Mapping[str, Any]) -> dict[str, StepProgress]:
    """Return the progress of the plan's steps that the run's results tell of."""
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
    """Return the state at the end of a run, None of one that ended before it had read a plan.

    :param results: of the workflow's steps.
    :param error: why it did not complete, empty if it did.
    :param before: the file as the run wrote it last, from which the steps of one that broke off in its work
        are taken.
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
    """Complete what still ran: the tests."""
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
    """Fail the steps whose tests failed, else the one that was at work, else the first that had not begun."""
    running = [identity for identity, one in progress.items() if one.status == "running"]
    waiting = [one.id for one in plan.steps if one.id not in progress]
    failed = running if tested else running[-1:] or waiting[:1]
    found = {identity: one for identity, one in progress.items() if identity not in running}
    for identity in failed:
        begun = progress.get(identity, StepProgress())
        found[identity] = begun.model_copy(update={"status": "failed", "completed_at": now(), "error": error})
    return found
