"""What goes wrong on the way to a server, in our own errors."""

from __future__ import annotations

import asyncio
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
    TideateError,
    ToolError,
    ToolFailed,
    ToolInterrupted,
    ToolTimedOut,
)
from tideate_core.mcp.client.words import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["BY_CODE", "BY_KIND", "translated"]

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
"""Of an error that the server answered, or that the SDK made of a connection's end."""

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
"""Of everything else; the first that fits counts."""

PLAIN: Final[Mapping[type[ToolError], str]] = {
    ToolInterrupted: "the connection ended before the answer came",
    ToolTimedOut: "no answer came in time",
}
"""What is said where the error itself has no words for a person."""


def translated(error: BaseException, server: str) -> TideateError:
    """Return an error of ours for one that came on the way to a server.

    :raises BaseException: it is none of the SDK's or of a transport's: a mistake of ours, or a cancellation.
    """
    for one in _parts(error):
        if isinstance(one, TideateError):
            return one
    one = next(_parts(error))
    if isinstance(one, MCPError):
        kind = BY_CODE.get(one.code, ToolFailed)
        return _made(kind, server, one.message)
    for known, kind in BY_KIND.items():
        if isinstance(one, known):
            return _made(kind, server, str(one))
    raise error


def _made(kind: type[ToolError], server: str, words: str) -> ToolError:
    said: Any = PLAIN.get(kind) or quoted(words) or "it said nothing more"
    return kind(f"MCP server {server!r}: {said}")


def _parts(error: BaseException) -> Iterator[BaseException]:
    """Look into groups: anyio wraps what a task of a transport raised, and what it cancelled for it."""
    if isinstance(error, BaseExceptionGroup):
        kept = [one for one in error.exceptions if not isinstance(one, asyncio.CancelledError)]
        for one in kept or error.exceptions:
            yield from _parts(one)
    else:
        yield error
