"""Roles of a task and the work loop: instructions, budgets, attempts at an edit or a typed answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.agents.attempts import Ask
    from tideate_core.agents.auditor import apply_fixes, audit_plan
    from tideate_core.agents.coder import edit_format, edit_range, insert_text, write_text
    from tideate_core.agents.corrector import correct_task
    from tideate_core.agents.documenter import document_task
    from tideate_core.agents.executor import execute_plan, result_of
    from tideate_core.agents.file_plan import Plan, PlannedFile, make_plan, parse_plan
    from tideate_core.agents.model_input import (
        CHARACTERS_PER_TOKEN,
        clip,
        is_small,
        listed_files,
        named_files,
        text_budget,
        why_hidden,
    )
    from tideate_core.agents.plan_document import parse_plan_document, plan_as_markdown
    from tideate_core.agents.planner import plan_task
    from tideate_core.agents.roles import BUILTIN_ROLES, LARGEST_ROLE, Role, Roles, read_role
    from tideate_core.agents.stage import TaskBrief

__all__ = [
    "BUILTIN_ROLES",
    "CHARACTERS_PER_TOKEN",
    "LARGEST_ROLE",
    "Ask",
    "Plan",
    "PlannedFile",
    "Role",
    "Roles",
    "TaskBrief",
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
            "auditor": ("apply_fixes", "audit_plan"),
            "coder": ("edit_format", "edit_range", "insert_text", "write_text"),
            "corrector": ("correct_task",),
            "documenter": ("document_task",),
            "executor": ("execute_plan", "result_of"),
            "file_plan": ("Plan", "PlannedFile", "make_plan", "parse_plan"),
            "model_input": (
                "CHARACTERS_PER_TOKEN",
                "clip",
                "is_small",
                "listed_files",
                "named_files",
                "text_budget",
                "why_hidden",
            ),
            "plan_document": ("parse_plan_document", "plan_as_markdown"),
            "planner": ("plan_task",),
            "roles": ("BUILTIN_ROLES", "LARGEST_ROLE", "Role", "Roles", "read_role"),
            "stage": ("TaskBrief",),
        },
    )
