"""What a task, or an edit, must pass before it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.gates.changelog import SECTIONS, has_entry, is_unreleased
    from tideate_core.gates.correction import (
        Corrected,
        Correction,
        CorrectionAttempt,
        CorrectionEnd,
        SelfCorrectionLoop,
        digest_of_edit,
        end_of_edit,
        end_of_report,
    )
    from tideate_core.gates.documents import DocumentIssue, DocumentValidator, ValidationResult
    from tideate_core.gates.enforcer import GateEnforcer
    from tideate_core.gates.inputs import (
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
    from tideate_core.gates.readiness_check import Readiness, readiness
    from tideate_core.gates.report import CheckResult, CheckStatus, VerificationReport, Verifier
    from tideate_core.gates.results import GateIssue, GateResult, GateStats
    from tideate_core.gates.stages import CHANGELOGS, fix_problem, plan_issues
    from tideate_core.gates.syntax import SyntaxProblem, new_errors
    from tideate_core.gates.verification import VerificationPipeline
    from tideate_core.gates.views import DiskView, FilesView, StagedView

__all__ = [
    "Approval",
    "AuditIssue",
    "AuditReport",
    "CHANGELOGS",
    "CheckResult",
    "CheckStatus",
    "Corrected",
    "Correction",
    "CorrectionAttempt",
    "CorrectionEnd",
    "DiskView",
    "DocumentIssue",
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
    "SECTIONS",
    "SelfCorrectionLoop",
    "Severity",
    "StagedView",
    "SyntaxProblem",
    "TaskResult",
    "ValidationResult",
    "VerificationPipeline",
    "VerificationReport",
    "Verifier",
    "digest_of_edit",
    "end_of_edit",
    "end_of_report",
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
            "changelog": (
                "SECTIONS",
                "has_entry",
                "is_unreleased",
            ),
            "correction": (
                "Corrected",
                "Correction",
                "CorrectionAttempt",
                "CorrectionEnd",
                "SelfCorrectionLoop",
                "digest_of_edit",
                "end_of_edit",
                "end_of_report",
            ),
            "documents": (
                "DocumentIssue",
                "DocumentValidator",
                "ValidationResult",
            ),
            "enforcer": ("GateEnforcer",),
            "inputs": (
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
            "readiness_check": (
                "Readiness",
                "readiness",
            ),
            "report": (
                "CheckResult",
                "CheckStatus",
                "VerificationReport",
                "Verifier",
            ),
            "results": (
                "GateIssue",
                "GateResult",
                "GateStats",
            ),
            "stages": (
                "CHANGELOGS",
                "fix_problem",
                "plan_issues",
            ),
            "syntax": (
                "SyntaxProblem",
                "new_errors",
            ),
            "verification": ("VerificationPipeline",),
            "views": (
                "DiskView",
                "FilesView",
                "StagedView",
            ),
        },
    )
