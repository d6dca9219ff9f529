"""Calls of tools in a run: with a person's permission, told as events, and never twice unasked."""

from tideate_core.engine.tools.calls import ToolCalls

__all__ = ["ToolCalls"]
