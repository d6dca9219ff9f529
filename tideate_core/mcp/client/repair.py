"""Repair nearly valid JSON-RPC messages, so that no request waits for a dropped answer.

Lone surrogates and bytes that are not UTF-8 become U+FFFD. An invalid answer becomes an error of its request.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

from tideate_core.errors import InvalidAnswer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_HALF: Final = re.compile("[\ud800-\udfff]")
_SUSPECT: Final = re.compile(rb"\\u[dD][89a-fA-F]|[^\0-\x7f]")
_BATCH: Final = re.compile(rb"data:\s*\[")
_EVENT_END: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LONGEST_END: Final = 3
"""Bytes of an incomplete end of an event."""
_BEFORE_JSON: Final = b" \t\r\n\0\xef\xbb\xbf\xff\xfe"
"""White space, byte order marks, and the zero bytes of UTF-16."""
_MOST_HELD: Final = 64 * 1024
"""Bytes of lines to join in search of one message over several lines."""


def repaired(data: bytes) -> bytes | None:
    """Repair an invalid message; None if it is not a JSON object.

    An answer with an invalid `result` or `error` becomes an error answer to the same request.

    :raises InvalidAnswer: the message is nested too deeply.
    """
    value = _object_of(data)
    if value is None:
        return None
    request = value.get("id")
    if isinstance(request, float) and request.is_integer():
        value["id"] = request = int(request)
    whole = _dumped(value)
    try:
        types.jsonrpc_message_adapter.validate_json(whole, by_name=False)
    except ValidationError as error:
        if "method" in value or not isinstance(request, int | str) or isinstance(request, bool):
            return None
        failure = {"code": types.INTERNAL_ERROR, "message": _error_message(value)}
        if not failure["message"]:
            words = f"its answer is not valid: {_answer_problem(value, error)}"
            failure = {"code": types.PARSE_ERROR, "message": words}
        return _dumped({"jsonrpc": "2.0", "id": request, "error": failure})
    return whole


def batch_of(data: bytes) -> list[bytes]:
    """Split a JSON-RPC batch of an earlier protocol into messages; empty if it is not a batch."""
    if not data.lstrip(_BEFORE_JSON).startswith(b"["):
        return []
    try:
        value = _loads(data)
    except (ValueError, RecursionError):
        return []
    is_batch = isinstance(value, list) and all(isinstance(one, dict) and "jsonrpc" in one for one in value)
    return [_dumped(one) for one in value] if is_batch else []


def _loads(data: bytes) -> Any:
    text = data.decode(json.detect_encoding(data), "replace")
    return json.loads(text.removeprefix("\ufeff"), strict=False)


def _object_of(data: bytes) -> dict[str, Any] | None:
    try:
        value = _loads(data)
    except ValueError:
        return None
    except RecursionError:
        if not data.lstrip().startswith(b"{"):
            return None
        raise InvalidAnswer("a message is nested too deeply") from None
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and "jsonrpc" in value[0]:
        (value,) = value
    return value if isinstance(value, dict) else None


def _dumped(value: Any) -> bytes:
    return _HALF.sub("\ufffd", json.dumps(value, ensure_ascii=False)).encode()


def _error_message(value: dict[str, Any]) -> str:
    """Return the message of an error with an unusual structure."""
    error = value.get("error")
    words = error.get("message") if isinstance(error, dict) else error
    return words if isinstance(words, str) else ""


def _answer_problem(value: dict[str, Any], error: ValidationError) -> str:
    for name in ("result", "error"):
        if name in value and not isinstance(value[name], dict):
            kind = "null" if value[name] is None else type(value[name]).__name__
            return f"`{name}` is {kind}, and has to be an object"
    if "result" not in value and "error" not in value:
        return "it has neither `result` nor `error`"
    if "error" in value and "result" not in value:
        return "`error` has no `message`"
    return first_problem(error)


def first_problem(error: ValidationError) -> str:
    """Describe the first invalid field on one line."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    # the location of a union includes the name of the model that was tried
    place = [str(part) for part in first["loc"] if not str(part)[:1].isupper()]
    words = f"{first['msg'][:1].lower()}{first['msg'][1:]}"
    return f"{'.'.join(place)}: {words}" if place else words


