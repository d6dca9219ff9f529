"""Arguments of a tool as words of the shell: `KEY=VALUE`, read by the tool's schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tideate_core.mcp.client import Tool

__all__ = ["arguments_of", "object_of"]


def object_of(text: str) -> dict[str, Any]:
    """Read arguments that are given as JSON.

    :raises InvalidInput: it is no JSON object.
    """
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"--arguments is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInput('--arguments is a JSON object, as in \'{"path": "README.md"}\'')
    return found


def arguments_of(tool: Tool, pairs: Iterable[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments: those that were given as JSON, and each `KEY=VALUE`.

    A value is what the tool's schema says: text stays as it is, the rest is JSON (`3`, `true`, `["a"]`).

    :raises InvalidInput: a word is no `KEY=VALUE`, or names what was named before.
    """
    found = dict(given)
    for pair in pairs:
        key, mark, value = pair.partition("=")
        if not mark or not key:
            raise InvalidInput(f"{pair!r}: an argument is given as KEY=VALUE")
        if key in found:
            raise InvalidInput(f"the argument {key!r} is given twice")
        found[key] = _value(tool.input_schema, key, value)
    return found


def _value(schema: Mapping[str, Any], key: str, value: str) -> Any:
    """Read a value; what is no JSON is text, and whether that fits is for the schema to say."""
    properties = schema.get("properties")
    shape = properties.get(key) if isinstance(properties, dict) else None
    if "string" in _kinds(schema, shape):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _kinds(schema: Mapping[str, Any], shape: Any, depth: int = 8) -> set[str]:
    """Return the types that a value may have, as far as they are named."""
    if not isinstance(shape, dict) or not depth:
        return set()
    named = shape.get("type")
    found = {named} if isinstance(named, str) else {one for one in named or () if isinstance(one, str)}
    definitions = schema.get("$defs")
    name = str(shape.get("$ref", "")).removeprefix("#/$defs/")
    others = [definitions[name]] if isinstance(definitions, dict) and name in definitions else []
    for word in ("anyOf", "oneOf", "allOf"):
        others += shape[word] if isinstance(shape.get(word), list) else []
    return found.union(*(_kinds(schema, other, depth - 1) for other in others))
