"""Roles: instructions, a form of answer, and what is done until the answer has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.lazy import exports

if TYPE_CHECKING:
    from tideate_core.agents.attempts import Ask
    from tideate_core.agents.auditing import apply_fixes, audit_plan
    from tideate_core.agents.brief import TaskBrief
    from tideate_core.agents.coder import (
        EditFormat,
        Written,
        edit_format,
        edit_range,
        insert_text,
        write_text,
    )
    from tideate_core.agents.correcting import Corrected, correct_task
    from tideate_core.agents.documenting import Documented, document_task
    from tideate_core.agents.executing import Executed, execute_plan
    from tideate_core.agents.plan_document import parse_plan_document, plan_as_markdown
    from tideate_core.agents.planner import Plan, PlannedFile, make_plan, parse_plan
    from tideate_core.agents.planning import plan_task
    from tideate_core.agents.roles import Role, Roles

__all__ = [
    "Ask",
    "Corrected",
    "Documented",
    "EditFormat",
    "Executed",
    "Plan",
    "PlannedFile",
    "Role",
    "Roles",
    "TaskBrief",
    "Written",
    "apply_fixes",
    "audit_plan",
    "correct_task",
    "document_task",
    "edit_format",
    "edit_range",
    "execute_plan",
    "insert_text",
    "make_plan",
    "parse_plan",
    "parse_plan_document",
    "plan_as_markdown",
    "plan_task",
    "write_text",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "attempts": ("Ask",),
            "auditing": ("apply_fixes", "audit_plan"),
            "brief": ("TaskBrief",),
            "coder": ("EditFormat", "Written", "edit_format", "edit_range", "insert_text", "write_text"),
            "correcting": ("Corrected", "correct_task"),
            "documenting": ("Documented", "document_task"),
            "executing": ("Executed", "execute_plan"),
            "plan_document": ("parse_plan_document", "plan_as_markdown"),
            "planner": ("Plan", "PlannedFile", "make_plan", "parse_plan"),
            "planning": ("plan_task",),
            "roles": ("Role", "Roles"),
        },
    )
