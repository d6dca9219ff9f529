"""The real command over streamable HTTP."""

from __future__ import annotations

import asyncio
import signal
import socket
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2
import pytest
import uvicorn
from starlette.responses import PlainTextResponse, StreamingResponse

from tests.mcp.conftest import AUTHORIZED, TOKEN
from tests.mcp.served import INITIALIZE
from tests.mcp.walker import at, call, move, structured, walk
from tideate_core.mcp.transport.admission import AdmissionPolicy, Token
from tideate_core.mcp.transport.streamable_http import (
    MAX_SESSIONS,
    AdmissionMiddleware,
    PromptRequests,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import Receive, Scope, Send

    from tests.mcp.conftest import Home

pytestmark = pytest.mark.slow

HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    **AUTHORIZED,
}
MODERN = "2026-07-28"
QUICK = 0.5
"""Seconds that the server waits for a request in the tests of that."""


def modern(method: str, **params: Any) -> dict[str, Any]:
    """A request of the protocol without a handshake."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}


def modern_headers(method: str, name: str | None = None) -> dict[str, str]:
    named = {"Mcp-Name": name} if name else {}
    return {**HEADERS, "MCP-Protocol-Version": MODERN, "Mcp-Method": method, **named}


async def test_clients_walk_to_the_end_without_seeing_each_other(home: Home) -> None:
    url = home.http()
    async with at(url, TOKEN, mode="legacy") as one, at(url, TOKEN, mode="legacy") as other:
        await move(one, "*", "approaching_quay")
        assert (await structured(one, "current_guidance"))["current_state"] == "approaching_quay"
        assert (await structured(other, "current_guidance"))["current_state"] == "*"
        paths = await asyncio.gather(walk(one), walk(other))
        assert paths[0] == paths[1]
        assert [move["target"] for move in (await structured(other, "path"))["moves"]] == paths[1][1:]
    async with at(url, TOKEN) as newest:
        assert newest.protocol_version == MODERN
        assert await walk(newest) == paths[0]
        assert (await call(newest, "current_guidance")).is_error


async def test_who_comes_from_elsewhere_or_does_not_know_the_token_is_refused(home: Home) -> None:
    served = home.start("--transport", "http", "--port", "0")
    url = served.url()
    secret = "sesame-but-the-wrong-one"
    wrong: list[tuple[dict[str, str], int]] = [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Authorization": ""}, 401),
        ({"Authorization": f"Bearer {secret}"}, 401),
    ]
    async with httpx2.AsyncClient() as web:
        for extra, status in wrong:
            headers = HEADERS | extra
            for got in [
                await web.post(url, json=INITIALIZE, headers=headers),
                await web.post(url, json=modern("tools/list"), headers=modern_headers("tools/list") | extra),
                await web.get(url, headers=headers),
                await web.delete(url, headers=headers),
                await web.get(url.replace("/mcp", "/nothing"), headers=headers),
            ]:
                assert got.status_code == status, extra
                assert got.headers.get("www-authenticate", "").startswith("Bearer") is (status == 401)
                assert "mcp-session-id" not in got.headers
        upper = {
            "Host": f"LOCALHOST:{urlsplit(url).port}",
            "Origin": url.replace("127.0.0.1", "LocalHost")[:-4],
        }
        for extra in ({"Authorization": f"bearer  {TOKEN}"}, upper):
            got = await web.post(url, json=INITIALIZE, headers=HEADERS | extra)
            assert got.status_code == 200, extra
            assert "access-control-allow-origin" not in got.headers
    served.process.send_signal(signal.SIGTERM)
    assert served.ended() == 0
    logs = b"".join(path.read_bytes() for path in home.state.rglob("*") if path.is_file())
    said = served.out + served.err + logs
    assert TOKEN.encode() not in said
    assert secret.encode() not in said


async def test_abandoned_sessions_make_room_the_longest_idle_first(home: Home) -> None:
    url = home.http()
    async with httpx2.AsyncClient() as web:

        async def begin() -> dict[str, str]:
            opened = await web.post(url, json=INITIALIZE, headers=HEADERS)
            assert opened.status_code == 200, opened.text
            return HEADERS | {"Mcp-Session-Id": opened.headers["mcp-session-id"]}

        async def ping(session: dict[str, str]) -> int:
            asked = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
            return (await web.post(url, json=asked, headers=session)).status_code

        sessions = [await begin() for _ in range(MAX_SESSIONS)]
        foreign = {"Origin": "http://evil.example"}
        assert (await web.post(url, json=INITIALIZE, headers=HEADERS | foreign)).status_code == 403
        stream = {**sessions[1], "Accept": "text/event-stream"}
        async with web.stream("GET", url, headers=stream) as opened:
            assert opened.status_code == 200
            assert await ping(sessions[0]) == 200, "a page of another site ended nobody's session"
            new = await begin()
            assert await ping(sessions[2]) == 404
            assert [await ping(kept) for kept in (sessions[0], sessions[1], sessions[3], new)] == [200] * 4


async def test_a_client_that_stalls_does_not_keep_others_from_opening_a_session(home: Home) -> None:
    url = home.http()
    at = urlsplit(url)
    _, writer = await asyncio.open_connection(at.hostname, at.port)
    headers = {**HEADERS, "Host": at.netloc, "Content-Length": "100"}
    lines = [f"POST {at.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    writer.write("\r\n".join(lines).encode())  # and no body
    await writer.drain()
    async with httpx2.AsyncClient() as web:
        for _ in range(2):
            opened = await web.post(url, json=INITIALIZE, headers=HEADERS, timeout=10)
            assert opened.status_code == 200, opened.text
    writer.close()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
async def test_a_signal_ends_it_though_a_stream_is_open(
    home: Home, number: signal.Signals, status: int
) -> None:
    served = home.start("--transport", "http", "--port", "0")
    url = served.url()
    async with httpx2.AsyncClient() as web:
        opened = await web.post(url, json=INITIALIZE, headers=HEADERS)
        session = {
            "Mcp-Session-Id": opened.headers["mcp-session-id"],
            "Accept": "text/event-stream",
            **AUTHORIZED,
        }
        async with web.stream("GET", url, headers=session) as stream:
            assert stream.status_code == 200
            served.process.send_signal(number)
            async with asyncio.timeout(60):
                with suppress(httpx2.RemoteProtocolError):
                    await stream.aread()
            assert await asyncio.to_thread(served.ended) == status
    assert (served.out, served.err.count(b"\n")) == (b"", 1), "the address, and nothing after it"


def test_it_listens_on_the_loopback_interface_only(home: Home) -> None:
    port = urlsplit(home.http()).port
    with socket.socket() as probe:
        # would be in use if the server had it on all interfaces
        probe.bind(("127.0.0.2", port))


def test_a_port_in_use_is_told(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        served = home.start("--transport", "http", "--port", str(port))
        assert served.ended() == 1
    assert served.err.decode() == (
        f"error: cannot listen on port {port}: another program has it; "
        "choose another with --port, 0 takes a free one\n"
    )


async def test_what_is_behind_the_door_does_not_see_the_token() -> None:
    seen: list[str] = []

    async def inside(scope: Any, _receive: Any, send: Any) -> None:
        seen.extend(name.decode() for name, _ in scope["headers"])
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    app = AdmissionMiddleware(inside, AdmissionPolicy(Token(TOKEN), 8000))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app)) as web:
        got = await web.get("http://127.0.0.1:8000/mcp", headers=AUTHORIZED)
    assert got.status_code == 204
    assert "host" in seen
    assert "authorization" not in seen


async def _answer(scope: Scope, receive: Receive, send: Send) -> None:
    async def slow() -> AsyncIterator[str]:
        yield "begun"
        await asyncio.sleep(2 * QUICK)
        yield "ended"

    answer = StreamingResponse(slow()) if scope["path"] == "/slow" else PlainTextResponse("whole")
    await answer(scope, receive, send)


@pytest.fixture
async def quick(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[str, int]]:
    """A server in this process that waits half a second for a request."""

    class Quick(PromptRequests):
        patience = QUICK

    config = uvicorn.Config(_answer, http=Quick, log_config=None, lifespan="off", host="127.0.0.1", port=0)
    server = uvicorn.Server(config)
    monkeypatch.setattr(server, "capture_signals", nullcontext)
    serving = asyncio.create_task(server.serve())
    async with asyncio.timeout(60):
        while not server.started:  # noqa: ASYNC110 uvicorn has no event for it
            await asyncio.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()
    server.should_exit = True
    await serving


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"POST /mcp HTTP/1.1\r\nHost: x\r\nX-A: ",
        b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf",
        b"POST /mcp HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ],
    ids=["silent", "head", "body", "chunks"],
)
async def test_a_request_that_drips_in_is_ended(quick: tuple[str, int], start: bytes) -> None:
    reader, writer = await asyncio.open_connection(*quick)
    writer.write(start)
    async with asyncio.timeout(30):
        with suppress(ConnectionError):
            while not reader.at_eof():
                await reader.read(100)
    writer.close()
    assert reader.at_eof() or reader.exception()


async def test_whole_requests_keep_their_connection(quick: tuple[str, int]) -> None:
    """Even with pauses between two requests, as long as each arrives promptly."""
    reader, writer = await asyncio.open_connection(*quick)
    for _ in range(3):
        for part in (b"GET / HTTP/1.1\r\n", b"Host: x\r\n", b"\r\n"):
            writer.write(part)
            await writer.drain()
        async with asyncio.timeout(30):
            assert b"200" in await reader.readline()
            assert await reader.readuntil(b"whole")
    writer.close()


async def test_a_request_behind_one_that_is_answered_may_wait(quick: tuple[str, int]) -> None:
    """The connection is left to the answer, however long it takes, and the next one follows."""
    reader, writer = await asyncio.open_connection(*quick)
    async with asyncio.timeout(30):
        writer.write(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await reader.readuntil(b"begun")
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await reader.readuntil(b"ended")
        assert await reader.readuntil(b"whole")
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await reader.readuntil(b"whole")
    writer.close()
