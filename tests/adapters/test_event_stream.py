"""Streamed chat completions, from bytes and over the wire."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from tests.adapters.test_turns import ASKED, READ
from tideate_core.adapters import Prompt, event_stream
from tideate_core.adapters.event_stream import EventReader
from tideate_core.errors import AdapterError, AdapterUnavailable

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from tests.adapters.conftest import MakeAdapter
    from tests.harness.model_server import ModelServer
    from tideate_core.adapters.model import ModelAdapter


def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def stream(*data: str) -> bytes:
    return "".join(f"data: {one}\n\n" for one in data).encode()


ONE, TWO, END = chunk({"content": "one "}), chunk({"content": "two"}), chunk({}, "stop")
PLAIN = stream(ONE, TWO, END, "[DONE]")
PRETTY = json.dumps(json.loads(ONE), indent=1)
MESSAGE = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "one two"}, "finish_reason": "stop"}]
}
ANSWERS = {
    "as it should be": PLAIN,
    "keep-alives as data": stream(ONE, ": keepalive", TWO, "", " ", END, "[DONE]"),
    "words and empty values": stream("ping", ONE, "null", '{"type": "ping"}', TWO, END, "[DONE]"),
    "comments behind an id": b"id: 1\n: hi\n\n" + stream(ONE) + b": ping\n\nid: 2\n\n" + stream(TWO, END),
    "a byte order mark": b"\xef\xbb\xbf" + PLAIN,
    "line ends of Windows": PLAIN.replace(b"\n", b"\r\n"),
    "line ends of old": PLAIN.replace(b"\n", b"\r"),
    "no space after the colon": PLAIN.replace(b"data: ", b"data:"),
    "no end mark": stream(ONE, TWO, END),
    "no end mark, no line end": stream(ONE, TWO, END).rstrip(),
    "no reason of the end": stream(ONE, TWO, "[DONE]"),
    "one event in several lines of data": stream(PRETTY.replace("\n", "\ndata: "), TWO, END),
    "line ends in an event": stream(PRETTY, TWO, END),
    "no blank lines": f"data: {ONE}\ndata: {TWO}\ndata: {END}\ndata: [DONE]\n".encode(),
    "no line end between events": f"data: {ONE}data: {TWO}data: {END}\n\n".encode(),
    "several objects in an event": stream(f"{ONE}{TWO} {END}"),
    "lines of JSON": f"{ONE}\n{TWO}\n{END}\n".encode(),
    "one object": json.dumps(MESSAGE, indent=2).encode(),
    "one object as an event": stream(json.dumps(MESSAGE)),
    "a byte that is no text": stream(ONE) + b"data: \xff\n\n" + stream(TWO, END),
}
SAID = "tools are not allowed here"
ERRORS = {
    "an error object": json.dumps({"error": {"message": SAID}}).encode(),
    "an error as text": json.dumps({"error": SAID}).encode(),
    "a detail": json.dumps({"detail": [{"loc": ["body", "tools"], "msg": SAID}]}).encode(),
    "a list": json.dumps([{"error": {"message": SAID, "code": 3}}]).encode(),
    "a page": f"<!DOCTYPE html><html><style>x</style><body><h1>{SAID}</h1></body></html>".encode(),
    "words": SAID.encode(),
    "an error event": f"event: error\n{stream(json.dumps({'message': SAID})).decode()}".encode(),
    "an error as data": stream(json.dumps({"error": {"message": SAID}})),
    "a detail as data": stream(json.dumps({"detail": SAID})),
    "an error of its kind": stream(json.dumps({"object": "error", "message": SAID, "code": 400})),
    "words as data": stream(f"error: {SAID}", "[DONE]"),
    "an error with a reason": stream(json.dumps({**json.loads(END), "error": {"message": SAID}})),
    "an error behind what no one can nest": stream("[" * 100_000, json.dumps({"error": SAID})),
    "an error in the middle": stream(ONE, json.dumps({"error": {"message": SAID}})),
}


def read(sent: bytes, size: int = 1 << 20) -> list[Any]:
    """Return the events of bytes that arrive in pieces of equal size."""
    reader = EventReader()
    events = [event for at in range(0, len(sent), size) for event in reader.feed(sent[at : at + size])]
    told = [event.decode().removeprefix("data: ").strip() for event in [*events, *reader.finish()]]
    return [one if one == "[DONE]" else json.loads(one) for one in told]


def choices(values: list[Any]) -> list[dict[str, Any]]:
    return [value["choices"][0] for value in values if isinstance(value, dict) and "choices" in value]


@pytest.mark.parametrize("size", [1, 3, 1 << 20])
@pytest.mark.parametrize("sent", ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_is_read_whatever_its_form(sent: bytes, size: int) -> None:
    found = choices(read(sent, size))
    assert "".join(one["delta"].get("content") or "" for one in found) == "one two"
    assert [one["finish_reason"] for one in found if one["finish_reason"]] == ["stop"]


def test_a_long_event_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0

    class Counted:
        @staticmethod
        def finditer(data: bytearray, begin: int) -> Iterator[re.Match[bytes]]:
            nonlocal looked
            looked += len(data) - begin
            return end.finditer(data, begin)

    end = event_stream._LINE_END
    monkeypatch.setattr(event_stream, "_LINE_END", Counted)
    sent = stream(chunk({"content": "x" * 100_000}), END)
    assert len(choices(read(sent, 100))) == 2
    assert looked < 2 * len(sent)


@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize("sent", ERRORS.values(), ids=ERRORS.keys())
def test_an_error_keeps_its_words(sent: bytes, size: int) -> None:
    (error,) = [value["error"] for value in read(sent, size) if isinstance(value, dict) and "error" in value]
    assert SAID in error["message"]
    assert "<" not in error["message"]


@pytest.mark.parametrize("reason", ["error", "abort", "network_error"])
def test_an_end_that_is_a_failure_is_an_error(reason: str) -> None:
    values = read(stream(ONE, chunk({}, reason), "[DONE]"))
    (error,) = [value["error"] for value in values if isinstance(value, dict) and "error" in value]
    assert repr(reason) in error["message"]


@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize("begin", [b"", stream(ONE)], ids=["nothing", "an event"])
def test_a_stream_that_ends_within_an_event_shows_no_part_of_it(begin: bytes, size: int) -> None:
    event = b"data: " + chunk({"content": "caf\u00e9 \\n", "n": -1.5, "last": True}).encode()
    for cut in range(len(b'data: {"'), len(event)):
        with pytest.raises(httpx2.RemoteProtocolError, match="ended in the middle of an answer"):
            read(begin + event[:cut], size)


def test_an_answer_without_a_stream_that_is_cut_is_told() -> None:
    whole = json.dumps({"choices": [{"message": {"content": "one two"}, "finish_reason": "stop"}]})
    for sent in (whole[:-20], f"{ONE}\n{TWO[:-9]}"):
        with pytest.raises(httpx2.RemoteProtocolError, match="ended in the middle of an answer"):
            read(sent.encode())


def test_an_event_that_is_cut_within_an_answer_is_told() -> None:
    with pytest.raises(httpx2.RemoteProtocolError, match="ended in the middle of an answer"):
        read(stream(ONE, TWO[:-9], END, "[DONE]"))


def test_words_that_are_no_json_are_told() -> None:
    for said in ("{'error': 'the quota is used up'}", "{error: the quota is used up}"):
        (error,) = [value["error"] for value in read(stream(said))]
        assert "the quota is used up" in error["message"]


def test_a_stream_that_is_cut_has_no_end() -> None:
    assert [one["finish_reason"] for one in choices(read(stream(ONE, TWO)))] == [None, None]


def call(index: int | None, own: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    return {"index": index, "id": own, "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(
    "deltas",
    [
        [[call(0, "a", "read", "{}")], [call(0, "b", "list", "{")], [call(0, None, None, "}")]],
        [[call(0, "a", "read", "{}"), call(0, "b", "list", "{}")]],
        [[call(0, "a", "read", "{")], [call(0, "a", "read", "}")], [call(1, "b", "list", "{}")]],
        [[call(None, None, "read", "{")], [call(None, None, None, "}")], [call(None, None, "list", "{}")]],
        [[call(0, "a", "read", "{}")], [call(0, "a", "list", "{}")]],
        [[call(0, None, "read", "{}")], [call(0, None, "read", "")], [call(0, None, "list", "{}")]],
        [[call(0, "a", "read", "{}")], [call(0, "b", "list", "{")], [call(1, None, None, "}")]],
        [[call(1, "a", "read", "{")], [call(0, "b", "list", "{}")], [call(1, None, None, "}")]],
    ],
    ids=[
        "one index",
        "one index at once",
        "the name again and again",
        "no index",
        "one id",
        "no id",
        "another index for the rest",
        "between each other",
    ],
)
def test_calls_are_told_apart(deltas: list[list[dict[str, Any]]]) -> None:
    made: dict[int, list[str]] = {}
    for one in choices(read(stream(*(chunk({"tool_calls": calls}) for calls in deltas)))):
        for part in one["delta"]["tool_calls"]:
            function = made.setdefault(part["index"], ["", ""])
            function[0] += part["function"].get("name") or ""
            function[1] += part["function"]["arguments"]
    assert sorted(made.values()) == [["list", "{}"], ["read", "{}"]]


@pytest.mark.parametrize(
    "kind",
    ["keep-alives as data", "a byte order mark", "one object", "no reason of the end", "lines of JSON"],
)
async def test_an_answer_comes_over_the_wire(server: ModelServer, adapter: ModelAdapter, kind: str) -> None:
    server.sends("look", ANSWERS[kind])
    assert (await adapter.take_turn(ASKED, [READ])).text == "one two"
    assert (await adapter.ask(Prompt("look"))).text == "one two"
    assert len(server.requests) == 2


@pytest.mark.parametrize("kind", ["an error as text", "a page", "a detail as data", "words as data"])
async def test_the_words_of_an_error_come_over_the_wire(
    server: ModelServer, adapter: ModelAdapter, kind: str
) -> None:
    server.sends("look", ERRORS[kind], content_type="text/html")
    with pytest.raises(AdapterError, match=SAID):
        await adapter.take_turn(ASKED, [READ])
    with pytest.raises(AdapterError, match=SAID):
        await adapter.ask(Prompt("look"))


async def test_words_in_a_stream_that_stays_open_are_told(
    server: ModelServer, make_adapter: MakeAdapter
) -> None:
    server.holds_open("look", stream(f"error: {SAID}"))
    with pytest.raises(AdapterError, match=SAID):
        await make_adapter(timeout=0.1).take_turn(ASKED, [READ])


async def test_a_stream_that_ends_early_is_told_as_that(server: ModelServer, adapter: ModelAdapter) -> None:
    server.sends("look", stream(ONE, TWO))
    with pytest.raises(AdapterUnavailable, match="was cut off after 7 characters"):
        await adapter.take_turn(ASKED, [READ])


@pytest.mark.parametrize(
    "sent",
    [
        TWO.encode()[:-9],
        b"data: " + TWO.encode()[:-9],
        stream(ONE) + b"data: " + TWO.encode()[:-9],
        stream(ONE, TWO[:-9], END, "[DONE]"),
    ],
    ids=["one object", "an event", "events", "an event before others"],
)
async def test_a_stream_that_ends_within_an_event_is_told_as_that(
    server: ModelServer, adapter: ModelAdapter, sent: bytes
) -> None:
    server.sends("look", sent)
    with pytest.raises(AdapterUnavailable, match="ended in the middle of an answer") as raised:
        await adapter.take_turn(ASKED, [READ])
    assert "delta" not in str(raised.value)
