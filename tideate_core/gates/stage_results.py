"""Results of a task's stages, as the roles fill them in and the gates take them.

The fields are lenient where a gate is strict: a gate tells everything that is missing at once, a schema
would stop at the first.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Approval",
    "AuditIssue",
    "AuditReport",
    "DocumentationResult",
    "ExecutionPlan",
    "PlanFix",
    "PlanStep",
    "Severity",
    "TaskResult",
]


class _Result(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlanStep(_Result):
    """One thing that is going to be done."""

    type: str = ""
    """`edit`, `create`, `test`, …"""
    description: str = ""
    files: list[str] = Field(default_factory=list)


class ExecutionPlan(_Result):
    """The planner's plan. Gate 1 looks at it."""

    objective: str = ""
    steps: list[PlanStep] = Field(default_factory=list)
    files: list[str] = Field(default_factory=list)
    """All files that are going to be written, relative to the root."""
    rollback_strategy: str = ""


class Severity(StrEnum):
    """Severity of an issue of an audit."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


class AuditIssue(_Result):
    """Something that the auditor has against a plan."""

    severity: Severity = Severity.ERROR
    description: str
    step: int | None = Field(default=None, ge=1)
    """Of the plan, 1-based; None: the plan as a whole."""
    fix: str = ""
    """A remedy."""


class Approval(StrEnum):
    """The auditor's verdict on a plan."""

    APPROVED = "approved"
    CONDITIONAL = "conditional"
    REJECTED = "rejected"


class PlanFix(_Result):
    """A step as it should be."""

    step: int | None = None
    """Of the plan, 1-based, which it replaces; None: it is missing, and comes after the others."""
    type: str = ""
    """Empty: as it was."""
    description: str = ""
    files: list[str] = Field(default_factory=list)
    """Empty: as they were."""


class AuditReport(_Result):
    """The auditor's judgement. Gate 2 looks at it."""

    approval: Approval
    issues: list[AuditIssue] = Field(default_factory=list)
    auto_fixable: bool = False
    """The plan is approved once `fixes` are made in it, which needs no person and no new plan."""
    fixes: list[PlanFix] = Field(default_factory=list)


class TaskResult(_Result):
    """Files of an execution, relative to the root. Gate 3 looks at it."""

    files_created: list[str] = Field(default_factory=list)
    files_modified: list[str] = Field(default_factory=list)
    files_deleted: list[str] = Field(default_factory=list)
    errors: list[str] = Field(default_factory=list)


class DocumentationResult(_Result):
    """Documents of a task, relative to the root. Gate 4 looks at it."""

    success: bool
    changelog: str | None = None
    """The changelog's path; None: the project keeps none."""
    entry: str = ""
    """This task's entry in it, or a part of it; empty: any new one will do."""
    version: str | None = None
    """The version that the entry stands under; None: under Unreleased."""
    checklist: str | None = None
    """The checklist's path; None: the task has none."""
    items: list[str] = Field(default_factory=list)
    """Of the checklist, those that this task settles."""
    docs: list[str] = Field(default_factory=list)
    """Other documents that were written."""
    errors: list[str] = Field(default_factory=list)
