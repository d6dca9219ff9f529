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
from tideate_core.mcp.protocol import first_problem

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
_FRAMED: Final = re.compile(rb"(?i)content-length: *\d+\s*$")
_BROKEN: Final = re.compile(rb"\s*(?:\{.{0,200})?[\"']?jsonrpc[\"']?\s*:", re.DOTALL)
"""A line meant as a message or a part of one, such as a printed Python dictionary."""
_SHOWN: Final = 100


def repaired(data: bytes) -> bytes | None:
    """Repair an invalid message; None if it is not a JSON object.

    An answer with an invalid `result` or `error` becomes an error answer to the same request.

    :raises InvalidAnswer: the message is nested too deeply.
    """
    try:
        value = _loads(data)
    except ValueError:
        return None
    except RecursionError:
        if not data.lstrip().startswith(b"{"):
            return None
        raise InvalidAnswer("a message is nested too deeply") from None
    if not isinstance(value, dict):
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


def framing_problem(line: bytes) -> InvalidAnswer | None:
    """Return the error for an invalid line that is part of a message; None for other output."""
    if _FRAMED.match(line):
        return InvalidAnswer(
            "it writes `Content-Length` headers, as language servers do; an MCP message is one line"
        )
    if not _BROKEN.match(line):
        return None
    try:
        json.loads(line, strict=False)
    except (ValueError, RecursionError):
        shown = line[:_SHOWN].decode(errors="replace")
        return InvalidAnswer(f"it writes a message that is not one line of JSON: {shown}")
    return None


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
