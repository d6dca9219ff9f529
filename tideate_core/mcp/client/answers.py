"""What a server answers, as callers see it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types

from tideate_core.errors import InvalidAnswer, ToolFailed
from tideate_core.mcp.client.tools import Tool, ToolResult, check_result
from tideate_core.mcp.client.words import quoted, short, short_line

if TYPE_CHECKING:
    from tideate_core.mcp.client.specs import ServerSpec

__all__ = ["result_of", "tool_of"]

LARGEST: Final = 4 * 1024 * 1024
"""Bytes of a result's JSON."""
LARGEST_SCHEMAS: Final = 256 * 1024
"""Characters of a tool's schemas."""
LONGEST_DESCRIPTION: Final = 10_000
LONGEST_TITLE: Final = 200


def tool_of(spec: ServerSpec, tool: types.Tool) -> Tool:
    """Return a tool as a server listed it; what a person would not see of its words is named in them.

    :raises InvalidAnswer: its schemas cannot be used.
    """
    hints = tool.annotations or types.ToolAnnotations()
    _check_size(spec, tool)
    return Tool(
        spec.name,
        tool.name,
        short(tool.description or "", LONGEST_DESCRIPTION),
        short_line(tool.title or hints.title or "", LONGEST_TITLE),
        tool.input_schema,
        tool.output_schema,
        read_only=bool(hints.read_only_hint),
        destructive=hints.destructive_hint is not False,
        idempotent=bool(hints.idempotent_hint),
        open_world=hints.open_world_hint is not False,
        own=spec.own,
        identity=spec.identity,
    )


def _check_size(spec: ServerSpec, tool: types.Tool) -> None:
    """:raises InvalidAnswer: a schema is too large, or has numbers that are none."""
    try:
        size = sum(
            len(json.dumps(schema, allow_nan=False)) for schema in (tool.input_schema, tool.output_schema)
        )
    except (ValueError, RecursionError) as error:
        raise InvalidAnswer(
            f"MCP server {spec.name!r}: a schema of {tool.name!r} is no JSON ({short_line(str(error), 100)})"
        ) from error
    if size > LARGEST_SCHEMAS:
        raise InvalidAnswer(
            f"MCP server {spec.name!r}: the schemas of {tool.name!r} have {size // 1024} KiB, and at most "
            f"{LARGEST_SCHEMAS // 1024} KiB are taken"
        )


def result_of(tool: Tool, answer: types.CallToolResult) -> ToolResult:
    """Return what a call gave.

    :raises ToolFailed: the tool reported an error.
    :raises InvalidAnswer: it is too large, no JSON, or not what the tool says of itself.
    """
    parts = [part.model_dump(mode="json", by_alias=True, exclude_none=True) for part in answer.content]
    text = "\n".join(part["text"] for part in parts if part["type"] == "text")
    if answer.is_error:
        raise ToolFailed(f"{tool.name!r} of the MCP server {tool.server!r}: {quoted(text) or 'failed'}")
    value: Any = answer.structured_content
    if value is None:
        value = text if all(part["type"] == "text" for part in parts) else parts
    size = _size_of(tool, value)
    if size > LARGEST:
        raise InvalidAnswer(
            f"{tool.name!r} of the MCP server {tool.server!r} gave {size // 1024} KiB, and at most "
            f"{LARGEST // 1024} KiB are taken; ask it for less"
        )
    if tool.output_schema is not None and answer.structured_content is None:
        raise InvalidAnswer(
            f"{tool.name!r} of the MCP server {tool.server!r} gave no structured content, "
            "and says that it does"
        )
    check_result(tool, value)
    return ToolResult(value, text)


def _size_of(tool: Tool, value: Any) -> int:
    """:raises InvalidAnswer: it cannot be written as JSON."""
    try:
        return len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    except (ValueError, RecursionError) as error:
        raise InvalidAnswer(
            f"{tool.name!r} of the MCP server {tool.server!r} gave what is no JSON "
            f"({short_line(str(error), 100)})"
        ) from error
