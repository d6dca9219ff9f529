"""Workflow `review_changes`: changes that something else wrote, or a patch, reviewed hunk by hunk."""

from __future__ import annotations

from typing import Final

from tideate_core.engine import DriverHooks

__all__ = ["REVIEW", "ReviewHooks"]

REVIEW: Final = "review_changes"


class ReviewHooks(DriverHooks):
    """Hooks of the workflow `review_changes`."""

    name = REVIEW
    asks_model = False
    takes_prompt = False
