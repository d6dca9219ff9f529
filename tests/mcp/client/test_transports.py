"""Servers at an address: connection, loss and reconnection."""

from __future__ import annotations

import json
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from tests.mcp.client.conftest import error_of
from tests.mcp.conftest import TOKEN
from tideate_core.errors import ConfigError, ServerUnavailable, SessionExpired, ToolError
from tideate_core.mcp.client import ServerSpec, server_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.mcp.client.conftest import Make
    from tests.mcp.conftest import Home

pytestmark = pytest.mark.slow

JSON = "application/json"


@pytest.mark.parametrize("transport", ["http", "websocket"])
async def test_a_server_at_an_address_is_called_and_its_loss_is_an_error(
    home: Home, make: Make, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    monkeypatch.setenv("THE_TOKEN", TOKEN)
    served = home.start("--transport", transport, "--port", "0")
    url = served.url()
    client = make(server_at(url, home.project, token_env="THE_TOKEN"))
    assert "transition" in {tool.name for tool in await client.tools(url)}
    first = await client.call(url, "current_guidance", {"state": "*"})
    assert "guidance" in first.value
    served.process.kill()
    served.process.wait()
    with pytest.raises(ToolError):
        await client.call(url, "current_guidance", {"state": "*"}, timeout=60)


@pytest.mark.parametrize("transport", ["http", "websocket"])
async def test_a_server_that_refuses_says_with_what(home: Home, make: Make, transport: str) -> None:
    url = home.start("--transport", transport, "--port", "0").url()
    error = await error_of(make(server_at(url, home.project)).tools(url))
    assert isinstance(error, ServerUnavailable)
    assert "401" in str(error)


async def test_an_address_where_nobody_listens_is_told(make: Make, tmp_path: Path) -> None:
    with socket.socket() as taken:  # bound and not listening: nobody else gets it
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        error = await error_of(make(server_at(url, tmp_path)).tools(url))
    assert isinstance(error, ServerUnavailable)
    assert url in str(error)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"token_env": "TIDEATE_NO_SUCH_TOKEN"}, "$TIDEATE_NO_SUCH_TOKEN is not set"),
        ({"token_command": (sys.executable, "-c", "")}, "printed nothing"),
        ({"token_command": (sys.executable, "-c", "import sys; sys.exit(3)")}, "ended with status 3"),
        ({"token_command": (sys.executable, "-c", "print('a\\tb')")}, "no header can carry"),
    ],
)
async def test_a_token_that_cannot_be_had_is_told_and_nothing_is_sent(
    make: Make, tmp_path: Path, more: dict[str, object], words: str
) -> None:
    spec = ServerSpec("tests", tmp_path, url="http://127.0.0.1:9/mcp", **more)  # type: ignore[arg-type]
    with pytest.raises(ConfigError) as caught:
        await make(spec).tools("tests")
    assert words in str(caught.value)


class Refusing:
    """MCP server over HTTP with scripted answers to tool calls."""

    def __init__(self) -> None:
        self.refusals: list[tuple[int, str, str, dict[str, str]]] = []
        """Status, type, body and headers of the next answers to calls."""
        self.calls: list[str | None] = []
        """The session of each call that was answered."""
        self.starts = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_rest: object) -> None:
                pass

            def do_GET(self) -> None:
                self.answer(405, "text/plain", "")

            def do_DELETE(self) -> None:
                self.answer(200, "text/plain", "")

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if "id" not in asked:
                    return self.answer(202, "text/plain", "")
                return self.answer(*outer.answer_to(asked, self.headers.get("mcp-session-id")))

            def answer(self, status: int, kind: str, body: str, more: dict[str, str] | None = None) -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body.encode())))
                for name, value in (more or {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body.encode())

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/mcp"

    def answer_to(self, asked: dict[str, Any], session: str | None) -> tuple[int, str, str, dict[str, str]]:
        method, more, result = asked["method"], {}, {}
        if method == "initialize":
            self.starts += 1
            more = {"Mcp-Session-Id": f"s{self.starts}"}
            version = asked["params"]["protocolVersion"]
            info = {"name": "x", "version": "1"}
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        elif method == "tools/list":
            result = {"tools": [{"name": "write", "inputSchema": {"type": "object"}}]}
        elif method == "tools/call":
            if self.refusals:
                status, kind, body, headers = self.refusals.pop(0)
                return status, kind, body.replace("ASKED", json.dumps(asked["id"])), headers
            self.calls.append(session)
            result = {"content": [{"type": "text", "text": "done"}]}
        else:
            error = {"code": -32601, "message": "no"}
            return 200, JSON, json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), {}
        return 200, JSON, json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), more


