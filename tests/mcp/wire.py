"""A server in this process with every message on its way checked, in JSON, against the protocol's schema."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcp import Client
from mcp.shared._context_streams import create_context_streams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from tideate_core.mcp.protocol import MessageValidator

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.client._transport import TransportStreams
    from mcp.server.mcpserver import MCPServer

__all__ = ["Wire"]


class Wire:
    """Recorder of the messages on a connection."""

    def __init__(self, server: MCPServer[Any]) -> None:
        self._server = server
        self._validator = MessageValidator("client")
        self.messages: list[dict[str, Any]] = []
        self.wrong: list[Exception] = []

    @asynccontextmanager
    async def connect(self, mode: str) -> AsyncIterator[Client]:
        """Give the SDK's client; on leaving, all that was said must have been the protocol."""
        async with Client(self._transport(), mode=mode) as client:
            yield client
        assert self.messages
        if self.wrong:
            raise ExceptionGroup("not the protocol", self.wrong)

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[TransportStreams]:
        to_server, server_reads = create_context_streams[SessionMessage | Exception](0)
        server_writes, from_server = create_context_streams[SessionMessage](0)
        to_client, client_reads = create_context_streams[SessionMessage | Exception](0)
        client_writes, from_client = create_context_streams[SessionMessage](0)
        lowlevel = self._server._lowlevel_server
        async with asyncio.TaskGroup() as group:
            options = lowlevel.create_initialization_options()
            tasks = [
                group.create_task(lowlevel.run(server_reads, server_writes, options)),
                group.create_task(self._carry(from_client, to_server, "sent")),
                group.create_task(self._carry(from_server, to_client, "received")),
            ]
            yield client_reads, client_writes
            for task in tasks:
                task.cancel()

    async def _carry(self, source: Any, target: Any, direction: str) -> None:
        async with source, target:
            async for item in source:
                line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                said = message.model_dump(mode="json", by_alias=True, exclude_unset=True)
                self.messages.append({"direction": direction, **said})
                try:
                    self._validator.check_json(said, direction)
                except ValueError as error:
                    self.wrong.append(error)
                await target.send(SessionMessage(message))
