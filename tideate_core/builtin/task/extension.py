"""Extension of a confirmed plan by a file that a correction needs, through gates 1 and 2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.builtin.task.gates import PlanRefused, confirm_plan, pass_audit, replan_of
from tideate_core.errors import OutsideRoot
from tideate_core.gates import PlanStep
from tideate_core.workflows import Declined

if TYPE_CHECKING:
    from tideate_core.agents import NeededFile
    from tideate_core.builtin.task.environment import TaskEnvironment
    from tideate_core.builtin.task.record import TaskRecord
    from tideate_core.gates import ExecutionPlan
    from tideate_core.workflows import StepContext

MOST_EXTENSIONS: Final = 3
"""Extensions of a plan in one correction."""


class PlanNotExtended(Exception):
    """A gate or the user refused the extension."""


async def extend_plan(
    step: StepContext,
    record: TaskRecord,
    environment: TaskEnvironment,
    plan: ExecutionPlan,
    needed: NeededFile,
) -> ExecutionPlan:
    """Return the plan with an added step for the needed file.

    :raises PlanNotExtended: the extension was refused; the message has the reason.
    """
    extended = _with_file(step, plan, needed)
    try:
        fixed, audit = await pass_audit(step, environment, extended, f"the plan with {needed.path}")
    except PlanRefused as refusal:
        raise PlanNotExtended(str(refusal)) from refusal
    if not environment.gated:
        return fixed
    reason = f": {needed.reason}" if needed.reason else ""
    try:
        question = f"The correction needs {needed.path}{reason}. Carry out the plan with it?"
        replan = replan_of(step, record, environment)
        return (await confirm_plan(step, fixed, audit, question, revise=replan))[0]
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
