"""State of a handoff by its plan's steps."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from tideate_core.builtin.handoff.models import ExecutionState, PlanFile, StateCounts, StepState
from tideate_core.engine import iso_time

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = ["artifacts_of", "last_state", "now", "state_of"]


_DONE_AFTER: Final = {"plan": ("planning",), "edit": ("coding",), "report": ("testing", "review")}
"""By the workflow's step the kinds of the plan's steps that are done with it."""


def now() -> str:
    """Return the time as the files have it."""
    return iso_time(time.time_ns() // 1_000_000)


def state_of(
    run: str,
    plan: PlanFile,
    started_at: str,
    *,
    done: Collection[str],
    artifacts: Sequence[str] = (),
    error: str = "",
) -> ExecutionState:
    """Return the state of a run.

    :param done: the kinds of steps that are done.
    :param error: why it failed, in the first step that is not done.
    """
    at = now()
    steps: list[StepState] = []
    failed = False
    for one in plan.steps:
        ended: dict[str, str] = {}
        if one.type in done:
            ended = {"status": "completed", "started_at": started_at, "completed_at": at}
        elif error and not failed:
            ended, failed = {"status": "failed", "completed_at": at, "error": error}, True
        steps.append(StepState.model_validate({**one.model_dump(), **ended}))
    completed = sum(step.status == "completed" for step in steps)
    over = bool(error) or completed == len(steps)
    return ExecutionState(
        workflow_id=run,
        plan_id=plan.plan_id,
        steps=steps,
        current_step_index=next(
            (i for i, step in enumerate(steps) if step.status != "completed"), len(steps)
        ),
        status=("failed" if error else "completed") if over else "running",
        started_at=started_at,
        completed_at=at if over else None,
        artifacts=list(artifacts),
        metadata=StateCounts(total_steps=len(steps), completed_steps=completed, failed_steps=int(failed)),
    )


def artifacts_of(results: Mapping[str, Any]) -> list[str]:
    """Return what the run's steps left so far."""
    edited = results.get("edit")
    return [*edited["files"], edited["patchset"]] if edited else []


def last_state(run: str, results: Mapping[str, Any], error: str) -> ExecutionState | None:
    """Return the state at the end of a run, None of one that ended before it had read a plan.

    :param results: of the workflow's steps.
    :param error: why it did not complete, empty if it did.
    """
    planned = results.get("plan")
    if planned is None:
        return None
    plan = PlanFile.model_validate(planned["plan"])
    done = {kind for step, kinds in _DONE_AFTER.items() if step in results for kind in kinds}
    artifacts = artifacts_of(results)
    return state_of(run, plan, planned["started_at"], done=done, artifacts=artifacts, error=error)
