"""A server's tools as a caller sees them, and whether arguments fit one."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidArguments, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jsonschema.exceptions import ValidationError

__all__ = ["Tool", "ToolResult", "check_arguments"]

MOST_TOLD: Final = 5
"""Mistakes that one error names."""
LONGEST_REASON: Final = 200
"""Characters of one mistake: jsonschema repeats the value, which may be of any length."""


@dataclass(frozen=True)
class Tool:
    """A tool, as its server describes it. The hints of a server that is not ours are its own word only."""

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
    """Its server is one of tideate's own."""
    identity: str = ""
    """Of its server."""

    @property
    def repeatable(self) -> bool:
        """A second call does no more than the first."""
        return self.read_only or self.idempotent

    @cached_property
    def digest(self) -> str:
        """What a permission is bound to: the server, and all that the tool says of itself."""
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
    """What a call gave."""

    value: Any
    """JSON: the structured content where there is any, else the text, else the list of its parts."""
    text: str = ""


def check_arguments(tool: Tool, arguments: Mapping[str, Any]) -> None:
    """Check arguments before they are sent.

    :raises InvalidArguments: they do not fit; names each argument that is wrong, and the nearest name.
    """
    found = list(_unknown(tool, arguments))
    for mistake in _mistakes(tool, arguments):
        if len(found) > MOST_TOLD:
            break
        if mistake.validator == "additionalProperties" and not mistake.absolute_path:
            continue  # told above, with the nearest name
        found.append(_words(mistake))
    if found:
        told = "; ".join([*found[:MOST_TOLD], *(["and more"] if len(found) > MOST_TOLD else [])])
        raise InvalidArguments(f"wrong arguments for {tool.name!r} of {tool.server!r}: {told}")


def _unknown(tool: Tool, arguments: Mapping[str, Any]) -> Iterator[str]:
    properties = tool.input_schema.get("properties")
    known = [name for name in properties if name not in arguments] if isinstance(properties, dict) else []
    closed = tool.input_schema.get("additionalProperties") is False
    for name in arguments:
        if isinstance(properties, dict) and name in properties:
            continue
        near = did_you_mean(name, known)
        # other spellings of a name are between the tool and its server; a slip of the pen is not
        if closed or (near and _snake(name) not in known):
            names = ", ".join(sorted(properties or ())) or "none"
            yield f"{name[:60]!r} is not known{near} (known: {names})"


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _mistakes(tool: Tool, arguments: Mapping[str, Any]) -> Iterator[ValidationError]:
    # here, because it is slow to load
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    kind = validator_for(tool.input_schema, default=Draft202012Validator)
    try:
        kind.check_schema(tool.input_schema)
        # an empty registry: by default a reference to an address would be fetched
        yield from kind(tool.input_schema, registry=Registry()).iter_errors(dict(arguments))
    except (SchemaError, Unresolvable) as error:
        raise InvalidArguments(
            f"the schema that {tool.server!r} gives for the arguments of {tool.name!r} is no JSON Schema "
            f"({str(error)[:LONGEST_REASON]}); nothing can be checked against it, so nothing was sent"
        ) from error


def _words(mistake: ValidationError) -> str:
    message = mistake.message
    if len(message) > LONGEST_REASON:
        half = LONGEST_REASON // 2
        message = f"{message[:half]} … {message[-half:]}"
    path = mistake.json_path.removeprefix("$").removeprefix(".")
    return f"{path}: {message}" if path else message
