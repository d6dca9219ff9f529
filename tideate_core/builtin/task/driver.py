"""Driver of the gated task: stages and gates as steps, results as transitions of the task table."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from tideate_core.builtin.task import TASK
from tideate_core.builtin.task.record import TaskRecord, failure_of, summary_of
from tideate_core.engine import Question, StateDriver, Work
from tideate_core.errors import StepFailed
from tideate_core.machines import TASK_TABLE, WorkflowEvent, WorkflowState

if TYPE_CHECKING:
    from collections.abc import Collection

    from tideate_core.builtin.task.environment import TaskEnvironment
    from tideate_core.gates import TaskResult
    from tideate_core.snapshots import SnapshotManager
    from tideate_core.workflows import MachineWorkflow, StepContext

_S = WorkflowState
BOUNDARY: Final = "*"

HANDLERS: Final = {
    _S.IDLE: ("tideate_core.builtin.task.preparation", "prepare"),
    _S.PLANNING: ("tideate_core.builtin.task.stages", "plan"),
    _S.AWAITING_PLAN_GATE: ("tideate_core.builtin.task.gates", "plan_gate"),
    _S.AUDITING: ("tideate_core.builtin.task.stages", "audit"),
    _S.AWAITING_AUDIT_GATE: ("tideate_core.builtin.task.gates", "audit_gate"),
    _S.EXECUTING: ("tideate_core.builtin.task.stages", "execute"),
    _S.AWAITING_EXECUTION_GATE: ("tideate_core.builtin.task.gates", "execution_gate"),
    _S.DOCUMENTING: ("tideate_core.builtin.task.stages", "document"),
    _S.AWAITING_DOCUMENTATION_GATE: ("tideate_core.builtin.task.gates", "documentation_gate"),
    _S.VERIFYING: ("tideate_core.builtin.task.verification", "verify"),
    _S.SELF_CORRECTING: ("tideate_core.builtin.task.stages", "correct"),
}
"""Module and function by state; a module is imported when the task reaches the state."""
STAGES: Final = {
    _S.PLANNING: (1, "planner"),
    _S.AUDITING: (2, "auditor"),
    _S.EXECUTING: (3, "executor"),
    _S.DOCUMENTING: (4, "documenter"),
    _S.VERIFYING: (5, "tool"),
    _S.SELF_CORRECTING: (5, "corrector"),
}
"""Stage number and role by state."""
GATES: Final = {
    _S.AWAITING_PLAN_GATE: 1,
    _S.AWAITING_AUDIT_GATE: 2,
    _S.AWAITING_EXECUTION_GATE: 3,
    _S.AWAITING_DOCUMENTATION_GATE: 4,
}
"""Number of the decided stage, by gate state."""
_ENDS: Final = frozenset({_S.COMPLETE, _S.FAILED})


class TaskDriver(StateDriver):
    """Driver of one task.

    :param confirm: states entered only after a question.
    :param prompt: the user's task.
    """

    def __init__(
        self,
        definition: MachineWorkflow,
        environment: TaskEnvironment,
        *,
        confirm: Collection[str],
        prompt: str,
    ) -> None:
        limits = environment.config.limits
        states = [*definition.machine.states]
        super().__init__(TASK, states, limits=limits, prompt=prompt, emit=environment.emit)
        self._environment = environment
        self._confirm = confirm
        self._fsm = environment.components.fsm()
        self._record = TaskRecord()

    @property
    def has_more(self) -> bool:
        return not self._fsm.is_terminal()

    @property
    def at_last(self) -> bool:
        """True at the end; the step after a gate is unknown until the gate decides."""
        return self._fsm.is_terminal()

    @property
    def reversible(self) -> TaskDriver:
        return self

    @property
    def attempts(self) -> int:
        return len(self._record.edits)

    @property
    def result(self) -> TaskResult | None:
        return self._record.result

    @property
    def snapshot(self) -> str | None:
        return self._record.snapshot

    @property
    def snapshots(self) -> SnapshotManager | None:
        return self._environment.components.snapshot_manager

    @property
    def checks_ran(self) -> bool:
        return any(move["to"] == _S.VERIFYING for move in self._path)

    def stage_of(self, step: str | None) -> int | None:
        state = WorkflowState((step or _S.IDLE).partition("#")[0])
        return GATES.get(state) or STAGES.get(state, (None, ""))[0]

    def reset(self) -> None:
        """Return the machine to its initial state."""
        if not self._fsm.reset():
            self._fsm.force_reset()

    def begin_step(self, work: Work) -> None:
        self._works += 1
        self._visits[self._fsm.state] += 1
        if not self._path:
            self._add_move(BOUNDARY, WorkflowState.IDLE, "", "only")

    async def complete_step(self, work: Work, value: Any, step: StepContext) -> None:
        """Follow the transition of the step's event.

        :raises StepFailed: the event ends the task as failed.
        :raises MoveLimitReached: the task exceeds its moves or visits of a state.
        """
        source = self._fsm.state
        event = WorkflowEvent(value["event"])
        target = TASK_TABLE[source].get(event)
        if isinstance(target, WorkflowState) and target not in _ENDS:
            self._check_limits(target)
        self._fsm.require(event)
        self._record.add_result(work.step, source, value)
        self._add_move(source, self._fsm.state, event, "gate" if value.get("gate") else "only")
        self._given = False
        if self._fsm.state is WorkflowState.FAILED:
            raise StepFailed(failure_of(source, self._record))

    def response(self) -> str:
        return summary_of(self._record)

    def unfinished_response(self) -> None:
        """None: an unfinished task leaves no result."""

    def _next(self) -> Work:
        state = self._fsm.state
        more: dict[str, Any] = {"state": state.value}
        stage, agent = STAGES.get(state, (None, "machine"))
        if stage is not None:
            more["stage"] = stage
        question = None
        if state in self._confirm:
            question = Question(f"{TASK}: continue to {state.value!r}?", payload={"to": state.value})
        handler = partial(self._do, state)
        step = self._step_of(state.value)
        return Work(step, handler, self._works + 1, 0, question, more, agent=agent)

    async def _do(self, state: WorkflowState, step: StepContext) -> dict[str, Any]:
        module, name = HANDLERS[state]
        handler = getattr(import_module(module), name)
        value: dict[str, Any] = await handler(step, self._record, self._environment)
        return value
