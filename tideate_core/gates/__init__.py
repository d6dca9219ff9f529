"""What a task, or an edit, must pass before it goes on."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tideate_core.gates.syntax import SyntaxProblem, new_errors
from tideate_core.workspace.languages import language_of

if TYPE_CHECKING:
    from tideate_core.commands.selection import ProjectTrust, select_tools
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
    "ProjectTrust",
    "SelfCorrectionLoop",
    "Severity",
    "StagedView",
    "SyntaxProblem",
    "TaskResult",
    "ValidationResult",
    "VerificationPipeline",
    "VerificationReport",
    "language_of",
    "new_errors",
    "select_tools",
]

_MODULES = {
    ".commands.selection": "ProjectTrust select_tools",
    "correction": "Corrected Correction CorrectionAttempt CorrectionEnd SelfCorrectionLoop",
    "documents": "DocumentIssue DocumentValidator ValidationResult",
    "enforcer": "GateEnforcer",
    "inputs": "Approval AuditIssue AuditReport DocumentationResult ExecutionPlan PlanFix PlanStep"
    " Severity TaskResult",
    "report": "CheckResult CheckStatus VerificationReport",
    "results": "GateIssue GateResult GateStats",
    "verification": "VerificationPipeline",
    "views": "DiskView FilesView StagedView",
}
"""Loaded when one of their names is asked for: every edit has its syntax looked at, few runs are tasks."""


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names.split():
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
