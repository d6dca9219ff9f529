"""The gated task: a plan, its audit, the edits, their documentation and verification, all or nothing."""

from typing import Final

__all__ = ["TASK"]

TASK: Final = "task"
"""The workflow's name."""
