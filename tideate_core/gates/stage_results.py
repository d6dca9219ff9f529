"""Results of a task's stages: filled in by the roles, judged by the gates.

The fields are lenient where a gate is strict: a gate reports all that is missing at once, a schema would stop
at the first error.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class _Result(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlanStep(_Result):
    """One step of a plan."""

    type: str = ""
    """`edit`, `create`, `test`, …"""
    description: str = ""
    files: list[str] = Field(default_factory=list)


class ExecutionPlan(_Result):
    """The planner's plan; input of gate 1."""

    objective: str = ""
    steps: list[PlanStep] = Field(default_factory=list)
    files: list[str] = Field(default_factory=list)
    """All files to be written, relative to the root."""
    rollback_strategy: str = ""


class Severity(StrEnum):
    """Severity of an audit issue."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


class AuditIssue(_Result):
    """An auditor's objection to a plan."""

    severity: Severity = Severity.ERROR
    description: str
    step: int | None = Field(default=None, ge=1)
    """Number of the plan's step, from 1; None: the plan as a whole."""
    fix: str = ""
    """A remedy."""


class Approval(StrEnum):
    """The auditor's verdict on a plan."""

    APPROVED = "approved"
    CONDITIONAL = "conditional"
    REJECTED = "rejected"


class PlanFix(_Result):
    """A corrected or additional step of a plan."""

    step: int | None = None
    """Number of the step that it replaces, from 1; None: a new step at the end."""
    type: str = ""
    """Empty: unchanged."""
    description: str = ""
    files: list[str] = Field(default_factory=list)
    """Empty: unchanged."""


class AuditReport(_Result):
    """The auditor's judgement; input of gate 2."""

    approval: Approval
    issues: list[AuditIssue] = Field(default_factory=list)
    auto_fixable: bool = False
    """The plan is approved once `fixes` are applied, without a person or a new plan."""
    fixes: list[PlanFix] = Field(default_factory=list)


class TaskResult(_Result):
    """Files of an execution, relative to the root; input of gate 3."""

    files_created: list[str] = Field(default_factory=list)
    files_modified: list[str] = Field(default_factory=list)
    files_deleted: list[str] = Field(default_factory=list)
    errors: list[str] = Field(default_factory=list)


class DocumentationResult(_Result):
    """Documents of a task, relative to the root; input of gate 4."""

    success: bool
    changelog: str | None = None
    """Path of the changelog; None: the project has none."""
    entry: str = ""
    """The task's changelog entry, or a part of it; empty: any new entry."""
    version: str | None = None
    """Version of the entry; None: Unreleased."""
    checklist: str | None = None
    """Path of the checklist; None: the task has none."""
    items: list[str] = Field(default_factory=list)
    """Checklist items that this task completes."""
    docs: list[str] = Field(default_factory=list)
    """Other documents that were written."""
    errors: list[str] = Field(default_factory=list)
