"""Definition and driver hooks of the gated task."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from tideate_core.builtin.task import TASK
from tideate_core.engine import DriverHooks, DriverSummary
from tideate_core.errors import InvalidInput
from tideate_core.workflows import MachineWorkflow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.engine import Driver, Run
    from tideate_core.machines.language import MachineDefinition, State, Transition

FIRST: Final = "idle"
"""State that makes the snapshot."""
CORRECTING: Final = "self_correcting"
"""State that corrects verification errors; its steps have this name and a number."""
EXECUTING: Final = "executing"
WRITING: Final = "awaiting_execution_gate"
"""First state that writes files."""


_DESCRIPTIONS: Final = {
    "idle": "Check that the project can be verified, then make a snapshot of it.",
    "planning": "The planner makes a plan of the change.",
    "awaiting_plan_gate": "Gate 1: objective, steps, files and rollback strategy of the plan.",
    "auditing": "The auditor reports issues of the plan.",
    "awaiting_audit_gate": "Gate 2: the audit; then the plan is shown to be changed and confirmed.",
    "executing": "The executor writes the edits, in memory.",
    "awaiting_execution_gate": "Gate 3: files and syntax; then the edits are reviewed and written.",
    "documenting": "The documenter writes changelog, checklist and documents, in memory.",
    "awaiting_documentation_gate": "Gate 4: the documents; then they are reviewed and written.",
    "verifying": "Gate 5: type check, lint, tests, build and documentation of the project.",
    "self_correcting": "The corrector fixes failures of the verification, three times at most.",
    "complete": "All five gates have passed.",
    "failed": "What the task wrote is rolled back.",
}


class _LazyMachine:
    """Machine definition built on first use, because listing workflow names does not need it."""

    name = TASK

    @property
    def states(self) -> Mapping[str, State]:
        return self._made.states

    @property
    def transitions(self) -> tuple[Transition, ...]:
        return self._made.transitions

    @property
    def outgoing(self) -> Mapping[str, tuple[Transition, ...]]:
        return self._made.outgoing

    @cached_property
    def _made(self) -> MachineDefinition:
        return _machine()


def task_definition() -> MachineWorkflow:
    """Return the task as a machine workflow; `TaskDriver` runs it."""
    return MachineWorkflow(
        TASK,
        cast("MachineDefinition", _LazyMachine()),
        description="Plan, audit, make, document and verify a change, or leave everything as it was",
        needs=("prompt",),
        takes=("confirm", "checklist"),
    )


def _machine() -> MachineDefinition:
    # late, because the language is slow to load
    from tideate_core.machines import TASK_TABLE, WorkflowEvent, WorkflowState
    from tideate_core.machines.language import BOUNDARY, MachineDefinition, State, Transition

    states = {str(state): State(state.value, _DESCRIPTIONS[state]) for state in WorkflowState}
    ways = [Transition(BOUNDARY, WorkflowState.IDLE.value, guidance=_DESCRIPTIONS[WorkflowState.IDLE])]
    named = {WorkflowState.IDLE.value}
    for source, row in TASK_TABLE.items():
        for event, target in row.items():
            if event is WorkflowEvent.RESET:
                ways.append(Transition(source.value, BOUNDARY))
                continue
            assert isinstance(target, WorkflowState)  # noqa: S101 the task's table has no guards
            # a state's guidance belongs to the first transition into it
            guidance = "" if target in named else _DESCRIPTIONS[target]
            named.add(target.value)
            ways.append(Transition(source.value, target.value, event.value, guidance))
    return MachineDefinition(TASK, states, tuple(ways))


class TaskHooks(DriverHooks):
    """Driver hooks of `task`: driver, restart and summary."""

    name = TASK
    is_reversible = True
    carries_out_tasks = True

    def driver(self, run: Run) -> Driver:
        # late, because few runs are tasks
        from tideate_core.builtin.task.driver import TaskDriver
        from tideate_core.builtin.task.environment import TaskEnvironment
        from tideate_core.engine import states_to_confirm

        definition, request = run.definition, run.request
        assert isinstance(definition, MachineWorkflow)  # noqa: S101 the workflow `task` is a machine
        if definition.obfuscator is not None:
            raise InvalidInput("the states of a task are public; run it without --obfuscate")
        configured = run.runner.config.workflows.get(definition.name)
        wanted = (configured.confirm if configured else None) or ()
        confirm = states_to_confirm(definition, wanted, {**request.options, **request.inputs})
        return TaskDriver(definition, TaskEnvironment(run), confirm=confirm, prompt=request.prompt)

    def restart(self, steps: Sequence[str]) -> Sequence[str]:
        """Return the first step that wrote files, and all steps after it.

        Their writes belong to the old run, which may have rolled them back; the new run writes its own.
        """
        for number, step in enumerate(steps):
            if step.partition("#")[0] == WRITING:
                return steps[number:]
        return ()

    def summary(self, results: Mapping[str, Any]) -> DriverSummary:
        corrected = sum(
            isinstance(value, dict) and value.get("event") == "correction_succeeded"
            for step, value in results.items()
            if step.partition("#")[0] == CORRECTING
        )
        from tideate_core.gates import TaskResult

        first = results.get(FIRST)
        made = [one["result"] for one in map(results.get, (EXECUTING, WRITING)) if one and "result" in one]
        result = TaskResult.model_validate(made[-1]) if made else None
        return DriverSummary(corrected, first["snapshot"] if first else None, result=result)
