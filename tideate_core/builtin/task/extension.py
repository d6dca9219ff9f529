"""Extension of a task's plan by a file that its correction needs: through gates 1 and 2, and the person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.agents import apply_fixes, audit_plan
from tideate_core.builtin.task.gates import confirm_plan, gate_enforcer, report_gate
from tideate_core.errors import OutsideRoot
from tideate_core.gates import PlanStep
from tideate_core.workflows import Declined

if TYPE_CHECKING:
    from tideate_core.agents import NeededFile
    from tideate_core.builtin.task.environment import TaskEnvironment
    from tideate_core.builtin.task.record import TaskRecord
    from tideate_core.gates import ExecutionPlan
    from tideate_core.workflows import StepContext

__all__ = ["MOST_EXTENSIONS", "PlanNotExtended", "extend_plan"]

MOST_EXTENSIONS: Final = 3
"""Of a plan, in one correction."""


class PlanNotExtended(Exception):
    """A gate or the person refused the extension."""


async def extend_plan(
    step: StepContext,
    record: TaskRecord,
    environment: TaskEnvironment,
    plan: ExecutionPlan,
    needed: NeededFile,
) -> ExecutionPlan:
    """Return the plan with a step that changes the file.

    :raises PlanNotExtended: with the reason.
    """
    extended = _with_file(step, plan, needed)
    gates = gate_enforcer(step, environment)
    decided = await gates.enforce_gate1(extended, rejected_plans=0)
    if issues := report_gate(step, environment, decided):
        raise PlanNotExtended(f"gate 1 refused the plan with {needed.path}: {'; '.join(issues)}")
    brief, role = await environment.brief(step), environment.role(step, "auditor")
    audit = await audit_plan(step, role, brief, extended)
    decided = await gates.enforce_gate2(audit, extended)
    issues = report_gate(step, environment, decided)
    if not decided.passed:
        raise PlanNotExtended(f"gate 2 refused the plan with {needed.path}: {'; '.join(issues)}")
    fixed = apply_fixes(extended, audit) if decided.auto_fixed else extended
    if not environment.gated:
        return fixed
    reason = f": {needed.reason}" if needed.reason else ""
    try:
        return await confirm_plan(
            step, fixed, audit, f"The correction needs {needed.path}{reason}. Carry out the plan with it?"
        )
    except Declined as declined:
        raise PlanNotExtended(f"the plan with {needed.path} was declined") from declined


def _with_file(step: StepContext, plan: ExecutionPlan, needed: NeededFile) -> ExecutionPlan:
    try:
        path = step.workspace.resolve(needed.path)
    except OutsideRoot as error:
        raise PlanNotExtended(f"the correction needs a file that no task may change: {error}") from error
    name = step.workspace.name_of(path)
    if name in plan.files:
        raise PlanNotExtended(f"the correction needs {name}, which the plan has and which cannot be shown")
    words = needed.reason or "needed to correct what the verification found"
    added = PlanStep(type="edit" if path.exists() else "create", description=words, files=[name])
    return plan.model_copy(update={"steps": [*plan.steps, added], "files": [*plan.files, name]})
