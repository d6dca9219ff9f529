"""Gates of a task: stage results, rules, verification, self-correction, and syntax of edits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.gates.correction import (
        Correction as Correction,
        CorrectionEnd as CorrectionEnd,
        SelfCorrectionLoop as SelfCorrectionLoop,
    )
    from tideate_core.gates.documents import (
        SECTIONS as SECTIONS,
        DocumentValidator as DocumentValidator,
        has_entry as has_entry,
        is_unreleased as is_unreleased,
    )
    from tideate_core.gates.enforcer import GateEnforcer as GateEnforcer
    from tideate_core.gates.results import (
        CheckResult as CheckResult,
        CheckStatus as CheckStatus,
        GateIssue as GateIssue,
        GateResult as GateResult,
        GateStats as GateStats,
        VerificationReport as VerificationReport,
        Verifier as Verifier,
    )
    from tideate_core.gates.stage_issues import (
        CHANGELOGS as CHANGELOGS,
        fix_problem as fix_problem,
        plan_issues as plan_issues,
    )
    from tideate_core.gates.stage_results import (
        Approval as Approval,
        AuditIssue as AuditIssue,
        AuditReport as AuditReport,
        DocumentationResult as DocumentationResult,
        ExecutionPlan as ExecutionPlan,
        PlanFix as PlanFix,
        PlanStep as PlanStep,
        Severity as Severity,
        TaskResult as TaskResult,
    )
    from tideate_core.gates.syntax import (
        SyntaxProblem as SyntaxProblem,
        is_checked as is_checked,
        new_errors as new_errors,
    )
    from tideate_core.gates.verification import (
        Readiness as Readiness,
        VerificationPipeline as VerificationPipeline,
        readiness as readiness,
    )
    from tideate_core.gates.views import StagedView as StagedView
else:
    __getattr__, __dir__, __all__ = exports(__name__)
