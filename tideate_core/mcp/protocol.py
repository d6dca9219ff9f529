"""Validate MCP messages against the JSON Schemas of the protocol, in both directions.

For `strict` connections and tests: the SDK is more lenient, and jsonschema is slow. Versions before
2025-11-25
are validated as 2025-11-25, which only added to them.
"""

from __future__ import annotations

import json
from collections import deque
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from jsonschema import Draft202012Validator

from tideate_core.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jsonschema.exceptions import ValidationError
    from mcp.shared.message import SessionMessage

Side: TypeAlias = Literal["client", "server"]

HANDSHAKE: Final = "2025-11-25"
NEWEST: Final = "2026-07-28"
VERSION: Final = "io.modelcontextprotocol/protocolVersion"
"""Key of the protocol version in a request of the newest protocol."""
CANCELLED: Final = "notifications/cancelled"
REMEMBERED: Final = 1_000
"""Cancelled requests to remember: an answer may already be under way."""
SHOWN: Final = 60
ODD_RESULTS: Final = {"resources/subscribe": "EmptyResult", "resources/unsubscribe": "EmptyResult"} | {
    "logging/setLevel": "EmptyResult",
    "ping": "EmptyResult",
}
"""Results not named after their request."""


class ProtocolViolation(ValueError):
    """A message violates the protocol; the text has the JSON pointer of the invalid field."""


class MessageValidator:
    """Validator of a connection's messages that matches answers with requests.

    :param side: our side of the connection.
    """

    def __init__(self, side: Side) -> None:
        self._side: Side = side
        self._other: Side = "server" if side == "client" else "client"
        self._version = HANDSHAKE
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
        sender = self._side if direction == "sent" else self._other
        if not isinstance(message, dict):
            raise ProtocolViolation(f"{direction}: a message is a JSON object")
        try:
            if "method" in message:
                self._check_call(message, sender)
            else:
                self._check_answer(message, sender)
        except ProtocolViolation as error:
            raise ProtocolViolation(f"{direction}, MCP {self._version}: {error}") from None

    def _check_call(self, message: dict[str, Any], sender: Side) -> None:
        """Validate a request or notification."""
        # a client whose `server/discover` failed falls back to the handshake of the earlier protocol
        back = HANDSHAKE if message["method"] == "initialize" else self._version
        version = self._version = _version_of(message) or back
        kind = "Request" if "id" in message else "Notification"
        known = _methods(_schema(version), sender, kind)
        method = message["method"]
        if method not in known:
            raise ProtocolViolation(
                f"/method: {_short(method)} is not a {kind.lower()} of a {sender}{_nearest(method, known)}"
            )
        _validate(message, version, known[method])
        cancelled: Any = (message.get("params") or {}).get("requestId")
        if kind == "Request":
            if (sender, message["id"]) in self._asked:
                raise ProtocolViolation(
                    f"/id: {_short(message['id'])} is the id of another request under way"
                )
            self._asked[sender, message["id"]] = (method, version)
        elif method == CANCELLED and self._asked.pop((sender, cancelled), None):
            self._cancelled.append((sender, cancelled))

    def _check_answer(self, message: dict[str, Any], sender: Side) -> None:
        """Validate a result or error."""
        number = message.get("id")
        failed = "error" in message
        if failed and number is None:
            # JSON-RPC 2.0, section 5: null if the request was unreadable; the schema wants it left out
            message = {key: value for key, value in message.items() if key != "id"}
        _validate(message, self._version, "JSONRPCErrorResponse" if failed else "JSONRPCResultResponse")
        if number is None:
            return
        asker = self._other if sender == self._side else self._side
        if (asker, number) in self._cancelled:
            return
        if (asker, number) not in self._asked:
            raise ProtocolViolation(f"/id: {_short(number)} answers no request that is under way")
        method, version = self._asked.pop((asker, number))
        if not failed:
            _validate(message, version, _answer_to(_schema(version), method))
            if method == "initialize":
                self._version = message["result"]["protocolVersion"]


