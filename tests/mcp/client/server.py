"""MCP server of the tests, built with the SDK: ``server.py FOLDER``. It logs its actions in the folder."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations

FOLDER = Path(sys.argv[1])

server: MCPServer[Any] = MCPServer("tests", log_level="WARNING")
LOOKS = ToolAnnotations(read_only_hint=True, idempotent_hint=True)


def note(name: str, text: str) -> None:
    with (FOLDER / name).open("a", encoding="utf-8") as file:
        file.write(text + "\n")


@server.tool(annotations=LOOKS, structured_output=False)
def echo(text: str, times: int = 1) -> str:
    """Say a text."""
    return text * times


@server.tool(annotations=LOOKS)
def size(text: str) -> dict[str, int]:
    """Measure a text."""
    return {"size": len(text)}


@server.tool(structured_output=False)
async def work(context: Context[Any, Any], seconds: float = 60.0) -> str:
    """Take a while, once."""
    note("works", "begun")
    try:
        await context.report_progress(1, 2, "halfway")
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        note("works", "cancelled")
        raise
    return "worked"


@server.tool(structured_output=False)
async def grow(context: Context[Any, Any]) -> str:
    """Get a new tool."""

    def grown() -> str:
        """Be new."""
        return "I am new"

    server.add_tool(grown, name="grown", description="New.")
    await context.notify_tools_changed()
    return "grew"


if __name__ == "__main__":
    server.run()
