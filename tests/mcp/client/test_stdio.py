"""Output of servers over stdio: lines of any kind, including invalid messages."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from tests.mcp.client.conftest import error_of
from tideate_core.errors import InvalidAnswer, ServerUnavailable
from tideate_core.mcp.client import ServerSpec, connection, stdio, transports
from tideate_core.mcp.client.stdio import LineReader

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mcp.client.conftest import Make

SERVER = r"""
import json, sys, time
WAY = sys.argv[1]
def write(data):
    sys.stdout.buffer.write(data); sys.stdout.buffer.flush()
def say(message, odd):
    text = json.dumps({"jsonrpc": "2.0", **message})
    if WAY == "framed": return write(f"Content-Length: {len(text)}\r\n\r\n".encode() + text.encode())
    if WAY == "cr": return write(text.encode() + b"\r")
    if WAY == "crlf": return write(text.encode() + b"\r\n")
    if WAY == "utf-16": return write((text + "\r\n").encode("utf-16-le"))
    if WAY == "no line end": return write(text.encode())
    if WAY == "batch":
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}
        return write(json.dumps([note, {"jsonrpc": "2.0", **message}]).encode() + b"\n")
    if not odd or WAY == "older": return write(text.encode() + b"\n")
    if WAY == "python": return write(repr({"jsonrpc": "2.0", **message}).encode() + b"\n")
    if WAY == "line end": return write(text.replace("echoed", "echo\ned").encode() + b"\n")
    if WAY == "words": return write(b"The answer is 5.\n")
    if WAY == "words before": return write(b"=== parsing ===\n{ not json\n" + text.encode() + b"\n")
    if WAY in ("-32000", "-32001"):
        error = {"code": int(WAY), "message": "SSE stream is what I am called"}
        return write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode() + b"\n")
if WAY == "utf-16": write(b"\xff\xfe")
if WAY == "no server":
    print("Listening on port 3000", flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    key, method = asked.get("id"), asked.get("method")
    if key is None or WAY == "no server": continue
    if method == "initialize":
        info = {"serverInfo": {"name": "odd", "version": "1"}, "capabilities": {"tools": {}}}
        say({"id": key, "result": {"protocolVersion": "2025-06-18", **info}}, 0)
    elif method == "tools/list":
        say({"id": key, "result": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}}, 0)
    elif method == "tools/call":
        say({"id": key, "result": {"content": [{"type": "text", "text": "echoed é {}"}]}}, 1)
    elif WAY != "older":
        say({"id": key, "error": {"code": -32601, "message": "no"}}, 0)
"""


@pytest.fixture
def spec(tmp_path: Path) -> Any:
    (tmp_path / "odd.py").write_text(SERVER, encoding="utf-8")
    return lambda way: ServerSpec("odd", tmp_path, (sys.executable, str(tmp_path / "odd.py"), way))


@pytest.mark.parametrize("way", ["cr", "crlf", "utf-16", "no line end", "batch", "words before"])
async def test_an_answer_is_read_whatever_its_form(make: Make, spec: Any, way: str) -> None:
    assert (await make(spec(way)).call("odd", "echo", {})).text == "echoed é {}"


async def test_a_server_that_is_silent_about_newer_requests_is_asked_in_the_older_protocol(
    make: Make, spec: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PROBE", 0.2)
    monkeypatch.setattr(connection, "START", 8.0)  # the SDK alone waits longer
    assert (await make(spec("older")).call("odd", "echo", {})).text == "echoed é {}"


@pytest.mark.parametrize("way", ["python", "line end"])
async def test_an_answer_that_is_no_json_fails_at_once(make: Make, spec: Any, way: str) -> None:
    error = await error_of(make(spec(way)).call("odd", "echo", {}, timeout=600))
    assert isinstance(error, InvalidAnswer)
    assert "a message that is not one line of JSON" in str(error)


async def test_words_in_place_of_an_answer_are_told_at_the_end_of_its_time(make: Make, spec: Any) -> None:
    client = make(spec("words"))
    await client.tools("odd")
    error = await error_of(client.call("odd", "echo", {}, timeout=0.1))
    assert "lines that are not messages of MCP, as 'The answer is 5.'" in str(error)


@pytest.mark.slow
async def test_a_program_that_is_no_server_is_not_waited_for(
    make: Make, spec: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transports, "ODD_LINES", 0.1)
    error = await error_of(make(spec("no server")).tools("odd"))
    assert isinstance(error, ServerUnavailable)
    assert "as 'Listening on port 3000'" in str(error)


@pytest.mark.slow
async def test_framing_of_language_servers_is_named(make: Make, spec: Any) -> None:
    assert "Content-Length" in str(await error_of(make(spec("framed")).call("odd", "echo", {})))


@pytest.mark.parametrize("code", ["-32000", "-32001"])
async def test_words_that_the_sdk_has_for_its_own_are_a_servers_over_stdio(
    make: Make, spec: Any, code: str
) -> None:
    error = await error_of(make(spec(code)).call("odd", "echo", {}))
    assert "SSE stream is what I am called" in str(error)
    assert "ended" not in str(error)
    assert "did not answer" not in str(error)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@given(texts=st.lists(st.text(max_size=9), min_size=1, max_size=4), sizes=st.integers(1, 40))
def test_messages_are_read_in_any_pieces(encoding: str, end: str, texts: list[str], sizes: int) -> None:
    values = [{"jsonrpc": "2.0", "id": 1, "result": {"text": text}} for text in texts]
    sent = "".join(json.dumps(value, ensure_ascii=False) + end for value in values)
    data = sent.encode(encoding, "replace")
    reader = LineReader()
    found = [line for at in range(0, len(data), sizes) for line in reader.feed(data[at : at + sizes])]
    told = [line for line in [*found, reader.finish()] if line.strip()]
    assert [json.loads(line.decode("utf-8-sig")) for line in told] == [
        json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")) for value in values
    ]


def test_a_message_without_a_line_end_is_tried_a_few_times_only(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[bytes] = []

    def is_message(data: bytes) -> bool:
        tried.append(data)
        return False

    monkeypatch.setattr(stdio, "is_message", is_message)
    reader = LineReader()
    for _ in range(10_000):
        reader.feed(b"{}")
    assert len(tried) < 20


def test_a_line_that_is_too_long_ends_the_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "LONGEST_MESSAGE", 100)
    reader = LineReader()
    assert reader.feed(b"x" * 100) == []
    with pytest.raises(InvalidAnswer, match="longer than"):
        reader.feed(b"x")
