"""Roles: instructions, a form of answer, and what is done until the answer has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.agents.attempts import Ask
    from tideate_core.agents.auditing import apply_fixes, audit_plan
    from tideate_core.agents.brief import TaskBrief
    from tideate_core.agents.capacity import CHARACTERS_PER_TOKEN, clip, is_small, listed_files, text_budget
    from tideate_core.agents.coder import (
        EditFormat,
        Written,
        edit_format,
        edit_range,
        insert_text,
        write_text,
    )
    from tideate_core.agents.consent import why_hidden
    from tideate_core.agents.correcting import Corrected, correct_task
    from tideate_core.agents.documenting import Documented, document_task
    from tideate_core.agents.executing import Executed, execute_plan, result_of
    from tideate_core.agents.plan_document import parse_plan_document, plan_as_markdown
    from tideate_core.agents.planner import Plan, PlannedFile, make_plan, parse_plan
    from tideate_core.agents.planning import plan_task
    from tideate_core.agents.role_file import LARGEST_ROLE, read_role
    from tideate_core.agents.roles import BUILTIN_ROLES, Role, Roles
    from tideate_core.agents.shown import named_files

__all__ = [
    "Ask",
    "BUILTIN_ROLES",
    "CHARACTERS_PER_TOKEN",
    "Corrected",
    "Documented",
    "EditFormat",
    "Executed",
    "LARGEST_ROLE",
    "Plan",
    "PlannedFile",
    "Role",
    "Roles",
    "TaskBrief",
    "Written",
    "apply_fixes",
    "audit_plan",
    "clip",
    "correct_task",
    "document_task",
    "edit_format",
    "edit_range",
    "execute_plan",
    "insert_text",
    "is_small",
    "listed_files",
    "make_plan",
    "named_files",
    "parse_plan",
    "parse_plan_document",
    "plan_as_markdown",
    "plan_task",
    "read_role",
    "result_of",
    "text_budget",
    "why_hidden",
    "write_text",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "attempts": ("Ask",),
            "auditing": (
                "apply_fixes",
                "audit_plan",
            ),
            "brief": ("TaskBrief",),
            "capacity": (
                "CHARACTERS_PER_TOKEN",
                "clip",
                "is_small",
                "listed_files",
                "text_budget",
            ),
            "coder": (
                "EditFormat",
                "Written",
                "edit_format",
                "edit_range",
                "insert_text",
                "write_text",
            ),
            "consent": ("why_hidden",),
            "correcting": (
                "Corrected",
                "correct_task",
            ),
            "documenting": (
                "Documented",
                "document_task",
            ),
            "executing": (
                "Executed",
                "execute_plan",
                "result_of",
            ),
            "plan_document": (
                "parse_plan_document",
                "plan_as_markdown",
            ),
            "planner": (
                "Plan",
                "PlannedFile",
                "make_plan",
                "parse_plan",
            ),
            "planning": ("plan_task",),
            "role_file": (
                "LARGEST_ROLE",
                "read_role",
            ),
            "roles": (
                "BUILTIN_ROLES",
                "Role",
                "Roles",
            ),
            "shown": ("named_files",),
        },
    )
