"""Repair of a streamed chat completion's events before the model library parses them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import httpx2

from tideate_core.adapters.translate import words_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

_STREAMS: Final = re.compile(rb'(?<!\\)"stream"\s*:\s*true')
_OK: Final = 200
_BOM: Final = b"\xef\xbb\xbf"
_SPACE: Final = b" \t\r\n"
_WHOLE: Final = b"{[<"
"""First characters of an answer that is not a stream: JSON or a web page."""
_LONGEST_WHOLE: Final = 16 << 20
_LONGEST_WORDS: Final = 2_000
_LINE_END: Final = re.compile(rb"\r\n|\r(?=[^\n])|\n")
_DONE: Final = "[DONE]"
_DECODER: Final = json.JSONDecoder(strict=False)
_BETWEEN: Final = re.compile(r"\s*(?:data:\s*)*")
_ENDED_WITHIN: Final = "the connection ended in the middle of an answer"
_END_OF_JSON: Final = re.compile(r"[tfn][a-z]{0,4}|-?|[.eE][-+]?|\\?u?[0-9a-fA-F]{0,4}")
"""End of a JSON text cut within a word, a number or an escape."""
_FAILURES: Final = frozenset({"error", "abort", "aborted", "cancelled", "failed", "network_error"})
"""Finish reasons of an incomplete answer."""


async def repair_stream(response: httpx2.Response) -> None:
    """Repair a response's events while it is read; a hook of `httpx2.AsyncClient`."""
    request = response.request
    if response.status_code != _OK or not request.url.path.endswith("/chat/completions"):
        return
    if _STREAMS.search(request.content):
        sent = httpx2.Response(_OK, headers=response.headers, stream=response.stream, request=request)
        response.stream = _RepairedStream(sent)
        response.headers.pop("content-encoding", None)


class _RepairedStream(httpx2.AsyncByteStream):
    def __init__(self, sent: httpx2.Response) -> None:
        self._sent = sent

    async def __aiter__(self) -> AsyncIterator[bytes]:
        reader = EventReader()
        try:
            async for data in self._sent.aiter_bytes():
                for event in reader.feed(data):
                    yield event
        except httpx2.TimeoutException:
            if not reader.has_words_only:  # a server may send an error and leave the stream open
                raise
        for event in reader.finish():
            yield event

    async def aclose(self) -> None:
        await self._sent.aclose()


