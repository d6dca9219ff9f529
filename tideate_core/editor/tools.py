"""Requests about MCP servers: list them with the tools of those that are connected."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tideate_core.errors import TideateError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.editor.projects import Projects
    from tideate_core.mcp.client import MCPClient, Tool

__all__ = ["describe"]


async def describe(projects: Projects, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the servers of a folder's project, with the tools of those that are connected.

    :param params: `folder`; `connect`: names of servers that are connected to for that.
    :raises ConfigError: the project's configuration is wrong.
    """
    client = projects.servers(params.get("folder"))
    wanted = {str(name) for name in params.get("connect") or ()}
    servers = await asyncio.gather(*(_server(client, one.name, wanted) for one in client.status()))
    waiting = [
        {"name": name, "state": "untrusted", "shown": "", "own": False, "error": "", "tools": []}
        for name in client.untrusted
    ]
    return {"ok": True, "servers": [*servers, *waiting]}


async def _server(client: MCPClient, name: str, wanted: set[str]) -> dict[str, Any]:
    before = {one.name: one for one in client.status()}[name]
    tools: list[Tool] = []
    error = ""
    if name in wanted or before.state == "connected":
        try:
            tools = await client.tools(name)
        except TideateError as failure:
            error = str(failure)
    after = {one.name: one for one in client.status()}[name]
    listed = [{**_tool(tool), "allowed": client.permissions.allows(tool)} for tool in tools]
    return {**after.as_json(), "error": error or after.error, "tools": listed}


def _tool(tool: Tool) -> dict[str, Any]:
    shape = tool.as_json()
    return {key: shape[key] for key in ("name", "title", "description", "read_only", "destructive")}
