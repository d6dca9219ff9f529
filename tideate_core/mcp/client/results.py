"""Convert the MCP SDK's tools, call results and exceptions to tideate's types and errors."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

import anyio
import httpx2
import mcp_types as types
from jsonschema.exceptions import ValidationError as SchemaMismatch
from mcp.client._input_required import InputRequiredRoundsExceededError
from mcp.client.streamable_http import StreamableHTTPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from tideate_core.errors import (
    InvalidAnswer,
    InvalidArguments,
    ServerUnavailable,
    SessionExpired,
    TideateError,
    ToolError,
    ToolFailed,
    ToolInterrupted,
    ToolTimedOut,
)
from tideate_core.mcp.client.server_text import quoted, short, short_line
from tideate_core.mcp.client.tools import Tool, ToolResult, check_result
from tideate_core.mcp.protocol import first_problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tideate_core.mcp.client.specs import ServerSpec

LARGEST: Final = 4 * 1024 * 1024
"""Bytes of a result's JSON."""
LARGEST_SCHEMAS: Final = 256 * 1024
"""Bytes of a tool's schemas."""
LONGEST_DESCRIPTION: Final = 10_000
LONGEST_TITLE: Final = 200
BY_CODE: Final[Mapping[int, type[ToolError]]] = {
    types.CONNECTION_CLOSED: ToolInterrupted,
    types.HEADER_MISMATCH: InvalidAnswer,
    types.INTERNAL_ERROR: ToolFailed,
    types.INVALID_PARAMS: InvalidArguments,
    types.INVALID_REQUEST: InvalidAnswer,
    types.METHOD_NOT_FOUND: InvalidAnswer,
    types.MISSING_REQUIRED_CLIENT_CAPABILITY: ToolFailed,
    types.PARSE_ERROR: InvalidAnswer,
    types.REQUEST_TIMEOUT: ToolTimedOut,
    types.UNSUPPORTED_PROTOCOL_VERSION: ServerUnavailable,
    types.URL_ELICITATION_REQUIRED: ToolFailed,
}
"""Errors by JSON-RPC code, from the server or made by the SDK when a connection ended."""
BY_KIND: Final[Mapping[type[Exception], type[ToolError]]] = {
    anyio.BrokenResourceError: ToolInterrupted,
    anyio.ClosedResourceError: ToolInterrupted,
    anyio.EndOfStream: ToolInterrupted,
    SchemaMismatch: InvalidAnswer,
    ValidationError: InvalidAnswer,
    InputRequiredRoundsExceededError: ToolFailed,
    ListenNotSupportedError: InvalidAnswer,
    SubscriptionLost: ToolInterrupted,
    StreamableHTTPError: ServerUnavailable,
    httpx2.HTTPError: ServerUnavailable,
    httpx2.InvalidURL: ServerUnavailable,
    TimeoutError: ToolTimedOut,
    OSError: ServerUnavailable,
    RuntimeError: InvalidAnswer,  # the SDK's, of a result that does not fit the tool's own schema
    ValueError: InvalidAnswer,
}
"""Errors by type of exception; the first match counts."""
SESSION_ENDED: Final = "session ended"
REFUSED: Final = "refused"
"""Markers in the data of errors made from an HTTP status."""
UNPARSED: Final = ("Failed to parse JSON response", "Failed to parse SSE message")
"""Prefixes of SDK errors that repeat pydantic's message."""
PLAIN: Final[Mapping[type[ToolError], str]] = {
    ToolInterrupted: "the connection ended before the answer came",
    ToolTimedOut: "no answer came in time",
}
"""Messages for errors without a readable one."""


