"""Roles: instructions, a form of answer, and what is done until the answer has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.lazy import exports

if TYPE_CHECKING:
    from tideate_core.agents.coder import (
        Ask,
        EditFormat,
        Written,
        edit_format,
        edit_range,
        insert_text,
        write_text,
    )
    from tideate_core.agents.planner import Plan, PlannedFile, make_plan, parse_plan

__all__ = [
    "Ask",
    "EditFormat",
    "Plan",
    "PlannedFile",
    "Written",
    "edit_format",
    "edit_range",
    "insert_text",
    "make_plan",
    "parse_plan",
    "write_text",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "coder": (
                "Ask",
                "EditFormat",
                "Written",
                "edit_format",
                "edit_range",
                "insert_text",
                "write_text",
            ),
            "planner": ("Plan", "PlannedFile", "make_plan", "parse_plan"),
        },
    )
