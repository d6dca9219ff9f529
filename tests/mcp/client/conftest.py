"""Clients of the tests' own server, which runs in a separate process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tideate_core.errors import ToolError
from tideate_core.mcp.client import MCPClient, ServerSpec, ToolPermissions

BARE = Path(__file__).with_name("bare.py")
SERVER = Path(__file__).with_name("server.py")

Make = Callable[..., MCPClient]


def spec_of(folder: Path, server: Path = BARE, **more: Any) -> ServerSpec:
    return ServerSpec("tests", folder, (sys.executable, str(server), str(folder)), **more)


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


async def has_line(path: Path, line: str) -> None:
    """Wait until another process has written a line."""
    async with asyncio.timeout(60):
        while line not in lines(path):  # noqa: ASYNC110 it is another process's
            await asyncio.sleep(0.01)


async def error_of(work: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await work
    return caught.value


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    """Factory of clients, by default of the tests' server over stdio; all are closed afterwards."""
    clients: list[MCPClient] = []

    def client(*specs: ServerSpec, **more: Any) -> MCPClient:
        clients.append(
            MCPClient(specs or (spec_of(tmp_path),), permissions=ToolPermissions(tmp_path), **more)
        )
        return clients[-1]

    yield client
    for one in clients:
        await one.aclose()
