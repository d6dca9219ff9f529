"""Tool step: a call of a tool of an MCP server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideate_core.engine.steps.rendering import render_value
from tideate_core.engine.tools.calls import ToolCalls
from tideate_core.errors import ConfigError

if TYPE_CHECKING:
    from tideate_core.engine.step_services import Services
    from tideate_core.workflows import StepContext, StepHandler, ToolCall

__all__ = ["call_tool"]


def call_tool(tool: ToolCall, services: Services) -> StepHandler:
    """Return what calls the tool with its arguments filled in, and returns what it gives."""

    async def call(step: StepContext) -> Any:
        if services.tools is None:
            raise ConfigError(
                f"step {step.step!r} wants the tool {tool.name!r} of the MCP server {tool.server!r}, and "
                "there are no MCP servers here; let a handler do it, or take the step out"
            )
        arguments = render_value(tool.arguments, step.values())
        return await ToolCalls(services.tools, services, step).call(tool.server, tool.name, arguments)

    return call
