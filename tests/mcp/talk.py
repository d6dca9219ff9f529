"""Uniform client of a server's tools, over stdio and HTTP."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx2

from tests.mcp.conftest import AUTHORIZED, COMMAND, TOKEN
from tests.mcp.served import Served

if TYPE_CHECKING:
    from tests.mcp.hostile import TrappedRoot

__all__ = ["JUNK", "Talk"]

MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
JUNK = [
    b"not json",
    b"[" * 50_000,
    b"[]",
    b"null",
    b'{"jsonrpc": "2.0"}',
    b"\xff\xfe",
    b'{"jsonrpc": "2.0", "id": 901, "method": "tools/call", "params": {"name": "a", "arguments": 1}}',
    b'{"jsonrpc": "2.0", "id": 902, "method": "tools/call"}',
    b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": 903, "method": "no/such/method"}',
]


class Talk:
    """A server and a client with time limits."""

    def __init__(self, name: str, transport: str, place: TrappedRoot) -> None:
        self.transport = transport
        over_http = ("--transport", "http", "--port", "0") if transport == "http" else ()
        command = [*COMMAND, name, "--root", str(place.root), *over_http]
        self.served = Served(command, {**place.environment(), "TIDEATE_MCP_TOKEN": TOKEN}, place.root)
        self.url = ""
        self.web = httpx2.Client(headers={**JSON, **AUTHORIZED}, timeout=60)
        if over_http:
            self.url = self.served.url()
        else:
            self.served.shake_hands()

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request; return the whole answer."""
        if self.transport == "stdio":
            return self.served.request(method, params)
        named = {"Mcp-Name": params["name"]} if method == "tools/call" else {}
        got = self.web.post(
            self.url,
            json={"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}},
            headers={"MCP-Protocol-Version": MODERN, "Mcp-Method": method, **named},
        )
        answer: dict[str, Any] = json.loads(
            _last_event(got.text) if "event-stream" in _kind(got) else got.text
        )
        return answer

    def tools(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.request("tools/list")["result"]["tools"]
        return found

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; return its result, with a protocol error as a result."""
        answer = self.request("tools/call", name=tool, arguments=arguments)
        return answer.get("result") or {"isError": True, "content": [{"text": answer["error"]["message"]}]}

    def send_junk(self, junk: bytes) -> None:
        """Send an invalid message without waiting for an answer."""
        if self.transport == "stdio":
            self.served.send(junk + b"\n")
            return
        got = self.web.post(self.url, content=junk)
        assert 400 <= got.status_code < 500, (junk[:20], got.status_code)

    def close(self) -> None:
        self.web.close()
        self.served.close()


def _kind(got: httpx2.Response) -> str:
    kind: str = got.headers.get("content-type", "")
    return kind


def _last_event(text: str) -> str:
    return [line for line in text.splitlines() if line.startswith("data:")][-1].removeprefix("data:")