def tool_of(spec: ServerSpec, tool: types.Tool) -> Tool:
    """Convert a listed tool, with its texts escaped and shortened.

    :raises InvalidAnswer: its schemas are too large or not valid JSON.
    """
    hints = tool.annotations or types.ToolAnnotations()
    where = f"MCP server {spec.name!r}"
    size = _json_size([tool.input_schema, tool.output_schema], f"{where}: a schema of {tool.name!r} is")
    if size > LARGEST_SCHEMAS:
        raise InvalidAnswer(
            f"{where}: the schemas of {tool.name!r} have {size // 1024} KiB, and at most "
            f"{LARGEST_SCHEMAS // 1024} KiB are taken"
        )
    return Tool(
        spec.name,
        tool.name,
        short(tool.description or "", LONGEST_DESCRIPTION),
        short_line(tool.title or hints.title or "", LONGEST_TITLE),
        tool.input_schema,
        tool.output_schema,
        read_only=bool(hints.read_only_hint),
        destructive=hints.destructive_hint is not False,
        idempotent=bool(hints.idempotent_hint),
        open_world=hints.open_world_hint is not False,
        own=spec.own,
        identity=spec.identity,
    )


def result_of(tool: Tool, answer: types.CallToolResult) -> ToolResult:
    """Convert the result of a call.

    :raises ToolFailed: the tool reported an error.
    :raises InvalidAnswer: the result is too large, not valid JSON, or does not match the tool's schema.
    """
    parts = [part.model_dump(mode="json", by_alias=True, exclude_none=True) for part in answer.content]
    text = "\n".join(part["text"] for part in parts if part["type"] == "text")
    where = f"{tool.name!r} of the MCP server {tool.server!r}"
    if answer.is_error:
        raise ToolFailed(f"{where}: {quoted(text) or 'failed'}")
    value: Any = answer.structured_content
    if value is None:
        value = text if all(part["type"] == "text" for part in parts) else parts
    size = _json_size(value, f"{where} gave a result that is")
    if size > LARGEST:
        raise InvalidAnswer(
            f"{where} gave {size // 1024} KiB, and at most {LARGEST // 1024} KiB are taken; ask it for less"
        )
    if tool.output_schema is not None and answer.structured_content is None:
        raise InvalidAnswer(f"{where} gave no structured content, although its schema requires it")
    check_result(tool, value)
    return ToolResult(value, text)


def _json_size(value: Any, what: str) -> int:
    """Return the bytes of a value as JSON.

    :param what: the value, with a verb, for the error.
    :raises InvalidAnswer: the value is not valid JSON.
    """
    try:
        return len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    except (ValueError, RecursionError) as error:
        raise InvalidAnswer(f"{what} not valid JSON ({short_line(str(error), 100)})") from error


def translate(error: BaseException, server: str, secret: str = "") -> TideateError:
    """Translate an exception of the SDK or a transport.

    :param secret: the connection's marker in errors made by its own transport.
    :raises BaseException: the exception itself, if it is a bug of ours or a cancellation.
    """
    for one in _parts(error):
        if isinstance(one, TideateError):
            return one
    one = next(_parts(error))
    if isinstance(one, MCPError):
        kind = BY_CODE.get(one.code, ToolFailed)
        if secret and one.data == [secret, SESSION_ENDED]:
            kind = SessionExpired
        elif secret and one.data == [secret, REFUSED]:
            kind = ServerUnavailable
        elif one.message.startswith(UNPARSED):
            return _made(kind, server, "its answer is not valid JSON-RPC")
        return _made(kind, server, one.message)
    if isinstance(one, ValidationError):
        return _made(InvalidAnswer, server, f"its answer is not valid: {first_problem(one)}")
    for known, kind in BY_KIND.items():
        if isinstance(one, known):
            return _made(kind, server, str(one))
    raise error


def _made(kind: type[ToolError], server: str, message: str) -> ToolError:
    said: Any = PLAIN.get(kind) or quoted(message) or "it said nothing more"
    return kind(f"MCP server {server!r}: {said}")


def _parts(error: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions of nested groups, without the cancellations that they caused."""
    if isinstance(error, BaseExceptionGroup):
        kept = [one for one in error.exceptions if not isinstance(one, asyncio.CancelledError)]
        for one in kept or error.exceptions:
            yield from _parts(one)
    else:
        yield error
