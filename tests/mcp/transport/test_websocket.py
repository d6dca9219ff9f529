"""The real command over WebSocket, and our client of it."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from tests.mcp.conftest import AUTHORIZED, TOKEN
from tests.mcp.served import HANDSHAKE
from tests.mcp.walker import at, move, structured, walk
from tideate_core.errors import ServerUnavailable
from tideate_core.mcp.servers.transitions.server import transitions_server
from tideate_core.mcp.transport import websocket
from tideate_core.mcp.transport.admission import AdmissionPolicy, Token
from tideate_core.mcp.transport.message_streams import MAX_MESSAGE
from tideate_core.mcp.transport.websocket import MAX_CONNECTIONS, websocket_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from websockets.asyncio.server import ServerConnection

    from tests.mcp.conftest import Home
    from tideate_core.machines.language import Workflow

MCP = [Subprotocol("mcp")]
WEBSOCKET = ("--transport", "websocket", "--port", "0")
PING = JSONRPCRequest(jsonrpc="2.0", id=1, method="ping")


def raw(url: str, **options: Any) -> connect:
    """Connect as any program may."""
    given = {"subprotocols": MCP, "additional_headers": AUTHORIZED, "proxy": None, "max_size": None}
    return connect(url, **{**given, **options})


async def request(socket: Any, method: str, **params: Any) -> dict[str, Any]:
    await socket.send(json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}))
    answer: dict[str, Any] = json.loads(await socket.recv())
    return answer


@pytest.mark.slow
async def test_clients_walk_to_the_end_without_seeing_each_other(home: Home) -> None:
    url = home.start(*WEBSOCKET).url()
    assert url.startswith("ws://127.0.0.1:")
    async with at(url, TOKEN, mode="legacy") as one, at(url, TOKEN, mode="legacy") as other:
        await move(one, "*", "approaching_quay")
        assert (await structured(one, "current_guidance"))["current_state"] == "approaching_quay"
        assert (await structured(other, "current_guidance"))["current_state"] == "*"
        paths = await asyncio.gather(walk(one), walk(other))
        assert paths[0] == paths[1]
    async with at(url, TOKEN) as newest:
        assert newest.protocol_version == "2026-07-28"
        assert await walk(newest) == paths[0]


@pytest.mark.slow
async def test_who_does_not_know_the_token_or_comes_from_elsewhere_is_refused(home: Home) -> None:
    served = home.start(*WEBSOCKET)
    url = served.url()
    good = urlsplit(url).netloc
    refused: list[tuple[dict[str, str], int]] = [
        ({}, 401),
        ({"Authorization": f"Bearer {TOKEN}x"}, 401),
        (AUTHORIZED | {"Host": "evil.example"}, 421),
        (AUTHORIZED | {"Origin": "http://evil.example"}, 403),
    ]
    for headers, status in refused:
        with pytest.raises(InvalidStatus) as error:
            await raw(url, additional_headers=headers)
        assert error.value.response.status_code == status, headers
        assert ("WWW-Authenticate" in error.value.response.headers) is (status == 401)
    with pytest.raises(InvalidStatus) as error:
        await raw(url.replace("/mcp", "/other"))
    assert error.value.response.status_code == 404
    async with raw(url, additional_headers=AUTHORIZED | {"Origin": f"http://{good}"}) as allowed:
        assert (await request(allowed, "initialize", **HANDSHAKE))["result"]["serverInfo"]
    served.process.send_signal(signal.SIGTERM)
    assert served.ended() == 0
    logs = b"".join(path.read_bytes() for path in home.state.rglob("*") if path.is_file())
    assert TOKEN.encode() not in served.out + served.err + logs


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("not json", -32700),
        ("", -32700),
        ("[" * 100_000, -32700),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping"}', -32700),
        ("[]", -32600),
        ('{"jsonrpc": "1.0", "id": 7, "method": "ping"}', -32600),
    ],
    ids=["text", "empty", "deep", "binary", "batch", "version"],
)
async def test_a_frame_that_is_no_message_is_answered_and_the_next_call_works(
    shared_url: str, frame: str | bytes, code: int
) -> None:
    async with asyncio.timeout(60), raw(shared_url) as socket:
        await socket.send(frame)
        answer = json.loads(await socket.recv())
        assert (answer["id"], answer["error"]["code"]) == (None, code)
        assert (await request(socket, "initialize", **HANDSHAKE))["result"]["serverInfo"]


async def test_what_is_too_long_or_dropped_ends_that_connection_only(shared_url: str) -> None:
    address = ("127.0.0.1", urlsplit(shared_url).port)
    async with asyncio.timeout(60), raw(shared_url) as other:
        socket = await raw(shared_url)  # not closed here: the server has done that
        with pytest.raises(ConnectionClosed) as closed:
            await socket.send("x" * (MAX_MESSAGE + 1))
            await socket.recv()
        assert closed.value.rcvd
        assert closed.value.rcvd.code == 1009
        for words in (b"GET", b"\x16\x03\x01\x00", b"GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n"):
            with socket_at(address) as dropped:
                dropped.sendall(words)
        async with raw(shared_url) as aborted:
            await aborted.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))
            aborted.transport.abort()
        assert (await request(other, "initialize", **HANDSHAKE))["result"]["serverInfo"]


def socket_at(address: Any) -> socket.socket:
    return socket.create_connection(address)


@pytest.mark.slow
async def test_no_more_clients_than_it_has_room_for(home: Home) -> None:
    url = home.start(*WEBSOCKET).url()
    async with asyncio.timeout(60):
        clients = await asyncio.gather(*(raw(url) for _ in range(MAX_CONNECTIONS)))
        with pytest.raises(InvalidStatus) as error:
            await raw(url)
        assert error.value.response.status_code == 503
        await clients[0].close()
        while True:
            try:
                last = await raw(url)
            except InvalidStatus:
                continue  # it has not seen yet that one has gone
            break
        assert (await request(last, "initialize", **HANDSHAKE))["result"]["serverInfo"]
        await asyncio.gather(last.close(), *(client.close() for client in clients))


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
async def test_a_signal_ends_it_though_a_client_is_connected(
    home: Home, number: signal.Signals, status: int
) -> None:
    served = home.start(*WEBSOCKET)
    async with at(served.url(), TOKEN, mode="legacy") as client:
        await move(client, "*", "approaching_quay")
        served.process.send_signal(number)
        assert await asyncio.to_thread(served.ended) == status
    assert (served.out, served.err.count(b"\n")) == (b"", 1), "the address, and nothing after it"


# ---- our client


@asynccontextmanager
async def answering(handler: Callable[[ServerConnection], Awaitable[None]]) -> AsyncIterator[str]:
    """Serve with a handler of the test's."""
    async with serve(handler, "127.0.0.1", 0, subprotocols=MCP, max_size=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        yield f"ws://127.0.0.1:{port}/"


async def test_the_token_is_sent_as_a_header_and_messages_go_both_ways() -> None:
    seen: list[Any] = []

    async def handler(connection: ServerConnection) -> None:
        assert connection.request
        seen.append(connection.request.headers["Authorization"])
        seen.append(connection.subprotocol)
        async for frame in connection:
            seen.append(json.loads(frame))
            await connection.send('{"jsonrpc": "2.0", "id": 1, "result": {}}')

    async with answering(handler) as url, websocket_client(url, token=TOKEN) as (read, write):
        await write.send(SessionMessage(PING))
        answer = await read.receive()
    assert isinstance(answer, SessionMessage)
    assert answer.message.model_dump(exclude_unset=True) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert seen == [f"Bearer {TOKEN}", "mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}]


async def test_what_was_sent_last_arrives_and_is_all_that_leaving_waits_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(websocket, "CLOSING", 600.0)
    got: asyncio.Queue[str | bytes] = asyncio.Queue()

    async def handler(connection: ServerConnection) -> None:
        async for frame in connection:
            got.put_nowait(frame)

    async with asyncio.timeout(60), answering(handler) as url:
        async with websocket_client(url) as (_read, write):
            for number in range(50):
                note = JSONRPCNotification(jsonrpc="2.0", method=f"notifications/{number}")
                await write.send(SessionMessage(note))
        async with asyncio.timeout(60):
            methods = [json.loads(await got.get())["method"] for _ in range(50)]
    assert methods == [f"notifications/{number}" for number in range(50)]


async def test_what_is_no_message_comes_as_an_exception_and_the_end_as_the_end() -> None:
    async def handler(connection: ServerConnection) -> None:
        for frame in ("not json", b"binary", '{"jsonrpc": "2.0", "id": 1, "result": {}}'):
            await connection.send(frame)

    async with answering(handler) as url, websocket_client(url) as (read, write):
        items = [await read.receive() for _ in range(3)]
        with pytest.raises(anyio.EndOfStream):
            await read.receive()
        with pytest.raises(anyio.BrokenResourceError):
            for _ in range(3):
                await write.send(SessionMessage(PING))
    assert [isinstance(item, Exception) for item in items] == [True, True, False]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://127.0.0.1:1/mcp", "is not the address of a WebSocket server"),
        ("nonsense", "is not the address of a WebSocket server"),
        ("ws://", "is not the address of a WebSocket server"),
    ],
)
async def test_an_address_that_is_none_is_told(url: str, words: str) -> None:
    with pytest.raises(ServerUnavailable, match=words):
        async with websocket_client(url):
            pytest.fail("connected")


