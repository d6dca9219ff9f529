"""Workflow `review_changes`: hunk-by-hunk review of another program's changes, or of a patch."""

from __future__ import annotations

from typing import Final

from tideate_core.engine import DriverHooks

__all__ = ["REVIEW", "ReviewHooks"]

REVIEW: Final = "review_changes"


class ReviewHooks(DriverHooks):
    """Driver hooks of `review_changes` and `land`: no model, no prompt."""

    asks_model = False
    takes_prompt = False

    def __init__(self, name: str) -> None:
        self.name = name