class EventReader:
    """Incremental parser of a stream's bytes; returns events with one JSON object each."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._looked = 0
        """Bytes already searched for a line end."""
        self._begun = False
        self._is_whole = False
        self._name = ""
        """Type of the current event."""
        self._data: list[str] = []
        self._words: list[str] = []
        """Text outside events, reported if no answer arrives."""
        self._calls = _Calls()
        self._broken = ""
        """The first event with incomplete JSON."""
        self._reason = ""
        """Finish reason; empty until the answer ends."""
        self._has_text = self._has_end = self._is_done = self._has_failed = False

    @property
    def has_words_only(self) -> bool:
        """True if text outside events arrived, but no answer."""
        return bool(self._words) and not self._has_text

    def feed(self, data: bytes) -> list[bytes]:
        """Process bytes, and return the completed events."""
        self._bytes += data
        if not self._begun and not self._begin():
            return []
        if self._is_whole:
            if len(self._bytes) > _LONGEST_WHOLE:
                raise httpx2.DecodingError(
                    f"the answer has more than {_LONGEST_WHOLE} bytes and is no stream"
                )
            return []
        # a line may arrive in thousands of pieces, so searched bytes are not searched again
        ends = [found.span() for found in _LINE_END.finditer(self._bytes, self._looked)]
        events: list[bytes] = []
        begin = 0
        for end, next_begin in ends:
            events += self._take(self._bytes[begin:end].decode("utf-8", "replace"))
            begin = next_begin
        del self._bytes[:begin]
        self._looked = max(0, len(self._bytes) - 1)  # the LF of a trailing CR may follow
        return events

    def finish(self) -> list[bytes]:
        """Return the last events.

        :raises httpx2.RemoteProtocolError: the answer, or one of its events, is incomplete.
        """
        if self._is_whole:
            return list(self._read_whole())
        rest = bytes(self._bytes).rstrip(b"\r\n").decode("utf-8", "replace")
        events = [*(self._take(rest) if rest else ()), *self._take("")]
        self._require_whole()
        if self._words and not (self._has_end or self._is_done or self._has_failed):
            events.append(_error(" ".join(self._words)))
        return events

    def _begin(self) -> bool:
        """Distinguish a stream from a whole answer; return False while there are too few bytes."""
        if _BOM.startswith(self._bytes[: len(_BOM)]) and len(self._bytes) < len(_BOM):
            return False
        if self._bytes.startswith(_BOM):
            del self._bytes[: len(_BOM)]
        first = bytes(self._bytes.lstrip(_SPACE)[:1])
        if not first:
            return False
        self._begun = True
        self._is_whole = first in _WHOLE
        return True

    def _take(self, line: str) -> Iterable[bytes]:
        if not line:
            data, name, self._data, self._name = self._data, self._name, [], ""
            return self._event(data, name) if data and not self._is_done else ()
        field_name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field_name == "data":
            self._data.append(value)
        elif field_name == "event":
            self._name = value
        elif field_name in ("", "id", "retry"):
            pass
        elif self._data:
            self._data.append(line)  # a line break within the JSON
        else:
            self._note(line)
        return ()

    def _event(self, data: list[str], name: str) -> Iterator[bytes]:
        for value in _values(data):
            if isinstance(value, dict):
                yield from self._chunk(value, name)
            elif value == _DONE:
                yield from self._end()
            elif isinstance(value, str) and _is_cut(value):
                self._broken = self._broken or value
            elif isinstance(value, str) and (words := value.strip()) and not words.startswith(":"):
                self._note(words)

    def _chunk(self, value: dict[str, Any], name: str) -> Iterator[bytes]:
        if value.get("error") or "error" in (name, value.get("object"), value.get("type")):
            self._has_failed = True
            yield _error(value.get("error") or value)
        elif "choices" in value or "usage" in value:
            yield _event(self._repaired(value))
            if self._reason in _FAILURES:
                self._has_failed = True
                yield _error(f"the provider ended the answer with the reason {self._reason!r}")
        elif words := words_of(value):
            self._note(words)

    def _require_whole(self) -> None:
        if self._broken and not self._has_failed:
            raise httpx2.RemoteProtocolError(_ENDED_WITHIN)

    def _end(self) -> Iterator[bytes]:
        self._require_whole()
        if self._has_text and not self._has_end:  # the server ends its stream in this way
            yield _event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self._is_done = self._has_text or self._has_end or not self._words
        if self._is_done:
            yield _event(_DONE)

    def _repaired(self, value: dict[str, Any]) -> dict[str, Any]:
        choices = value.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return value
        if "delta" not in choice and isinstance(message := choice.pop("message", None), dict):
            choice["delta"] = message
        delta = choice.get("delta")
        says = isinstance(delta, dict) and any(text for key, text in delta.items() if key != "role")
        self._has_text = self._has_text or says
        self._reason = str(choice.get("finish_reason") or "")
        self._has_end = self._has_end or bool(self._reason)
        if isinstance(delta, dict) and isinstance(calls := delta.get("tool_calls"), list):
            for place, call in enumerate(calls):
                if isinstance(call, dict):
                    self._calls.number(call, place if len(calls) > 1 else None)
        return value

    def _read_whole(self) -> Iterator[bytes]:
        text = bytes(self._bytes).decode("utf-8", "replace")
        values = _values([text])
        if isinstance(last := values[-1] if values else "", str) and _is_cut(last):
            raise httpx2.RemoteProtocolError(_ENDED_WITHIN)
        objects = [value for value in values if isinstance(value, dict | list)]
        found = [one for value in objects for one in (value if isinstance(value, list) else [value])]
        for value in found:
            if isinstance(value, dict):
                yield from self._chunk({"object": "chat.completion.chunk", **value}, "")
        if self._has_text:
            yield from self._end()
        elif not self._has_failed:
            yield _error(" ".join(self._words) or words_of(text))

    def _note(self, words: str) -> None:
        if sum(map(len, self._words)) < _LONGEST_WORDS:
            self._words.append(words[:_LONGEST_WORDS])


@dataclass(slots=True)
class _Calls:
    """Tool calls of an answer; some servers reuse an index for several calls, or repeat a name."""

    names: dict[int, str] = field(default_factory=dict)
    ids: dict[int, str] = field(default_factory=dict)
    places: dict[int, int] = field(default_factory=dict)
    """Call index by the server's index."""
    arguments: dict[int, list[str]] = field(default_factory=dict)
    last: int = 0

    def number(self, call: dict[str, Any], place: int | None) -> None:
        """Assign a delta to its call.

        :param place: position among the delta's calls, None for the only one.
        """
        function = call.get("function")
        name = function.get("name") if isinstance(function, dict) else None
        said = name if isinstance(name, str) else ""
        written = function.get("arguments") if isinstance(function, dict) else None
        more = written if isinstance(written, str) else ""
        told, own = call.get("index"), str(call.get("id") or "")
        index = told if isinstance(told, int) else (self.last if place is None else place)
        at = self.places.get(index)
        begun = self.places.get(self.last)
        if at is None and begun is not None and not (said or own or _is_object(self.arguments[begun])):
            at = self.places[index] = begun  # continues a call that began under another index
        if at is None or (said and self._is_another(at, own, said, more, told)):
            at = index if index not in self.names else max(self.names) + 1
            self.places[index] = at
            self.names[at], self.ids[at], self.arguments[at] = said, own, []
        elif said and said == self.names[at] and isinstance(function, dict):
            function.pop("name")
        else:
            self.names[at] += said
        self.arguments[at].append(more)
        call["index"], self.last = at, index

    def _is_another(self, at: int, own: str, name: str, more: str, told: object) -> bool:
        """Tell whether a delta with a name begins another call than the current one at its index."""
        if own and self.ids[at] and own != self.ids[at]:
            return True
        if told is None and not own:
            return True
        return bool(name != self.names[at] or more) and _is_object(self.arguments[at])


