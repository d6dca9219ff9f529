"""The gates of a task: what decides, and how that is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tideate_core.builtin.task.bench import root_of
from tideate_core.engine import EventName
from tideate_core.gates import DocumentValidator, GateEnforcer, VerificationPipeline
from tideate_core.toolchain import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.builtin.task.bench import Bench
    from tideate_core.gates import GateIssue, GateResult, Verifier
    from tideate_core.workflows import StepContext

__all__ = ["GATES", "enforcer", "tell_gate", "words_of"]

GATES: Final = {1: "plan", 2: "audit", 3: "execution", 4: "documentation", 5: "verification"}
MOST_ISSUES: Final = 100
"""Of one gate that are told and kept."""


def enforcer(step: StepContext, bench: Bench, verifier: Verifier | None = None) -> GateEnforcer:
    """Return what decides.

    :param verifier: gate 5's, where it is told what that finds while it runs.
    """
    workspace = step.workspace
    pipeline = verifier or VerificationPipeline(root_of(workspace), bench.config.verify)
    return GateEnforcer(
        DocumentValidator(),
        pipeline,
        ledger=bench.ledger,
        resolve=workspace.resolve,
        max_replans=bench.config.limits.max_replans,
    )


def tell_gate(step: StepContext, bench: Bench, result: GateResult) -> list[str]:
    """Tell what a gate decided; returns its issues in words."""
    issues = words_of(result.issues)
    told: dict[str, Any] = {
        "gate": GATES[result.gate],
        "issues": issues,
        "number": result.gate,
        "duration_ms": result.duration_ms,
        "auto_fixed": result.auto_fixed,
        "entries": [_entry(issue) for issue in result.issues[:MOST_ISSUES] if issue.file],
    }
    bench.tell(step, EventName.GATE_PASSED if result.passed else EventName.GATE_FAILED, told)
    return issues


def words_of(issues: Sequence[GateIssue]) -> list[str]:
    """Return issues in words, so many that they can be read."""
    words = [str(issue) for issue in issues[:MOST_ISSUES]]
    more = len(issues) - MOST_ISSUES
    return [*words, f"and {more} more"] if more > 0 else words


def _entry(issue: GateIssue) -> dict[str, Any]:
    """Return an issue as an entry of the quickfix list."""
    return Failure(issue.file, issue.line, None, issue.what, tool="gate").as_json()
