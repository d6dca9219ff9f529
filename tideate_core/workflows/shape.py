"""Validate keys, values and output schemas of a definition; build it, or list plain mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, get_args

from pydantic import ValidationError

from tideate_core.errors import UnusableSchema
from tideate_core.util.deadline import Deadline
from tideate_core.util.json_schemas import check_schema, pattern_problem
from tideate_core.workflows.definitions import Needs, WorkflowDefinition
from tideate_core.workflows.limits import LIMITS
from tideate_core.workflows.mistakes import Finding, Problem, canonical, span_of
from tideate_core.workflows.step_definition import (
    WORDS,
    ForEach,
    InputDefinition,
    NestedWorkflow,
    Part,
    ToolCall,
    WorkflowStep,
    kind_in_words,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_core import ErrorDetails

    from tideate_core.workflows.mistakes import Loc, Located, Nearest

PARTS: Final[Mapping[tuple[str, ...], type[Part]]] = {
    (): WorkflowDefinition,
    ("inputs", "*"): InputDefinition,
    ("steps", "*"): WorkflowStep,
    ("steps", "*", "for_each"): ForEach,
    ("steps", "*", "tool"): ToolCall,
    ("steps", "*", "workflow"): NestedWorkflow,
}
"""Models by path; `*` is any name or index."""

TOLD_ELSEWHERE: Final = frozenset({"step_kind", "step_twice"})
"""Error types that `checking` reports with better positions."""

EXPECTED: Final[Mapping[str, tuple[str, str]]] = {
    "bool_type": ("true or false", "write true or false, without quotes"),
    "dict_type": ("a mapping", "write `key: value` lines, indented"),
    "float_type": ("a number", "write digits, without quotes"),
    "int_type": ("a whole number", "write only digits, without quotes; times are milliseconds"),
    "list_type": ("a list", "begin each item with `- `, or write `[a, b]`"),
    "model_type": ("a mapping", "write `key: value` lines, indented"),
    "string_type": ("a text", "put it in quotes"),
    "tuple_type": ("a list", "begin each item with `- `, or write `[a, b]`"),
}
"""By pydantic error type: the expected value, and how to write it."""

NAMES: Final = "a name is a letter or _, then letters, digits, _ . -"
_UUID: Final = ("is not a UUID: {value!r}", "make one with `uuidgen`, or remove the key")
BOUNDS: Final[Mapping[str, tuple[str, str]]] = {
    "string_too_short": ("is empty", "write something, or remove the key"),
    "string_too_long": ("has {size} characters, and at most {max_length} are allowed", "shorten it"),
    "too_short": ("has no items, and at least {min_length} is needed", "add one"),
    "string_pattern_mismatch": ("cannot be {value!r}", NAMES),
    "greater_than": ("must be more than {gt}, not {value}", "write a larger number"),
    "greater_than_equal": ("must be at least {ge}, not {value}", "write a larger number"),
    "less_than_equal": ("must be at most {le}, not {value}", "write a smaller number"),
    "uuid_parsing": _UUID,
    "uuid_type": _UUID,
}
"""By pydantic error type: the message, and how to correct the value."""
LEADS_OUT: Final = "a `$ref` leads out of the schema"
VALUES: Final = frozenset({"const", "default", "enum", "examples"})
"""Keywords whose value is not a schema."""
INPUT_NAMES: Final = "a name of an input is a letter or _, then letters, digits, _"


def file_keys(part: type[Part]) -> list[str]:
    """Return the keys of a part in a file, in snake_case."""
    return [name for name in part.model_fields if (part, name) != (WorkflowDefinition, "title")]


def normalize_keys(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """Return a file's values with keys in snake_case; two spellings of one key are a mistake."""
    found: list[Finding] = []
    return _spelled(values, (), (), found), found


def validate_definition(
    values: Mapping[str, Any], nearest: Nearest
) -> tuple[WorkflowDefinition | None, list[Finding]]:
    """Return a definition, or None with the mistakes.

    :param values: with keys in snake_case.
    """
    try:
        return WorkflowDefinition.model_validate(values), []
    except ValidationError as error:
        errors = [one for one in error.errors(include_url=False) if not _told_elsewhere(one)]
        return None, [finding for one in errors for finding in _findings_of(one, nearest)]


def _told_elsewhere(error: ErrorDetails) -> bool:
    # pydantic counts only the valid items
    counted_wrong = error["type"] == "too_short" and len(error["input"]) >= error["ctx"]["min_length"]
    return counted_wrong or error["type"] in TOLD_ELSEWHERE


