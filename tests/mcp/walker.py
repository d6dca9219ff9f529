"""Walk through a machine as a client that knows only the server's answers."""

from __future__ import annotations

from contextlib import asynccontextmanager
from itertools import cycle
from typing import TYPE_CHECKING, Any

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tideate_core.mcp.servers.transitions.server import transitions_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tideate_core.machines.language import Workflow

__all__ = ["at", "call", "connect", "move", "structured", "text", "walk"]

LONGEST = 400


@asynccontextmanager
async def connect(workflow: Workflow, *, mode: str = "legacy", **options: Any) -> AsyncIterator[Client]:
    """Serve a machine in this process, to a client of it."""
    async with Client(transitions_server(workflow, **options), mode=mode) as connected:
        yield connected


@asynccontextmanager
async def at(url: str, token: str, *, mode: str = "auto") -> AsyncIterator[Client]:
    """Connect the SDK's client to a server over HTTP or WebSocket."""
    if url.startswith("ws"):
        from tideate_core.mcp.transport.websocket import websocket_client

        async with Client(websocket_client(url, token=token), mode=mode) as connected:
            yield connected
        return
    web = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
    async with web, Client(streamable_http_client(url, http_client=web), mode=mode) as connected:
        yield connected


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """Call a tool; errors are returned as well."""
    return await client.call_tool(tool, arguments)


async def structured(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that has to succeed and return its structured answer."""
    result = await call(client, tool, **arguments)
    assert not result.is_error, text(result)
    shape: dict[str, Any] = result.structured_content
    return shape


async def move(client: Client, here: str, there: str, **notes: Any) -> dict[str, Any]:
    """Make a transition that has to succeed."""
    return await structured(client, "transition", current_state=here, next_state=there, **notes)


def text(result: Any) -> str:
    """Return the one text of a result."""
    assert [block.type for block in result.content] == ["text"]
    words: str = result.content[0].text
    return words


async def walk(client: Client) -> list[str]:
    """Go from `*` to `*`, at each state taking its transitions in turn; returns the states in order.

    So every state that can be reached is visited, sooner or later, and the end is found.
    """
    answer = await structured(client, "current_guidance", state="*")
    turns: dict[str, Iterator[str]] = {}
    here, path = "*", ["*"]
    while len(path) == 1 or here != "*":
        assert len(path) < LONGEST, f"no end in sight: {path}"
        actions = [shape["action"] for shape in answer["valid_transitions"]]
        assert actions, f"a dead end: {path}"
        goal = next(turns.setdefault(here, cycle(actions)))
        answer = await move(client, here, goal)
        assert answer["current_state"] == goal
        here = goal
        path.append(here)
    assert answer["ended"]
    return path
