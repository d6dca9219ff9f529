"""Validation by untrusted JSON Schemas: bounded in time, without fetching, with safe patterns.

jsonschema follows references that double at every level, fetches addresses, and passes patterns to `re`,
which can run for years. Here every keyword checks the clock, nothing is fetched, and patterns use Rust's
`regex` (through pydantic), whose time is linear in the text; it has no lookaround and no backreferences.
Schemas of MCP servers may use earlier drafts; parts that cannot be checked are left to the server.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import SlowSchema, UnusableSchema
from tideate_core.util.deadline import Deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from jsonschema.exceptions import ValidationError

LONGEST_PATTERN: Final = 1_000
"""Characters."""
LONGEST_TEXT: Final = 1024 * 1024
"""Characters of a text that is matched against a pattern."""

UNBOUNDED: Final = ("unevaluatedItems", "unevaluatedProperties")
"""Keywords that jsonschema evaluates without checking the clock."""


@dataclass(frozen=True, slots=True)
class _Limits:
    seconds: float
    """Processor time."""
    is_lenient: bool = False
    """Parts that cannot be checked count as valid."""


OWN: Final = _Limits(3.0)
SERVERS: Final = _Limits(1.0, is_lenient=True)


class _Work:
    """Limits and remaining time of the current validation."""

    def __init__(self, limits: _Limits) -> None:
        self.limits = limits
        self.deadline = Deadline(limits.seconds)


_work: ContextVar[_Work] = ContextVar("schema_work")


def mistakes_of_server(value: Any, schema: Mapping[str, Any], most: int) -> list[ValidationError]:
    """Return the first mistakes of a value by the schema of an MCP server, of any draft.

    :raises SlowSchema: it takes too long.
    :raises UnusableSchema: it is not a schema, or refers outside of itself.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for
    from referencing import Registry

    def found() -> list[ValidationError]:
        base = validator_for(schema, default=Draft202012Validator)
        wrong = next(_meta(base).iter_errors(schema), None)
        if wrong is not None:
            raise UnusableSchema(f"{wrong.json_path}: {wrong.message}")
        kind = _kind(base, is_lenient=True)
        return list(islice(kind(schema, registry=Registry()).iter_errors(value), most))

    result: list[ValidationError] = _within_time(found, SERVERS)
    return result


def mistakes_in(value: Any, schema: Mapping[str, Any], most: int) -> list[ValidationError]:
    """Return the first mistakes of a value, up to `most`.

    :raises UnusableSchema: it is not a schema, refers outside of itself, or takes too long.
    """
    found: list[ValidationError] = _within_time(
        lambda: list(islice(_validator(schema).iter_errors(value), most))
    )
    return found


def check_schema(schema: Any) -> ValidationError | None:
    """Validate a schema against its metaschema; return the best error or None.

    :raises UnusableSchema: this takes too long.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    meta = _meta(Draft202012Validator)
    found: ValidationError | None = _within_time(lambda: best_match(meta.iter_errors(schema)))
    return found


def pattern_problem(pattern: str) -> str:
    """Return why a pattern is unusable; empty if it is usable."""
    if len(pattern) > LONGEST_PATTERN:
        return f"it has more than {LONGEST_PATTERN:,} characters"
    try:
        _search(pattern)
    except ValueError as error:
        return str(error)
    return ""


def _within_time(work: Callable[[], Any], limits: _Limits = OWN) -> Any:
    from referencing.exceptions import Unresolvable

    before = _work.set(_Work(limits))
    try:
        return work()
    except Unresolvable as error:
        raise UnusableSchema(
            f"it refers to {error.ref!r}, which is not in it; nothing is fetched for it, "
            "so put it under `$defs`"
        ) from error
    except RecursionError as error:
        raise UnusableSchema("it refers to itself endlessly") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise UnusableSchema(
            f"a part of it is not a schema: {type(error).__name__}: {str(error)[:200]}"
        ) from error
    finally:
        _work.reset(before)


def _check_time() -> None:
    work = _work.get()
    if work.deadline.is_over:
        raise SlowSchema(f"it takes more than {work.limits.seconds:.0f} s; make it smaller")


def _validator(schema: Mapping[str, Any]) -> Any:
    from jsonschema import Draft202012Validator
    from referencing import Registry

    # jsonschema would pass their patterns to `re`
    if _has_key(schema, "unevaluatedProperties") and _has_key(schema, "patternProperties"):
        raise UnusableSchema("`unevaluatedProperties` and `patternProperties` cannot be used together")
    # an empty registry, because the default one fetches addresses
    return _kind(Draft202012Validator)(schema, registry=Registry())


@cache
def _meta(base: Any) -> Any:
    """Return a validator for schemas of one draft."""
    from jsonschema_specifications import REGISTRY

    return _kind(base)(base.META_SCHEMA, registry=REGISTRY)


@cache
def _kind(base: Any, *, is_lenient: bool = False) -> Any:
    """Return our validator class for one draft, derived from jsonschema's."""
    import attrs
    from jsonschema.validators import extend

    own = {
        "additionalProperties": _additional_properties,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "uniqueItems": _unique_items,
        **(dict.fromkeys(UNBOUNDED, lambda *_: iter(())) if is_lenient else {}),
    }
    keywords = base.VALIDATORS | {name: call for name, call in own.items() if name in base.VALIDATORS}
    kind: Any = extend(base, {name: partial(_timed, call) for name, call in keywords.items()})

    def evolve(self: Any, **changes: Any) -> Any:
        # jsonschema's own switches the class if a subschema names its dialect
        _check_time()
        return attrs.evolve(self, **changes)

    kind.evolve = evolve
    return kind


