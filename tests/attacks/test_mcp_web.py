"""A hostile MCP server at an address: redirects, bodies, streams and frames."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.server import serve

from tests.attacks.test_mcp_words import is_plain
from tests.harness.hostile import bounded
from tests.harness.hostile_web import MB, PLAIN, SERVER, web
from tideate_core.errors import ToolError
from tideate_core.mcp.client import (
    MCPClient,
    ToolPermissions,
    ToolResult,
    connection as connections,
    server_at,
    supervisor as supervisors,
)
from tideate_core.mcp.transport import websocket
from tideate_core.mcp.transport.websocket import SUBPROTOCOL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from websockets.asyncio.server import ServerConnection

pytestmark = [pytest.mark.bulk, pytest.mark.attack, pytest.mark.slow]

TOKEN = "the-secret-token"
CODE = "the code of the person"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_TOKEN", TOKEN)
    monkeypatch.setattr(supervisors, "TRIES", 1)
    monkeypatch.setattr(websocket, "CLOSING", 0.2)


async def called(url: str, folder: Path, timeout: float = 2) -> ToolResult | ToolError:  # noqa: ASYNC109
    client = MCPClient([server_at(url, folder, token_env="THE_TOKEN")], permissions=ToolPermissions(folder))
    try:
        return await client.call(url, "act", {"code": CODE}, timeout=timeout)
    except ToolError as error:
        return error
    finally:
        await client.aclose()


def places(url: str) -> dict[str, str]:
    """Return hostile targets of a redirect: another port, and other spellings of an address."""
    port = urlsplit(url).port
    return {
        "another port": url,
        "another name": f"http://localhost:{port}/mcp",
        "https": f"https://127.0.0.1:{port}/mcp",
        "no scheme": f"//127.0.0.1:{port}/mcp",
        "a name and a password": f"http://user:password@127.0.0.1:{port}/mcp",
        "websocket": f"ws://127.0.0.1:{port}/mcp",
        "a file": "file:///etc/passwd",
        "ftp": f"ftp://127.0.0.1:{port}/mcp",
        "data": "data:application/json,{}",
        "nothing": "",
        "no address": "http://[::1/\u202e",
    }


PLACES = tuple(places("http://127.0.0.1:1/"))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("status", [302, 307])
@pytest.mark.parametrize("at", ["tools/call", "initialize"])
async def test_a_redirect_takes_neither_the_token_nor_the_arguments_elsewhere(
    place: str, status: int, at: str, tmp_path: Path
) -> None:
    with web() as other, web(f"redirect {status}", location=places(other.url)[place], at=at) as it:
        outcome = await called(it.url, tmp_path)
    assert isinstance(outcome, ToolError)
    assert other.asked == []
    assert is_plain(str(outcome))
    assert TOKEN not in str(outcome)


@pytest.mark.parametrize("status", [301, 303, 308])
async def test_other_kinds_of_redirects_do_not_either(status: int, tmp_path: Path) -> None:
    with web() as other, web(f"redirect {status}", location=other.url) as it:
        outcome = await called(it.url, tmp_path)
    assert isinstance(outcome, ToolError)
    assert other.asked == []


async def test_a_circle_of_redirects_ends(tmp_path: Path) -> None:
    with web("redirect 307", location="/mcp") as it, bounded():
        outcome = await called(it.url, tmp_path)
    assert isinstance(outcome, ToolError)
    assert len(it.asked) < 100


async def test_no_other_place_to_log_in_is_asked(tmp_path: Path) -> None:
    with web() as other, web("another place to log in", location=other.url, at="initialize") as it:
        outcome = await called(it.url, tmp_path)
    assert isinstance(outcome, ToolError)
    assert other.asked == []


BODIES = (
    *("huge", "objects", "objects in events", "compressed", "half a body", "odd head", "odd status"),
    *("plain status", "many heads", "continue", "accepted", "foreign id", "a page", "endless event"),
    *("endless line", "endless events", "endless comments", "endless garbage", "reconnecting"),
)


@pytest.mark.parametrize("behaviour", BODIES)
async def test_an_answer_that_is_none_is_an_error_in_time(behaviour: str, tmp_path: Path) -> None:
    with web(behaviour) as it, bounded():
        outcome = await called(it.url, tmp_path, timeout=1)
    assert isinstance(outcome, ToolError)
    assert is_plain(str(outcome)), outcome
    assert len(str(outcome)) < 4_000
    assert len(it.asked) < 500


@pytest.mark.parametrize("behaviour", ["huge", "compressed", "many heads", "endless event", "plain status"])
async def test_an_answer_to_the_first_word_that_is_none_is_an_error_in_time(
    behaviour: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "START", 2.0)
    with web(behaviour, at="initialize") as it, bounded():
        outcome = await called(it.url, tmp_path)
    assert isinstance(outcome, ToolError)
    assert is_plain(str(outcome)), outcome


async def test_compressed_answers_are_not_asked_for(tmp_path: Path) -> None:
    with web() as it:
        assert isinstance(await called(it.url, tmp_path, timeout=60), ToolResult)
    headers = [{name.lower(): value for name, value in one[2].items()} for one in it.asked]
    assert {one.get("accept-encoding") for one in headers} == {"identity"}


async def _binary(it: ServerConnection, key: Any) -> None:
    await it.send(json.dumps({"jsonrpc": "2.0", "id": key, "result": {"content": []}}).encode())


async def _large(it: ServerConnection, _key: Any) -> None:
    for _ in range(64):
        await it.send("a" * MB)
    await it.send(["a" * MB] * 64)


async def _objects(it: ServerConnection, key: Any) -> None:
    content = json.dumps({"jsonrpc": "2.0", "id": key, "result": {"content": []}})[:-2]
    await it.send(content + ', "structuredContent": {"a": [' + "{}," * 2 * MB + "{}]}}}")


async def _garbage(it: ServerConnection, _key: Any) -> None:
    while True:
        await it.send("\x1b[2Jno")


async def _flood(it: ServerConnection, _key: Any) -> None:
    while True:
        await it.send('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')


async def _pings(it: ServerConnection, _key: Any) -> None:
    number = 0
    while True:
        number += 1
        await it.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}))


async def _fragments(it: ServerConnection, _key: Any) -> None:
    async def pieces() -> AsyncIterator[str]:
        while True:
            yield "a" * 1000

    await it.send(pieces())


async def _closed(it: ServerConnection, _key: Any) -> None:
    await it.close(4000, "\x1b]0;owned\x07\u202e")


FRAMES = {
    "binary": _binary,
    "large": _large,
    "objects": _objects,
    "garbage": _garbage,
    "flood": _flood,
    "pings": _pings,
    "fragments": _fragments,
    "closed": _closed,
}


@asynccontextmanager
async def socket(frames: Callable[[ServerConnection, Any], Awaitable[None]]) -> AsyncIterator[str]:
    async def speak(it: ServerConnection) -> None:
        async for data in it:
            message = json.loads(data)
            key, method = message.get("id"), message.get("method")
            known = {"initialize": SERVER, "tools/list": {"tools": [PLAIN]}}
            if method in known:
                await it.send(json.dumps({"jsonrpc": "2.0", "id": key, "result": known[method]}))
            elif method == "tools/call":
                await frames(it, key)
            elif key is not None:
                error = {"code": -32601, "message": "no such method"}
                await it.send(json.dumps({"jsonrpc": "2.0", "id": key, "error": error}))

    async with serve(
        speak, "127.0.0.1", 0, compression=None, subprotocols=[SUBPROTOCOL], close_timeout=0.2
    ) as server:
        yield f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/"


@pytest.mark.parametrize("kind", FRAMES)
async def test_frames_that_are_no_answer_are_an_error_in_time(kind: str, tmp_path: Path) -> None:
    with bounded():
        async with socket(FRAMES[kind]) as url, asyncio.timeout(60):
            outcome = await called(url, tmp_path, timeout=1)
    assert isinstance(outcome, ToolError)
    assert is_plain(str(outcome)), outcome


@pytest.mark.parametrize("place", ["another port", "another name", "websocket", "https"])
async def test_a_websocket_is_not_redirected_elsewhere(place: str, tmp_path: Path) -> None:
    with web() as other:
        location = places(other.url)[place].replace("http", "ws", 1)
        with web("redirect 307", location=location) as it:

            def upgrade(handler: Any) -> None:
                handler.begin(307, "text/plain", Location=location, Content_Length="0")

            it.get = upgrade
            outcome = await called(it.url.replace("http", "ws", 1), tmp_path)
    assert isinstance(outcome, ToolError)
    assert other.asked == []
    assert is_plain(str(outcome))
