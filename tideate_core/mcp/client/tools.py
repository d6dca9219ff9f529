"""Records of a server's tools and results, their validation by schema, and the person's permissions."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pydantic.alias_generators import to_snake

from tideate_core.errors import InvalidAnswer, InvalidArguments, SlowSchema, UnusableSchema, did_you_mean
from tideate_core.mcp.client.server_text import short_line
from tideate_core.project import Trust
from tideate_core.util.json_schemas import mistakes_of_server

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from jsonschema.exceptions import ValidationError

log = logging.getLogger(__name__)

MOST_TOLD: Final = 5
"""Mistakes named in one error."""
MOST_NAMES: Final = 100
LONGEST_NAME: Final = 60
LONGEST_NAMES: Final = 1_000
LONGEST_REASON: Final = 200
"""Characters of one mistake; jsonschema repeats the value, which may have any length."""


@dataclass(frozen=True)
class Tool:
    """A tool as its server describes it; hints of a foreign server are unverified."""

    server: str
    name: str
    description: str = ""
    title: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True
    own: bool = False
    """Whether its server is one of tideate's own."""
    identity: str = ""
    """Identity of its server."""

    @property
    def properties(self) -> Mapping[str, Any]:
        """Schemas of the arguments, by name."""
        found = self.input_schema.get("properties")
        return found if isinstance(found, dict) else {}

    @property
    def required(self) -> frozenset[str]:
        """Names of the required arguments."""
        found = self.input_schema.get("required")
        return (
            frozenset(name for name in found if isinstance(name, str))
            if isinstance(found, list)
            else frozenset()
        )

    @property
    def repeatable(self) -> bool:
        """True if a second call has no further effect."""
        return self.read_only or self.idempotent

    @cached_property
    def size(self) -> int:
        """Characters of the whole description."""
        return len(json.dumps(self.as_json()))

    @cached_property
    def digest(self) -> str:
        """Digest for permissions, of the server's identity and the whole description."""
        said = [
            *(self.identity, self.name, self.title, self.description, self.input_schema, self.output_schema),
            *(self.read_only, self.destructive, self.idempotent, self.open_world),
        ]
        text = json.dumps(said, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "input_schema": dict(self.input_schema),
            "output_schema": None if self.output_schema is None else dict(self.output_schema),
            "read_only": self.read_only,
            "destructive": self.destructive,
            "idempotent": self.idempotent,
            "open_world": self.open_world,
        }


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Result of a call."""

    value: Any
    """JSON: the structured content, else the text, else the list of content parts."""
    text: str = ""


def check_arguments(tool: Tool, arguments: Mapping[str, Any]) -> None:
    """Validate arguments before they are sent.

    :raises InvalidArguments: arguments are invalid; the message names each one and the nearest name.
    """
    found = list(_unknown(tool, arguments))
    try:
        for mistake in mistakes_of_server(dict(arguments), tool.input_schema, MOST_TOLD + 1):
            if mistake.validator == "additionalProperties" and not mistake.absolute_path:
                continue  # reported above, with the nearest name
            found.append(_mistake_text(mistake))
    except UnusableSchema as error:
        raise InvalidArguments(
            f"the schema that {tool.server!r} gives for the arguments of {tool.name!r} is not a JSON Schema "
            f"that can be used ({short_line(str(error), LONGEST_REASON)}); "
            "nothing can be checked against it, so nothing was sent"
        ) from error
    if found:
        told = "; ".join([*found[:MOST_TOLD], *(["and more"] if len(found) > MOST_TOLD else [])])
        raise InvalidArguments(f"wrong arguments for {tool.name!r} of {tool.server!r}: {told}")


def check_result(tool: Tool, value: Any) -> None:
    """Validate the result of a tool, unless this takes too long.

    :raises InvalidAnswer: the result does not match the tool's schema.
    """
    if tool.output_schema is None:
        return
    try:
        mistakes = mistakes_of_server(value, tool.output_schema, 1)
    except SlowSchema:
        log.info("%s of the MCP server %s gave a result too large to check", tool.name, tool.server)
        return
    except UnusableSchema as error:
        raise InvalidAnswer(
            f"the schema that {tool.server!r} gives for the result of {tool.name!r} cannot be used "
            f"({short_line(str(error), LONGEST_REASON)})"
        ) from error
    if mistakes:
        raise InvalidAnswer(
            f"{tool.name!r} of the MCP server {tool.server!r} gave a result that does not match its schema: "
            f"{_mistake_text(mistakes[0])}"
        )


def _unknown(tool: Tool, arguments: Mapping[str, Any]) -> Iterator[str]:
    properties = tool.properties
    known = [name for name in properties if name not in arguments][:MOST_NAMES]
    closed = tool.input_schema.get("additionalProperties") is False
    for name in arguments:
        if name in properties:
            continue
        near = did_you_mean(name[:LONGEST_NAME], known)
        # alternative spellings are left to the server; a typing mistake is not
        if closed or (near and to_snake(name[:LONGEST_NAME]) not in known):
            names = short_line(", ".join(sorted(properties)[:MOST_NAMES]), LONGEST_NAMES) or "none"
            yield f"{name[:LONGEST_NAME]!r} is not known{short_line(near, LONGEST_REASON)} (known: {names})"


def _mistake_text(mistake: ValidationError) -> str:
    message = mistake.message
    if len(message) > LONGEST_REASON:
        half = LONGEST_REASON // 2
        message = f"{message[:half]} … {message[-half:]}"
    path = mistake.json_path.removeprefix("$").removeprefix(".")[:LONGEST_REASON]
    return short_line(f"{path}: {message}" if path else message, 3 * LONGEST_REASON)


class ToolPermissions:
    """The person's permanent permissions for tools in a project.

    A permission covers the exact tool: its server's command or address, and its whole description. A changed
    description asks again. Permissions are kept in the person's state, not in the project.
    """

    def __init__(self, root: Path, trust: Trust | None = None) -> None:
        self._trust = trust or Trust(root)

    def allows(self, tool: Tool) -> bool:
        """Tell whether a tool may be called without asking.

        :raises ConfigError: the permissions cannot be read.
        """
        # a foreign server may call any tool read-only
        return (tool.own and tool.read_only) or self._trust.allows(_meaning(tool))

    def allow(self, tool: Tool) -> None:
        """Permit a tool in this project; `tideate trust --revoke` revokes it.

        :raises ConfigError: the permissions cannot be read or written.
        """
        self._trust.allow(_meaning(tool), f"the tool {tool.name!r} of the MCP server {tool.server!r}")


def _meaning(tool: Tool) -> str:
    return f"mcp tool\0{tool.digest}"