@pytest.fixture
def refusing() -> Iterator[Refusing]:
    made = Refusing()
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()


BATCH = (
    '[{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}, '
    '{"jsonrpc": "2.0", "id": ASKED, "result": {"content": [{"type": "text", "text": "of a batch"}]}}]'
)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", BATCH),
        ("text/event-stream", f"event: message\ndata: {BATCH}\n\n"),
        ("text/event-stream", f"data: {BATCH}\r\r"),
    ],
)
async def test_an_answer_in_a_batch_is_taken(
    make: Make, tmp_path: Path, refusing: Refusing, kind: str, body: str
) -> None:
    client = make(server_at(refusing.url, tmp_path))
    refusing.refusals = [(200, kind, body, {})]
    assert (await client.call(refusing.url, "write")).text == "of a batch"


async def test_an_expired_session_is_begun_anew_and_the_refused_call_repeated(
    make: Make, tmp_path: Path, refusing: Refusing
) -> None:
    """Even a writing tool is retried, as the server rejected the first call."""
    client = make(server_at(refusing.url, tmp_path))
    await client.call(refusing.url, "write")
    refusing.refusals = [(404, "text/html", "<p>gone</p>", {})]
    assert (await client.call(refusing.url, "write")).value == "done"
    assert (refusing.calls, refusing.starts) == (["s1", "s2"], 2)


async def test_a_session_that_expires_at_once_again_is_an_error(
    make: Make, tmp_path: Path, refusing: Refusing
) -> None:
    refusing.refusals = [(404, "text/plain", "no such session", {})] * 2
    error = await error_of(make(server_at(refusing.url, tmp_path)).call(refusing.url, "write"))
    assert isinstance(error, SessionExpired)
    assert "HTTP 404 Not Found: no such session" in str(error)
    assert refusing.calls == []


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (
            (502, "text/html", "<html><title>502</title><body><h1>Bad gateway</h1>nginx", {}),
            "HTTP 502 Bad Gateway: Bad gateway nginx",
        ),
        ((503, "text/plain", "down until six", {}), "HTTP 503 Service Unavailable: down until six"),
        (
            (429, "text/plain", "", {"Retry-After": "7"}),
            "HTTP 429 Too Many Requests, to be tried again after 7 s",
        ),
        ((500, "application/json", '{"detail": "disk full"}', {}), "disk full"),
        (
            (
                400,
                "application/json",
                '{"jsonrpc": "2.0", "id": null, "error": {"code": -32602, "message": "own words"}}',
                {},
            ),
            "own words",
        ),
        ((200, JSON, "<html>hello</html>", {}), "its answer is not valid JSON-RPC"),
        ((200, JSON, '{"jsonrpc": "2.0", "id": 99, "result": {}', {}), "its answer is not valid JSON-RPC"),
    ],
)
async def test_status_and_words_of_a_refusal_are_told(
    make: Make, tmp_path: Path, refusing: Refusing, refusal: Any, words: str
) -> None:
    refusing.refusals = [refusal]
    error = await error_of(make(server_at(refusing.url, tmp_path)).call(refusing.url, "write"))
    assert words in str(error)
    assert "validation error" not in str(error)


async def test_a_server_cannot_forge_the_end_of_its_session(
    make: Make, tmp_path: Path, refusing: Refusing
) -> None:
    forged = {"code": -32600, "message": "x", "data": ["", "session ended"]}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "error": forged})
    refusing.refusals = [(404, "application/json", body, {})]
    error = await error_of(make(server_at(refusing.url, tmp_path)).call(refusing.url, "write"))
    assert not isinstance(error, SessionExpired)
    assert refusing.calls == []