async def events_repaired(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield an event stream, with the data of each event repaired if it is not a valid message."""
    held = bytearray()
    async for chunk in chunks:
        looked = max(0, len(held) - _LONGEST_END)
        held += chunk
        while found := _EVENT_END.search(held, looked):
            yield _event_repaired(bytes(held[: found.end()]))
            del held[: found.end()]
            looked = 0
    if held:
        yield bytes(held)


def _event_repaired(event: bytes) -> bytes:
    is_one = re.search(rb'"result"\s*:\s*\{|"method"\s*:', event) and not _BATCH.search(event)
    if is_one and not _SUSPECT.search(event):
        return event  # valid
    lines = re.split(rb"\r\n|\n|\r", event)
    data = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
    text = b"\n".join(data)
    if not text.strip() or is_message(text):
        return event
    whole = repaired(text)
    made = [repaired(one) or one for one in batch_of(text)] if whole is None else [whole]
    kept = b"".join(line + b"\n" for line in lines if line and not line.startswith(b"data:"))
    return b"".join(kept + b"data: " + one + b"\n\n" for one in made) or event


def is_message(text: bytes) -> bool:
    """Tell whether bytes are a valid message."""
    try:
        types.jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        return False
    return True


_BROKEN: Final = re.compile(rb"\s*\{.{0,200}jsonrpc.*\}\s*\Z", re.DOTALL)
"""A line meant as a message, such as a printed Python dictionary or JavaScript object."""
_BEGUN: Final = re.compile(rb"\s*\{\s*\"(?:jsonrpc|id)\"")
_SHOWN: Final = 100


class FramingCheck:
    """Detector of servers that do not write one message a line."""

    def __init__(self) -> None:
        self._held: list[bytes] = []

    def unreadable(self, line: bytes) -> InvalidAnswer | None:
        """Inspect an invalid line; return an error if it is part of a message."""
        if re.match(rb"(?i)content-length: *\d+\s*$", line):
            return InvalidAnswer(
                "it writes `Content-Length` headers, as language servers do; an MCP message is one line"
            )
        if not self._held and not line.lstrip().startswith(b"{"):
            return None
        if _BROKEN.match(line) and not _is_json(line):
            return InvalidAnswer(
                f"it writes a message that is not JSON: {line[:_SHOWN].decode(errors='replace')}"
            )
        self._held.append(line)
        if sum(map(len, self._held)) > _MOST_HELD:
            self._held = []
            return None
        try:
            value = json.loads(b"".join(self._held), strict=False)
        except (ValueError, RecursionError):
            return None
        count, self._held = len(self._held), []
        if isinstance(value, dict) and "jsonrpc" in value:
            if count == 1:
                return None  # it may not belong to a request
            return InvalidAnswer("it writes a message over several lines; an MCP message is one line")
        return None

    def message(self) -> InvalidAnswer | None:
        """Start over at a valid message; return an error if the previous one is incomplete."""
        held, self._held = b"".join(self._held), []
        if _BEGUN.match(held):
            return InvalidAnswer("it writes a message without its end")
        return None


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line, strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def drop_invalid_tools(result: dict[str, Any], version: str) -> dict[str, str]:
    """Remove invalid tools from a page of a list; return the reasons by name.

    :param version: the protocol version.
    """
    left_out: dict[str, str] = {}
    listed = result.get("tools")
    if not isinstance(listed, list) or not _problem_of(result, listed, version):
        return left_out
    kept = []
    for number, tool in enumerate(listed):
        if why := _problem_of(result, [tool], version):
            name = tool.get("name") if isinstance(tool, dict) else None
            left_out[name if isinstance(name, str) and name else f"#{number + 1}"] = why
        else:
            kept.append(tool)
    result["tools"] = kept
    return left_out


def _problem_of(result: dict[str, Any], tools: list[Any], version: str) -> str:
    page = {**result, "tools": tools}
    try:
        validate_server_result("tools/list", version, page)
        types.ListToolsResult.model_validate(page, by_name=False)
    except ValidationError as error:
        return first_problem(error).removeprefix("tools.0.")
    return ""