def _version_of(message: Mapping[str, Any]) -> str | None:
    """Return the protocol version that a message names, or None."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(VERSION) if isinstance(meta, dict) else None
    return version if isinstance(version, str) else None


def _schema(version: str) -> str:
    """Return the version of the schema that applies; ISO dates compare as text."""
    return NEWEST if version >= NEWEST else HANDSHAKE


@cache
def _definitions(schema: str) -> dict[str, Any]:
    path = files("tideate_core.mcp") / "schemas" / f"{schema}.json"
    definitions: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["$defs"]
    return definitions


@cache
def _methods(schema: str, sender: Side, kind: str) -> dict[str, str]:
    """Map each method that a side may send to its definition."""
    definitions = _definitions(schema)
    union = definitions.get(f"{sender.capitalize()}{kind}", {"anyOf": []})
    names = [one["$ref"].rpartition("/")[2] for one in union["anyOf"]] if "anyOf" in union else None
    # if a side has only one kind of message, the definition has no union
    found = names if names is not None else [f"{sender.capitalize()}{kind}"]
    return {definitions[name]["properties"]["method"]["const"]: name for name in found}


@cache
def _answer_to(schema: str, method: str) -> str:
    """Return the definition of a method's answer, or of its result if the schema has no other."""
    definitions = _definitions(schema)
    if method in ODD_RESULTS:
        return ODD_RESULTS[method]
    asked = next(
        name
        for name, one in definitions.items()
        if name.endswith("Request") and one.get("properties", {}).get("method", {}).get("const") == method
    )
    answer = f"{asked.removesuffix('Request')}ResultResponse"
    return answer if answer in definitions else answer.removesuffix("Response")


@cache
def _validator(schema: str, name: str) -> Draft202012Validator:
    definition = {"$ref": f"#/$defs/{name}", "$defs": _definitions(schema)}
    return Draft202012Validator(definition)


def _validate(message: Mapping[str, Any], version: str, name: str) -> None:
    """Validate a message, or its result if only the result is defined.

    :raises ProtocolViolation: it does not match.
    """
    alone = name.endswith("Result")
    errors = list(_validator(_schema(version), name).iter_errors(message["result"] if alone else message))
    if errors:
        error = _precise(errors)
        pointer = "".join(f"/{_escaped(part)}" for part in error.absolute_path)
        raise ProtocolViolation(
            f"{'/result' if alone else ''}{pointer or ('' if alone else '/')}: {_explanation(error)}"
        )


def _precise(errors: Iterable[ValidationError]) -> ValidationError:
    """Return the innermost cause of the first error, in the alternative that fits best."""
    error = min(errors, key=lambda one: [str(part) for part in one.absolute_path])
    while error.context:
        alternatives: dict[Any, list[ValidationError]] = {}
        for cause in error.context:
            alternatives.setdefault(cause.schema_path[0], []).append(cause)
        meant = min(alternatives.values(), key=_distance)
        error = min(meant, key=lambda one: [str(part) for part in one.absolute_path])
    return error


def _distance(causes: list[ValidationError]) -> tuple[bool, bool, int]:
    """Rank how far a value is from an alternative: another kind of value, or one with a few mistakes."""
    own = [cause for cause in causes if len(cause.relative_path) <= 1]
    return (
        any(cause.validator == "const" for cause in own),
        any(cause.validator == "type" and not cause.relative_path for cause in own),
        len(causes),
    )


def _explanation(error: ValidationError) -> str:
    """Describe an error, with the value shortened."""
    value = error.instance
    match error.validator:
        case "required":
            missing = next(name for name in error.validator_value if name not in value)
            others = [name for name in value if name not in error.schema.get("properties", {})]
            like = get_close_matches(missing, [name[:SHOWN] for name in others], 1)
            return f"{missing!r} is missing{f'; {like[0]!r} is there' if like else ''}"
        case "const":
            return f"{_short(value)} has to be {error.validator_value!r}"
        case "enum":
            known = [str(one) for one in error.validator_value]
            return f"{_short(value)} is none of {', '.join(known)}{_nearest(value, known)}"
        case "type":
            types = error.validator_value
            wanted = types if isinstance(types, str) else " or ".join(types)
            return f"{_short(value)} is not of the type {wanted}"
        case _:
            return f"{_short(value)} does not fit {error.validator!r}: {_short(error.validator_value)}"


def _nearest(name: Any, known: Iterable[str]) -> str:
    return did_you_mean(name[:SHOWN], sorted(known)) if isinstance(name, str) else ""


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True, default=repr)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _escaped(part: str | int) -> str:
    """Escape a part of a JSON pointer (RFC 6901, section 4), shortened as it is the sender's input."""
    return str(part)[:SHOWN].replace("~", "~0").replace("/", "~1")
