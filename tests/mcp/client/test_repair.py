"""Nearly valid JSON-RPC messages are repaired, or fail their request at once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import mcp_types as types
import pytest
from hypothesis import given, strategies as st
from mcp.shared.message import SessionMessage

from tideate_core.errors import InvalidAnswer
from tideate_core.mcp.client.bounds import InvalidLine, parse_message, parse_messages
from tideate_core.mcp.client.repair import (
    drop_invalid_tools,
    events_repaired,
    framing_problem,
    is_message,
    repaired,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TEXT = {"content": [{"type": "text", "text": "caf\u00e9 \U0001f600"}]}


def answer(result: Any, key: Any = 7) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": key, "result": result}).encode()


def parsed(data: bytes) -> Any:
    (item,) = parse_messages(data)
    assert isinstance(item, SessionMessage), item
    return item.message


def test_half_a_surrogate_pair_becomes_a_replacement_character() -> None:
    message = parsed(answer({"content": [{"type": "text", "text": "a\ud83d b"}]}))
    assert message.result["content"][0]["text"] == "a\ufffd b"


def test_bytes_that_are_not_utf_8_become_replacement_characters() -> None:
    message = parsed(answer({"text": "caf?"}).replace(b"?", b"\xe9"))
    assert message.result == {"text": "caf\ufffd"}


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (answer(None), "`result` is null"),
        (answer("done"), "`result` is str"),
        (answer([1]), "`result` is list"),
        (b'{"jsonrpc": "2.0", "id": 7, "error": "quota is used up"}', "quota is used up"),
        (b'{"jsonrpc": "2.0", "id": 7, "error": 5}', "`error` is int"),
        (b'{"jsonrpc": "2.0", "id": 7}', "neither `result` nor `error`"),
        (b'{"id": 7, "result": {}}', "jsonrpc"),
        (b'{"jsonrpc": "2.0", "id": 7, "error": {"message": "no code"}}', "no code"),
        (b'{"jsonrpc": "2.0", "id": 7, "error": {"code": 5}}', "`error` has no `message`"),
    ],
)
def test_an_answer_that_is_none_fails_its_request(message: bytes, said: str) -> None:
    made = parsed(message)
    assert isinstance(made, types.JSONRPCError)
    assert made.id == 7
    assert said in made.error.message
    assert "validation error" not in made.error.message


@pytest.mark.parametrize(
    "form",
    [
        "\ufeff%s",
        "[%s]",
        '{"jsonrpc": "2.0", "id": 7.0, "result": {"content": []}}',
        '{"jsonrpc": "2.0", "id": 7, "result": {"content": [], "text": "a\x01b"}}',
    ],
    ids=["a byte order mark", "a list of one", "a number with a point", "a control character"],
)
def test_an_answer_that_is_nearly_one_is_taken(form: str) -> None:
    message = parsed(form.replace("%s", answer(TEXT).decode()).encode())
    assert isinstance(message, types.JSONRPCResponse)
    assert (message.id, type(message.id)) == (7, int)


def test_what_cannot_be_repaired_ends_the_connection_at_once() -> None:
    error = parse_message(b'{"jsonrpc": "2.0", "id": 7, "result": {"a": ' + b"[" * 5000)
    assert isinstance(error, InvalidAnswer)
    assert "nested too deeply" in str(error)


@pytest.mark.parametrize("line", [b"Server ready", b"[1, 2]", b'"text"', b"{", b'{"a": 1}', b"[" * 5000])
def test_other_lines_stay_unreadable(line: bytes) -> None:
    assert isinstance(parse_message(line), InvalidLine)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=[]), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, st.integers(0, 99), st.booleans(), st.binary(max_size=3), st.integers(0, 40))
def test_every_answer_with_an_id_reaches_its_request(
    result: Any, key: int, escaped: bool, noise: bytes, at: int
) -> None:
    """Also with an invalid result, or invalid bytes in a text."""
    body = {"jsonrpc": "2.0", "id": key, "result": result, "x": "y" * 50}
    data = json.dumps(body, ensure_ascii=escaped).encode("utf-8", "surrogatepass")
    place = data.rindex(b"y" * 50) + at
    stray = noise.replace(b'"', b"").replace(b"\\", b"").translate(None, bytes(range(32)))
    made = parsed(data[:place] + stray + data[place:])
    assert made.id == key
    assert isinstance(made, types.JSONRPCResponse) == isinstance(result, dict)


@given(st.binary(max_size=200))
def test_what_is_returned_is_always_a_message(data: bytes) -> None:
    made = repaired(data)
    assert made is None or is_message(made)


async def _chunks(data: bytes, size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
async def test_events_are_repaired_one_by_one_however_they_arrive(size: int, end: bytes) -> None:
    half = answer({"text": "a\ud83d"})
    lines = [
        b"id: 1",
        b"event: message",
        b"data: " + half,
        b"",
        b": comment",
        b"",
        b"data: " + answer(TEXT),
        b"",
    ]
    stream = end.join([*lines, b"data: " + answer(None), b"", b""])
    told = b"".join([chunk async for chunk in events_repaired(_chunks(stream, size))])
    datas = [line[6:] for line in told.splitlines() if line.startswith(b"data: ")]
    assert all(map(is_message, datas))
    assert json.loads(datas[0])["result"] == {"text": "a\ufffd"}
    assert datas[1] == answer(TEXT)
    assert "error" in json.loads(datas[2])
    assert told.startswith(b"id: 1\nevent: message\n")
    assert b": comment" in told


@pytest.mark.parametrize("size", [1, 10_000])
async def test_the_messages_of_a_batch_become_events_of_their_own(size: int) -> None:
    event = b"id: 4\ndata: [" + answer(TEXT) + b", " + answer(None, 8) + b"]\n\n"
    told = b"".join([chunk async for chunk in events_repaired(_chunks(event, size))])
    datas = [line[6:] for line in told.splitlines() if line.startswith(b"data: ")]
    assert [json.loads(data)["id"] for data in datas] == [7, 8]
    assert all(map(is_message, datas))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_an_answer_in_another_encoding_is_read(encoding: str) -> None:
    assert parsed(answer(TEXT).decode().encode(encoding)).result == TEXT
    both = f"[{answer(TEXT).decode()}, {answer(TEXT, 8).decode()}]".encode(encoding)
    messages = [one.message for one in parse_messages(both) if isinstance(one, SessionMessage)]
    assert [one.id for one in messages if isinstance(one, types.JSONRPCResponse)] == [7, 8]


@pytest.mark.parametrize(
    "line",
    [
        b"{'jsonrpc': '2.0', 'id': 1, 'result': {}}",
        b'{jsonrpc: "2.0", id: 1, result: {}}\n',
        b'{"jsonrpc": "2.0", "id": 1, "result": {"a": [\n',
        b'  "jsonrpc": "2.0",\n',
    ],
)
def test_a_message_that_is_no_line_of_json_is_named(line: bytes) -> None:
    assert "not one line of JSON" in str(framing_problem(line))


def test_framing_of_language_servers_is_named() -> None:
    assert "Content-Length" in str(framing_problem(b"Content-Length: 52\r\n"))


@pytest.mark.parametrize(
    "line", ["listening", "{", '  "port": 1', "}", "content", "{ not json", '{"a": "jsonrpc: 1"}']
)
def test_other_output_is_no_framing(line: str) -> None:
    assert framing_problem(line.encode()) is None


GOOD = {"name": "good", "inputSchema": {"type": "object"}}


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
@pytest.mark.parametrize(
    "bad",
    [
        {"name": "bad"},
        {"name": "bad", "inputSchema": None},
        {"name": "bad", "inputSchema": {}},
        {"name": "bad", "inputSchema": {"type": "object"}, "description": 5},
        {"inputSchema": {"type": "object"}},
        "bad",
        None,
    ],
)
def test_one_bad_tool_is_left_out_with_its_reason(bad: Any, version: str) -> None:
    result = {"tools": [bad, GOOD]}
    left_out = drop_invalid_tools(result, version)
    assert result["tools"] == [GOOD]
    ((name, why),) = left_out.items()
    assert name == ("bad" if isinstance(bad, dict) and "name" in bad else "#1")
    assert why
    assert "validation error" not in why
