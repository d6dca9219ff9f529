"""An MCP server that counts: `counting_server.py FILE` adds a line for each call of a tool."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

server: MCPServer[Any] = MCPServer("counting", log_level="WARNING")


def note(name: str) -> str:
    with Path(sys.argv[1]).open("a", encoding="utf-8") as file:
        file.write(name + "\n")
    return f"{name} is done"


@server.tool(annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True), structured_output=False)
def look() -> str:
    """Look at something."""
    return note("look")


@server.tool(structured_output=False)
def charge() -> str:
    """Charge a customer."""
    return note("charge")


if __name__ == "__main__":
    server.run()
