"""What a server answers, as callers see it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types

from tideate_core.errors import InvalidAnswer, ToolFailed
from tideate_core.mcp.client.tools import Tool, ToolResult
from tideate_core.mcp.client.translation import short

if TYPE_CHECKING:
    from tideate_core.mcp.client.specs import ServerSpec

__all__ = ["result_of", "tool_of"]

LARGEST: Final = 4 * 1024 * 1024
"""Characters of a result's JSON."""


def tool_of(spec: ServerSpec, tool: types.Tool) -> Tool:
    """Return a tool as a server listed it."""
    hints = tool.annotations or types.ToolAnnotations()
    return Tool(
        spec.name,
        tool.name,
        tool.description or "",
        tool.title or hints.title or "",
        tool.input_schema,
        tool.output_schema,
        read_only=bool(hints.read_only_hint),
        destructive=hints.destructive_hint is not False,
        idempotent=bool(hints.idempotent_hint),
        open_world=hints.open_world_hint is not False,
        own=spec.own,
        identity=spec.identity,
    )


def result_of(tool: Tool, answer: types.CallToolResult) -> ToolResult:
    """Return what a call gave.

    :raises ToolFailed: the tool reported an error.
    :raises InvalidAnswer: it is too large.
    """
    parts = [part.model_dump(mode="json", by_alias=True, exclude_none=True) for part in answer.content]
    text = "\n".join(part["text"] for part in parts if part["type"] == "text")
    if answer.is_error:
        raise ToolFailed(f"{tool.name!r} of the MCP server {tool.server!r}: {short(text) or 'failed'}")
    value: Any = answer.structured_content
    if value is None:
        value = text if all(part["type"] == "text" for part in parts) else parts
    size = len(json.dumps(value, ensure_ascii=False))
    if size > LARGEST:
        raise InvalidAnswer(
            f"{tool.name!r} of the MCP server {tool.server!r} gave {size // 1024} KiB, and at most "
            f"{LARGEST // 1024} KiB are taken; ask it for less"
        )
    return ToolResult(value, text)