def _is_object(pieces: list[str]) -> bool:
    last = next((piece for piece in reversed(pieces) if piece.strip()), "")
    if not last.rstrip().endswith("}"):  # a cheap test first: the whole may be long
        return False
    try:
        return isinstance(json.loads("".join(pieces), strict=False), dict)
    except (ValueError, RecursionError):
        return False


def _is_cut(text: str) -> bool:
    """Tell whether a text begins as a JSON object and is incomplete."""
    text = text.strip()
    if not text.startswith("{"):
        return False
    try:
        json.loads(text, strict=False)
    except RecursionError:
        return False
    except json.JSONDecodeError as error:
        return (
            error.msg.startswith("Unterminated string") or _END_OF_JSON.fullmatch(text, error.pos) is not None
        )
    return False


def _values(data: list[str]) -> list[Any]:
    """Return an event's JSON values, from all lines together or from each line; else the text."""
    for text in ("\n".join(data), "".join(data)):
        if text.strip() == _DONE:
            return [_DONE]
        try:
            return [json.loads(text, strict=False)]
        except (ValueError, RecursionError):
            continue
    return _objects("\n".join(data)) or ["\n".join(data)]


def _objects(text: str) -> list[Any]:
    """Return consecutive JSON objects, and an incomplete last one as text; empty if other text is present."""
    found: list[Any] = []
    at = 0
    while between := _BETWEEN.match(text, at):
        at = between.end()
        if at == len(text):
            return found
        if text.startswith(_DONE, at):
            found.append(_DONE)
            at += len(_DONE)
            continue
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return [*found, text[at:]] if found and _is_cut(text[at:]) else []
        found.append(value)
    raise AssertionError("unreachable: the separator pattern matches any text")


def _event(value: object) -> bytes:
    text = value if isinstance(value, str) else json.dumps(value)
    return f"data: {text}\n\n".encode()


def _error(said: object) -> bytes:
    told = {key: said[key] for key in ("code", "type") if key in said} if isinstance(said, dict) else {}
    return _event({"error": {**told, "message": words_of(said) or "the answer is empty"}})
