"""What is wrong with the schema of a step's output, seen before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import UnusableSchema
from tideate_core.util.json_schemas import check_schema, pattern_problem
from tideate_core.workflows.positions import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.util.deadline import Deadline
    from tideate_core.workflows.positions import Loc

__all__ = ["schema_findings"]

LEADS_OUT: Final = "a `$ref` leads out of the schema"
VALUES: Final = frozenset({"const", "default", "enum", "examples"})
"""Keywords whose value is no schema."""


def schema_findings(schema: Mapping[str, Any], at: Loc, deadline: Deadline) -> Iterator[Finding]:
    """Check a schema by the schema of schemas, and what that leaves open: references and patterns."""
    try:
        mistake = check_schema(schema)
    except UnusableSchema as error:
        yield Finding(at, f"the schema cannot be checked: {error}", "make it smaller")
        return
    if mistake is not None:
        path = (*at, *mistake.absolute_path)
        yield Finding(path, f"this is no JSON Schema: {_brief(mistake.message)}", "correct it")
    yield from _inside(schema, at, deadline)


def _inside(schema: Any, at: Loc, deadline: Deadline) -> Iterator[Finding]:
    if isinstance(schema, list | tuple):
        for index, item in enumerate(schema):
            yield from _inside(item, (*at, index), deadline)
    if not isinstance(schema, Mapping) or deadline.is_over:
        return
    for key, item in schema.items():
        yield from _keyword(key, item, (*at, key), deadline)


def _keyword(key: str, item: Any, at: Loc, deadline: Deadline) -> Iterator[Finding]:
    if key in {"$ref", "$dynamicRef"} and isinstance(item, str) and not item.startswith("#"):
        yield Finding(at, f"{LEADS_OUT}: {_brief(item)!r}", "nothing is fetched; put it under `$defs`")
    elif key == "pattern" and isinstance(item, str):
        yield from _pattern(item, at)
    elif key not in VALUES:
        if key == "patternProperties" and isinstance(item, Mapping):
            for pattern in item:
                yield from _pattern(pattern, (*at, pattern))
        yield from _inside(item, at, deadline)


def _pattern(pattern: str, at: Loc) -> Iterator[Finding]:
    if problem := pattern_problem(pattern):
        yield Finding(at, f"this is no pattern: {problem}", _hint(problem))


def _hint(problem: str) -> str:
    if "look" in problem or "backreference" in problem:
        return "write it without look-around and backreferences; patterns are those of Rust's regex"
    return "correct it; a `\\` needs single quotes in YAML"


def _brief(message: str) -> str:
    return message if len(message) <= 200 else f"{message[:100]} … {message[-90:]}"
