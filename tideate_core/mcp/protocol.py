"""Validate MCP messages against the protocol, in both directions.

For `strict` connections and tests: a session of the SDK accepts more.
"""

from __future__ import annotations

import json
from collections import deque
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from mcp_types import JSONRPCError, JSONRPCResponse, methods
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION
from pydantic import TypeAdapter, ValidationError

from tideate_core.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.shared.message import SessionMessage

Side: TypeAlias = Literal["client", "server"]

VERSION: Final = "io.modelcontextprotocol/protocolVersion"
"""Key of the protocol version in a request of the newest protocol."""
CANCELLED: Final = "notifications/cancelled"
REMEMBERED: Final = 1_000
"""Cancelled requests to remember: an answer may already be under way."""
SHOWN: Final = 60
CALLS: Final[Mapping[tuple[Side, str], Mapping[tuple[str, str], Any]]] = {
    ("client", "request"): methods.CLIENT_REQUESTS,
    ("client", "notification"): methods.CLIENT_NOTIFICATIONS,
    ("server", "request"): methods.SERVER_REQUESTS,
    ("server", "notification"): methods.SERVER_NOTIFICATIONS,
}
RESULTS: Final[Mapping[Side, Mapping[tuple[str, str], Any]]] = {
    "client": methods.CLIENT_RESULTS,
    "server": methods.SERVER_RESULTS,
}
"""Results by the side that answers."""


class ProtocolViolation(ValueError):
    """A message violates the protocol; the text names the invalid field."""


class MessageValidator:
    """Validator of a client's messages that matches answers with requests."""

    def __init__(self) -> None:
        self._version = LATEST_HANDSHAKE_VERSION
        self._asked: dict[tuple[Side, str | int], tuple[str, str]] = {}
        """Open requests by side and id: method and protocol version."""
        self._cancelled: deque[tuple[Side, str | int]] = deque(maxlen=REMEMBERED)

    def check(self, message: SessionMessage, direction: str) -> None:
        """Validate the next message.

        :param direction: `sent` or `received`.
        :raises ProtocolViolation: it does not fit.
        """
        self.check_json(message.message.model_dump(mode="json", by_alias=True, exclude_unset=True), direction)

    def check_json(self, message: Any, direction: str) -> None:
        """Validate the next message as the JSON value on the wire.

        :raises ProtocolViolation: it does not fit.
        """
        sides: tuple[Side, Side] = ("client", "server") if direction == "sent" else ("server", "client")
        try:
            if not isinstance(message, dict):
                raise ProtocolViolation("a message is a JSON object")
            if "method" in message:
                self._check_call(message, sides[0])
            else:
                self._check_answer(message, *sides)
        except ProtocolViolation as error:
            raise ProtocolViolation(f"{direction}, MCP {self._version}: {error}") from None

    def _check_call(self, message: dict[str, Any], sender: Side) -> None:
        """Validate a request or notification."""
        method = message["method"]
        # a client whose `server/discover` failed falls back to the handshake of the earlier protocol
        back = LATEST_HANDSHAKE_VERSION if method == "initialize" else self._version
        version = self._version = _version_of(message) or back
        kind = "request" if "id" in message else "notification"
        known = {name: model for (name, since), model in CALLS[sender, kind].items() if since == version}
        if method not in known:
            shown = str(method)[:SHOWN]
            near = did_you_mean(shown, sorted(known))
            raise ProtocolViolation(f"method: {shown!r} is not a {kind} of a {sender}{near}")
        _validate(known[method], message)
        if kind == "request":
            number = message["id"]
            if (sender, number) in self._asked:
                raise ProtocolViolation(f"id: {number!r:.{SHOWN}} is the id of another request under way")
            self._asked[sender, number] = (method, version)
        elif method == CANCELLED:
            cancelled = (sender, message["params"].get("requestId"))
            if self._asked.pop(cancelled, None):
                self._cancelled.append(cancelled)

    def _check_answer(self, message: dict[str, Any], sender: Side, asker: Side) -> None:
        """Validate a result or error."""
        _validate(JSONRPCError if "error" in message else JSONRPCResponse, message)
        number = message["id"]
        # the id is null if the request was unreadable
        if number is None or (asker, number) in self._cancelled:
            return
        if (asker, number) not in self._asked:
            raise ProtocolViolation(f"id: {number!r:.{SHOWN}} answers no request that is under way")
        asked = self._asked.pop((asker, number))
        if "error" not in message:
            _validate(RESULTS[sender][asked], message["result"], "result.")
            if asked[0] == "initialize":
                self._version = _known(message["result"]["protocolVersion"])


def _version_of(message: Mapping[str, Any]) -> str | None:
    """Return the protocol version that a message names, or None."""
    try:
        return _known(message["params"]["_meta"][VERSION])
    except (KeyError, TypeError):
        return None


def _known(version: str) -> str:
    return version if version in KNOWN_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)


def _validate(model: Any, value: Any, place: str = "") -> None:
    """:raises ProtocolViolation: the value does not fit the model."""
    try:
        _adapter(model).validate_json(json.dumps(value), strict=True, by_name=False)
    except ValidationError as error:
        raise ProtocolViolation(f"{place}{first_problem(error)}") from None


def first_problem(error: ValidationError) -> str:
    """Describe the first invalid field on one line, in the alternative that fits best."""
    errors = error.errors(include_url=False, include_input=False, include_context=False)
    # the location of a union includes the name of the model that was tried
    others = {_alternative(one["loc"]) for one in errors if one["type"] == "literal_error"}
    first = next((one for one in errors if _alternative(one["loc"]) not in others), errors[0])
    place = [str(part)[:SHOWN] for part in first["loc"] if not _is_model(part)]
    words = f"{first['msg'][:1].lower()}{first['msg'][1:]}"
    return f"{'.'.join(place)}: {words}" if place else words


def _alternative(place: tuple[int | str, ...]) -> tuple[int | str, ...]:
    last = max((at for at, part in enumerate(place) if _is_model(part)), default=-1)
    return place[: last + 1]


def _is_model(part: int | str) -> bool:
    return str(part)[:1].isupper()