def _timed(
    keyword: Callable[..., Any], validator: Any, wanted: Any, value: Any, schema: Any
) -> Iterator[ValidationError]:
    _check_time()
    yield from keyword(validator, wanted, value, schema) or ()


@lru_cache(maxsize=256)
def _search(pattern: str) -> Callable[[str], bool]:
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        kept = SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError as error:
        raise ValueError(_regex_words(str(error))) from error
    return kept.isinstance_python


def _regex_words(told: str) -> str:
    """Return the last line of Rust's message, which names the problem."""
    lines = [line.strip() for line in told.strip().splitlines()]
    return lines[-1].removeprefix("SchemaError: ").removeprefix("error: ") if lines else "it cannot be read"


def _matches(pattern: str, text: str) -> bool:
    _check_time()
    is_lenient = _work.get().limits.is_lenient
    if problem := pattern_problem(pattern):
        if is_lenient:
            return True
        raise UnusableSchema(f"its pattern {pattern[:60]!r} cannot be used: {problem}")
    if len(text) > LONGEST_TEXT:
        if is_lenient:
            return True
        raise UnusableSchema(f"a pattern would be tried on a text of more than {LONGEST_TEXT:,} characters")
    return _search(pattern)(text)


def _pattern(validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if validator.is_type(value, "string") and not _matches(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, parts: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(value, "object"):
        return
    for pattern, part in parts.items():
        for name, item in value.items():
            if _matches(pattern, name):
                yield from validator.descend(item, part, path=name, schema_path=pattern)


def _additional_properties(validator: Any, part: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if not validator.is_type(value, "object"):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    more = [
        name
        for name in value
        if name not in known and not any(_matches(pattern, name) for pattern in patterns)
    ]
    if validator.is_type(part, "object"):
        for name in more:
            yield from validator.descend(value[name], part, path=name)
    elif not part and more:
        were = "was" if len(more) == 1 else "were"
        shown = ", ".join(map(repr, more))
        yield ValidationError(f"Additional properties are not allowed ({shown} {were} unexpected)")


def _has_key(schema: Any, key: str) -> bool:
    if isinstance(schema, dict):
        return key in schema or any(_has_key(part, key) for part in schema.values())
    return isinstance(schema, list) and any(_has_key(part, key) for part in schema)


def _unique_items(validator: Any, wanted: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if wanted and validator.is_type(value, "array") and len({*map(_hashable, value)}) < len(value):
        yield ValidationError(f"{value!r} has non-unique elements")


def _hashable(value: Any) -> Any:
    """Return a hashable key with JSON Schema's equality: 1 equals 1.0, but not true."""
    if isinstance(value, bool):
        return bool, value
    if isinstance(value, list):
        return list, tuple(map(_hashable, value))
    if isinstance(value, dict):
        return dict, frozenset((key, _hashable(item)) for key, item in value.items())
    return value
