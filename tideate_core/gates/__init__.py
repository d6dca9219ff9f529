"""What a task, or an edit, must pass before it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.lazy import exports

if TYPE_CHECKING:
    from tideate_core.gates.correction import (
        Corrected,
        Correction,
        CorrectionAttempt,
        CorrectionEnd,
        SelfCorrectionLoop,
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
    from tideate_core.gates.report import CheckResult, CheckStatus, VerificationReport
    from tideate_core.gates.results import GateIssue, GateResult, GateStats
    from tideate_core.gates.syntax import SyntaxProblem, new_errors
    from tideate_core.gates.verification import VerificationPipeline
    from tideate_core.gates.views import DiskView, FilesView, StagedView

__all__ = [
    "Approval",
    "AuditIssue",
    "AuditReport",
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
    "SelfCorrectionLoop",
    "Severity",
    "StagedView",
    "SyntaxProblem",
    "TaskResult",
    "ValidationResult",
    "VerificationPipeline",
    "VerificationReport",
    "new_errors",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "correction": (
                "Corrected",
                "Correction",
                "CorrectionAttempt",
                "CorrectionEnd",
                "SelfCorrectionLoop",
            ),
            "documents": ("DocumentIssue", "DocumentValidator", "ValidationResult"),
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
            "report": ("CheckResult", "CheckStatus", "VerificationReport"),
            "results": ("GateIssue", "GateResult", "GateStats"),
            "syntax": ("SyntaxProblem", "new_errors"),
            "verification": ("VerificationPipeline",),
            "views": ("DiskView", "FilesView", "StagedView"),
        },
    )
