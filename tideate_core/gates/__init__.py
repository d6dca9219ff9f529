"""The gates of a task: stage results, rules, verification, self-correction, and the syntax of edits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.gates.changelog import SECTIONS, has_entry, is_unreleased
    from tideate_core.gates.correction import Correction, CorrectionEnd, SelfCorrectionLoop
    from tideate_core.gates.documents import DocumentValidator
    from tideate_core.gates.enforcer import GateEnforcer
    from tideate_core.gates.results import (
        CheckResult,
        CheckStatus,
        GateIssue,
        GateResult,
        GateStats,
        VerificationReport,
        Verifier,
    )
    from tideate_core.gates.stage_issues import CHANGELOGS, fix_problem, plan_issues
    from tideate_core.gates.stage_results import (
        Approval,
        AuditIssue,
        AuditReport,
        DocumentationResult,
        ExecutionPlan,
        PlanFix,
        PlanStep,
        Severity,
        TaskResult,
    )
    from tideate_core.gates.syntax import SyntaxProblem, new_errors
    from tideate_core.gates.verification import Readiness, VerificationPipeline, readiness
    from tideate_core.gates.views import FilesView, StagedView

__all__ = [
    "CHANGELOGS",
    "SECTIONS",
    "Approval",
    "AuditIssue",
    "AuditReport",
    "CheckResult",
    "CheckStatus",
    "Correction",
    "CorrectionEnd",
    "DocumentValidator",
    "DocumentationResult",
    "ExecutionPlan",
    "FilesView",
    "GateEnforcer",
    "GateIssue",
    "GateResult",
    "GateStats",
    "PlanFix",
    "PlanStep",
    "Readiness",
    "SelfCorrectionLoop",
    "Severity",
    "StagedView",
    "SyntaxProblem",
    "TaskResult",
    "VerificationPipeline",
    "VerificationReport",
    "Verifier",
    "fix_problem",
    "has_entry",
    "is_unreleased",
    "new_errors",
    "plan_issues",
    "readiness",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "changelog": ("SECTIONS", "has_entry", "is_unreleased"),
            "correction": ("Correction", "CorrectionEnd", "SelfCorrectionLoop"),
            "documents": ("DocumentValidator",),
            "enforcer": ("GateEnforcer",),
            "results": (
                "CheckResult",
                "CheckStatus",
                "GateIssue",
                "GateResult",
                "GateStats",
                "VerificationReport",
                "Verifier",
            ),
            "stage_issues": ("CHANGELOGS", "fix_problem", "plan_issues"),
            "stage_results": (
                "Approval",
                "AuditIssue",
                "AuditReport",
                "DocumentationResult",
                "ExecutionPlan",
                "PlanFix",
                "PlanStep",
                "Severity",
                "TaskResult",
            ),
            "syntax": ("SyntaxProblem", "new_errors"),
            "verification": ("Readiness", "VerificationPipeline", "readiness"),
            "views": ("FilesView", "StagedView"),
        },
    )
