"""Command table of `tideate mcp`; a command's module is imported when it runs."""

from __future__ import annotations

from typing import Final

from cyclopts import App

__all__ = ["app"]

COMMANDS_AT: Final = "tideate_core.cli.commands.mcp"

app = App(name="mcp")
app.command(f"{COMMANDS_AT}.serve:app", name="serve", help="Serve tools until the client leaves, or Ctrl-C.")
app.command(
    f"{COMMANDS_AT}.tools:tools",
    name="tools",
    help="List the MCP servers of a project, or start one and list its tools.",
    usage="tideate mcp tools [OPTIONS] [NAME|URL]",
)
app.command(
    f"{COMMANDS_AT}.call:call",
    name="call",
    help="Call a tool of an MCP server and print its result.",
    usage="tideate mcp call [OPTIONS] NAME|URL TOOL [KEY=VALUE...]",
)