async def test_a_refusal_is_told_without_the_token(shared_url: str) -> None:
    with pytest.raises(ServerUnavailable, match="401; is the token right") as refused:
        async with websocket_client(shared_url, token="x" * 30):
            pytest.fail("connected")
    assert "xxx" not in str(refused.value)


@pytest.mark.parametrize("start", [b"", b"GET /mcp HTTP/1.1\r\nHost: x\r\nX-A: "], ids=["silent", "head"])
async def test_an_opening_that_drips_in_is_ended(
    harbour: Workflow, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    monkeypatch.setattr(websocket, "OPENING", 0.1)
    listening = socket.create_server(("127.0.0.1", 0))
    address = listening.getsockname()
    policy = AdmissionPolicy(Token(TOKEN), address[1])
    server = websocket._WebSocketServer(transitions_server(harbour), policy)
    announced = asyncio.Event()
    serving = asyncio.create_task(server.serve_until_stopped(listening, lambda _: announced.set()))
    async with asyncio.timeout(30):
        await announced.wait()
        reader, writer = await asyncio.open_connection(*address)
        writer.write(start)
        with suppress(ConnectionError):
            while not reader.at_eof():
                writer.write(start[-1:])  # one more character now and then
                with suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(100), 0.02)
    writer.close()
    serving.cancel()
    await asyncio.wait([serving])
