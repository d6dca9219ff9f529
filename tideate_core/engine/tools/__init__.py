"""Tool calls of a run: permitted by a person, reported as events, never repeated unasked."""

from tideate_core.engine.tools.calls import ToolCalls

__all__ = ["ToolCalls"]
