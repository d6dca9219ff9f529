"""Workflow `handoff`: agents exchange plans, edits and test results as files under `.tideate/`."""

from typing import Final

__all__ = ["HANDOFF"]

HANDOFF: Final = "handoff"
"""The workflow's name."""
