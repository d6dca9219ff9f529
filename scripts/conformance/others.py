"""Programs of others that use our servers, and servers of others that our client uses."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from scripts.conformance.programs import NPM, PATIENCE, FailedError, environment, tail
from scripts.conformance.running import OWN, at_address, project, serve
from tideate_core.mcp.transport import websocket_client

if TYPE_CHECKING:
    from rich.console import Console

    from scripts.conformance.programs import Programs

HARMLESS: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "build": ("build_detect", {}),
    "filesystem": ("list_directory", {"path": "."}),
    "git": ("git_status", {}),
    "test": ("test_list", {}),
}
OLD_SDK: Final = "mcp==1.30.0"
"""The last line of the SDK that had WebSocket itself."""
OLD_SERVER: Final = """
import sys, uvicorn
from mcp.server.fastmcp import FastMCP
from mcp.server.websocket import websocket_server
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute

server = FastMCP("old", log_level="ERROR")

@server.tool()
def add(a: int, b: int) -> int:
    return a + b

async def serve(socket):
    async with websocket_server(socket.scope, socket.receive, socket.send) as (read, write):
        await server._mcp_server.run(read, write, server._mcp_server.create_initialization_options())

app = Starlette(routes=[WebSocketRoute("/ws", serve)])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
"""
TYPESCRIPT: Final = """
import { Client } from 'SDK/client/index.js';
import { WebSocketClientTransport } from 'SDK/client/websocket.js';

const Plain = globalThis.WebSocket;
// the transport has no way to send a header; Node's own WebSocket has
globalThis.WebSocket = class extends Plain {
  constructor(url, protocols) {
    super(url, { protocols, headers: { Authorization: `Bearer ${process.env.TOKEN}` } });
  }
};
const client = new Client({ name: 'typescript', version: '1' });
await client.connect(new WebSocketClientTransport(new URL(process.argv[2])));
const { tools } = await client.listTools();
const [name, args] = JSON.parse(process.argv[3]);
const result = await client.callTool({ name, arguments: args });
if (result.isError || !tools.some((tool) => tool.name === name)) throw new Error(JSON.stringify(result));
console.log(`${tools.length} tools`);
await client.close();
"""


def inspected(programs: Programs, console: Console) -> None:
    """List and call a tool of each server over stdio with the MCP inspector."""
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(max_workers=2) as pool:
        root = project(Path(directory))
        for words in pool.map(lambda name: _inspected_one(programs, name, root), OWN):
            console.print(f"  [green]✓[/] {words}")


def _inspected_one(programs: Programs, name: str, root: Path) -> str:
    """List the tools of a server and call one with the inspector; return a line for the report."""
    tool, arguments = HARMLESS[name]
    listed = programs.inspect(serve(name, root), "--method", "tools/list")["tools"]
    pairs = [word for key, value in arguments.items() for word in ("--tool-arg", f"{key}={value}")]
    result = programs.inspect(serve(name, root), "--method", "tools/call", "--tool-name", tool, *pairs)
    if result.get("isError") or tool not in [one["name"] for one in listed]:
        raise FailedError(f"{name}: {result}")
    return f"{name} [dim]{len(listed)} tools, {tool} called"


def reference_client(_programs: Programs, console: Console) -> None:
    """List and call a tool of each server over HTTP with the SDK's client, in both kinds of the protocol."""
    with tempfile.TemporaryDirectory() as directory:
        root = project(Path(directory))
        for name in OWN:
            with at_address(serve(name, root), "http") as (url, token):
                versions = [asyncio.run(_use(name, url, token, mode)) for mode in ("legacy", "auto")]
            console.print(f"  [green]✓[/] {name} [dim]{', '.join(versions)}")


async def _use(name: str, url: str, token: str, mode: str) -> str:
    web = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
    async with web, Client(streamable_http_client(url, http_client=web), mode=mode) as client:
        await _list_and_call(client, *HARMLESS[name])
        return str(client.protocol_version)


async def _list_and_call(client: Client, tool: str, arguments: dict[str, Any]) -> str:
    if tool not in [one.name for one in (await client.list_tools()).tools]:
        raise FailedError(f"there is no tool {tool}")
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise FailedError(f"{tool}: {result}")
    return str(result.content)


def websockets(programs: Programs, console: Console) -> None:
    """Have the TypeScript SDK use our servers, and our client a server on the Python SDK's old line."""
    with tempfile.TemporaryDirectory() as directory:
        root = project(Path(directory))
        script = Path(directory) / "client.mjs"
        sdk = NPM / "node_modules" / "@modelcontextprotocol" / "sdk" / "dist" / "esm"
        script.write_text(TYPESCRIPT.replace("SDK", str(sdk)))
        for name in OWN:
            with at_address(serve(name, root), "websocket") as (url, token):
                console.print(
                    f"  [green]✓[/] TypeScript, {name} [dim]{_typescript(programs, script, name, url, token)}"
                )
    _with_old(environment("mcp-1", OLD_SDK, "websockets"))
    console.print(f"  [green]✓[/] our client, a server on {OLD_SDK}")


def _typescript(programs: Programs, script: Path, name: str, url: str, token: str) -> str:
    done = subprocess.run(
        [str(programs.node), str(script), url, json.dumps(HARMLESS[name])],
        env={**programs.environment, "TOKEN": token},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode:
        raise FailedError(f"TypeScript, {name}: {tail(done)}")
    return done.stdout.strip()


def _with_old(python: Path) -> None:
    """Have our client use a server on the old SDK."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [str(python), "-W", "ignore", "-c", OLD_SERVER, str(port)], env={**os.environ, "PYTHONPATH": ""}
    )
    try:
        _wait_for(port)
        asyncio.run(_use_old(f"ws://127.0.0.1:{port}/ws"))
    finally:
        process.terminate()
        process.wait(timeout=10)


async def _use_old(url: str) -> None:
    async with Client(websocket_client(url), mode="legacy") as client:
        if "5" not in await _list_and_call(client, "add", {"a": 2, "b": 3}):
            raise FailedError("2 and 3 make something else")


def _wait_for(port: int) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise FailedError("the other server did not start")
