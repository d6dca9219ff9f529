"""Workflow `task`: plan, audit, edits, documentation and verification behind five gates, all or nothing."""

from typing import Final

__all__ = ["TASK"]

TASK: Final = "task"
"""The workflow's name."""
