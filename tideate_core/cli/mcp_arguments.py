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
        found[key] = _value(tool, key, value)
    return found


def _value(tool: Tool, key: str, value: str) -> Any:
    """Read a value; what is no JSON is text, and whether that fits is for the schema to say."""
    if "string" in _kinds(tool.input_schema, tool.properties.get(key)):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _kinds(schema: Mapping[str, Any], shape: Any) -> set[str]:
    """Return the types that a value may have, as far as they are named."""
    definitions = schema.get("$defs")
    known = definitions if isinstance(definitions, dict) else {}
    found: set[str] = set()
    seen: set[int] = set()
    left = [shape]
    while left:
        shape = left.pop()
        if not isinstance(shape, dict) or id(shape) in seen:
            continue
        seen.add(id(shape))
        named = shape.get("type")
        found.update(one for one in (named if isinstance(named, list) else [named]) if isinstance(one, str))
        left.append(known.get(str(shape.get("$ref", "")).removeprefix("#/$defs/")))
        for word in ("anyOf", "oneOf", "allOf"):
            left += shape[word] if isinstance(shape.get(word), list) else []
    return found
