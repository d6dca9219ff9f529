"""What a task is about, as every role is told it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["TaskBrief"]


@dataclass(frozen=True, slots=True)
class TaskBrief:
    """A change request, in the person's words."""

    description: str
    material: str = ""
    """What its @mentions brought, ready for a prompt."""
