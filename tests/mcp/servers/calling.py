"""Clients of in-process MCP servers, with calls that must succeed or fail."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from mcp import Client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from mcp.server.mcpserver import MCPServer


T = TypeVar("T")


class Caller:
    """A client of a server, which also records the progress of calls."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.progress: list[tuple[float, str | None]] = []

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool; return its result, which may be an error."""

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            self.progress.append((progress, message))

        return await self.client.call_tool(tool, arguments, progress_callback=tell)

    async def __call__(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed; return its structured result."""
        answer = await self.call(tool, **arguments)
        assert not answer.is_error, answer.content
        assert isinstance(answer.structured_content, dict)
        return answer.structured_content

    async def text(self, tool: str, /, **arguments: Any) -> str:
        """Call a tool that must succeed; return its text."""
        answer = await self.call(tool, **arguments)
        assert not answer.is_error, answer.content
        words: str = answer.content[0].text
        return words

    async def told(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool; return its structured result, or its error message."""
        answer = await self.call(tool, **arguments)
        return {"refused": str(answer.content)} if answer.is_error else dict(answer.structured_content or {})

    async def refused(self, tool: str, /, **arguments: Any) -> str:
        """Call a tool that must fail; return its message."""
        answer = await self.call(tool, **arguments)
        assert answer.is_error, answer.structured_content
        words: str = answer.content[0].text
        return words


@asynccontextmanager
async def held_open(opening: AbstractAsyncContextManager[T]) -> AsyncIterator[T]:
    """Hold a client open in a task of its own, as the SDK's scopes require; for fixtures."""
    opened: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()

    async def hold() -> None:
        try:
            async with opening as caller:
                opened.set_result(caller)
                await done.wait()
        except Exception as error:
            if opened.done():
                raise
            opened.set_exception(error)

    holding = asyncio.create_task(hold())
    try:
        yield await opened
    finally:
        done.set()
        await holding


@asynccontextmanager
async def serve(server: MCPServer[Any]) -> AsyncIterator[Caller]:
    async with Client(server, mode="legacy") as client:
        yield Caller(client)
