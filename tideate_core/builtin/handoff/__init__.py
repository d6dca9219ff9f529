"""The handoff between agents: files under `.tideate/` that one writes and the next reads."""

from typing import Final

__all__ = ["HANDOFF"]

HANDOFF: Final = "handoff"
"""The workflow's name."""
