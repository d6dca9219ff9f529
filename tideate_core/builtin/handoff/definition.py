"""Definition and driver hooks of the handoff workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tideate_core.builtin.handoff import HANDOFF
from tideate_core.engine import DriverHooks, DriverSummary, PlanCounts
from tideate_core.errors import UnusableFile
from tideate_core.workflows import WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.project import Documents
    from tideate_core.store import Ending

_ORDER: Final = ("plan", "status", "edit", "commit", "manifest", "tests", "report")
_TOOLS: Final[Mapping[str, dict[str, Any]]] = {
    "status": {"server": "git", "name": "git_status"},
    "commit": {
        "server": "git",
        "name": "git_commit",
        "arguments": {
            "agent": "coder",
            "scope": "handoff",
            "description": "{{ steps.plan.result.subject }}",
            "files": "{{ steps.edit.result.files }}",
            "branch": "{{ steps.plan.result.branch }}",
        },
    },
    "tests": {
        "server": "test",
        "name": "test_run",
        "arguments": {"files": "{{ steps.manifest.result.tests }}", "or_all": True},
    },
}


def handoff_definition() -> WorkflowDefinition:
    """Return the workflow: from a plan file to a commit and its test results."""
    steps = [
        {"id": name, "dependencies": _ORDER[at - 1 : at] if at else (), "tool": _TOOLS.get(name)}
        for at, name in enumerate(_ORDER)
    ]
    return WorkflowDefinition.model_validate(
        {
            "name": HANDOFF,
            "description": "Carry out a plan from a file, commit it on a branch of its own, test it",
            "inputs": {"plan": {"default": "", "description": "The plan's file, by default the planner's."}},
            "steps": steps,
        }
    )


class HandoffHooks(DriverHooks):
    """Driver hooks of `handoff`; `conclude` writes the final state file."""

    name = HANDOFF
    takes_prompt = False

    def summary(self, results: Mapping[str, Any]) -> DriverSummary:
        planned = results.get("plan")
        return DriverSummary(plan_id=planned["plan"]["planId"] if planned else None)

    def conclude(
        self,
        run_id: str,
        results: Mapping[str, Any],
        ending: Ending,
        documents: Documents,
        checkpoints: Sequence[str],
    ) -> PlanCounts | None:
        # late, because few runs are handoffs
        from tideate_core.builtin.handoff.file_formats import FILES, LARGEST, write_json
        from tideate_core.builtin.handoff.progress import last_state

        name = FILES["state"].path
        why = "" if ending.status == "completed" else ending.error or f"it was {ending.reason or 'cancelled'}"
        try:
            before = documents.read(name, LARGEST)
        except (OSError, UnusableFile):
            before = b""
        state = last_state(
            run_id,
            results,
            why,
            before=before,
            checkpoints=checkpoints,
            duration=ending.duration_ms,
        )
        if state is None:
            return None
        write_json(documents, name, state)
        counts, agents = state.metadata, dict.fromkeys(step.agent for step in state.steps)
        return PlanCounts(tuple(agents), counts.total_steps, counts.completed_steps, counts.failed_steps)
