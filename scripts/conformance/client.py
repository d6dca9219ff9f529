"""Our client as a program, for the suite: ``python -m scripts.conformance.client URL``.

It connects, lists the tools and calls each with something for every argument that is needed, or makes the
calls that the suite names. Two scenarios say in their description only what they want called.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tideate_core.mcp.client import MCPClient, ToolPermissions, server_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tideate_core.mcp.client import Tool

ONLY_LISTED: Final = "json-schema-ref-no-deref"
ECHO: Final = "json_schema_echo"
"""Tool that receives the unchanged schema of the other tool."""
SOMETHING: dict[str, Any] = {
    "string": "a",
    "number": 5,
    "integer": 5,
    "boolean": True,
    "array": [],
    "object": {},
}


def calls(tools: Sequence[Tool]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tools to call with their arguments."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    schemas = {tool.name: tool.input_schema for tool in tools}
    if os.environ.get("MCP_CONFORMANCE_SCENARIO") == ONLY_LISTED:
        return
    if ECHO in schemas:
        yield ECHO, {"schema": next(schema for name, schema in schemas.items() if name != ECHO)}
    elif "toolCalls" in context:
        for one in context["toolCalls"]:
            given = {name: value for name, value in one["arguments"].items() if value is not None}
            yield one["name"], given
    else:
        for name, schema in schemas.items():
            shapes = schema.get("properties", {})
            needed = schema.get("required", [])
            yield name, {one: SOMETHING[shapes[one].get("type", "string")] for one in needed}


async def talk(url: str, directory: Path) -> None:
    """Use the server."""
    spec = server_at(url, directory)
    client = MCPClient([spec], permissions=ToolPermissions(directory))
    try:
        for tool, arguments in calls(await client.tools(spec.name)):
            await client.call(spec.name, tool, arguments)
    finally:
        await client.aclose()


def main() -> int:
    """Call the tools of the server at the address in the last argument."""
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(talk(sys.argv[-1], Path(directory)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