def _spelled(value: Any, path: tuple[str, ...], loc: Loc, found: list[Finding]) -> Any:
    if isinstance(value, list):
        if path != ("steps",):
            return value
        return [_spelled(item, ("steps", "*"), (*loc, i), found) for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if path == ("inputs",):
        return {key: _spelled(item, ("inputs", "*"), (*loc, key), found) for key, item in value.items()}
    part = PARTS.get(path)
    if part is None:
        return value
    known = file_keys(part)
    plain: dict[str, Any] = {}
    for key, item in value.items():
        name = canonical(key) if canonical(key) in known else key
        if name in plain:
            message = f"the key {key!r} is given twice, in two spellings"
            found.append(Finding((*loc, key), message, "keep one of them", on_key=True))
            continue
        plain[name] = _spelled(item, (*path, name), (*loc, key), found)
    return plain


def _findings_of(error: ErrorDetails, nearest: Nearest) -> Iterator[Finding]:
    loc, kind, value = error["loc"], error["type"], error["input"]
    context = error.get("ctx", {})
    what = _what(loc)
    if kind in EXPECTED:
        expected, hint = EXPECTED[kind]
        if loc[-1] == "for_each" and isinstance(value, list):
            hint = "write the list as an expression in quotes, such as \"['a', 'b']\""
        message = f"{what} must be {expected}, not {kind_in_words(value)}"
        yield Finding(loc, message, hint if value is not None else "write a value, or remove the key")
    elif kind == "extra_forbidden":
        known = file_keys(_part_at(loc[:-1]))
        hint = nearest.hint(canonical(str(loc[-1])), known) or f"known keys: {', '.join(known)}"
        yield Finding(loc, f"unknown key {str(loc[-1])!r}", hint, on_key=True)
    elif kind == "missing":
        yield Finding(loc, f"{_whole(loc)} has no `{loc[-1]}`", "add it")
    elif kind == "literal_error":
        yield _literal(loc, what, value, nearest)
    elif loc[-1:] == ("[key]",):
        yield Finding(loc[:-1], f"an input cannot be called {value!r}", INPUT_NAMES, on_key=True)
    else:
        message, hint = BOUNDS.get(kind, (error["msg"].lower().replace("{", "{{").replace("}", "}}"), ""))
        size = len(value) if isinstance(value, str) else 0
        yield Finding(loc, f"{what} {message.format(value=value, size=size, **context)}", hint)


def _literal(loc: Loc, what: str, value: Any, nearest: Nearest) -> Finding:
    names = LITERALS.get(str(loc[-1]), get_args(Needs))
    told = f"{value!r}" if isinstance(value, str) else kind_in_words(value)
    hint = nearest.hint(value, names) if isinstance(value, str) else ""
    return Finding(loc, f"{what} must be one of {', '.join(names)}, not {told}", hint)


def _what(loc: Loc) -> str:
    """Return a part's name by its key: `timeout`, `an item of dependencies`."""
    if isinstance(loc[-1], str):
        return f"`{canonical(loc[-1])}`" if loc[0] != "inputs" or len(loc) != 2 else f"the input {loc[-1]!r}"
    return "a step" if loc[:-1] == ("steps",) else f"an item of `{canonical(str(loc[-2]))}`"


def _whole(loc: Loc) -> str:
    """Return the name of the part that lacks a key."""
    if len(loc) == 1:
        return "the workflow"
    return "the step" if loc[0] == "steps" and len(loc) == 3 else _what(loc[:-1])


def _part_at(loc: Loc) -> type[Part]:
    # after an index or an input's name comes a key
    path = tuple("*" if place == 1 else canonical(str(key)) for place, key in enumerate(loc))
    return PARTS[path]


def check_output_schema(schema: Located) -> list[Problem]:
    """Check an output schema in a file that is not a definition."""
    found = schema_findings(schema.value, (), Deadline(LIMITS.check_seconds))
    return [
        Problem(*span_of(schema, one.loc, on_key=one.on_key), one.message, one.hint, one.severity)
        for one in found
    ]


def schema_findings(schema: Mapping[str, Any], at: Loc, deadline: Deadline) -> Iterator[Finding]:
    """Check a schema against the metaschema, and its references and patterns."""
    try:
        mistake = check_schema(schema)
    except UnusableSchema as error:
        yield Finding(at, f"the schema cannot be checked: {error}", "make it smaller")
        return
    if mistake is not None:
        path = (*at, *mistake.absolute_path)
        yield Finding(path, f"this is not a JSON Schema: {_brief(mistake.message)}", "correct it")
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
        yield Finding(at, f"this is not a pattern: {problem}", _hint(problem))


def _hint(problem: str) -> str:
    if "look" in problem or "backreference" in problem:
        return "write it without look-around and backreferences; patterns are those of Rust's regex"
    return "correct it; a `\\` needs single quotes in YAML"


def _brief(message: str) -> str:
    return message if len(message) <= 200 else f"{message[:100]} … {message[-90:]}"


LITERALS: Final = {
    "type": tuple(WORDS),
    "context": ("auto", "none"),
}
