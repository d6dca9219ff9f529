"""JSON Schemas of a server, held against values within a bound of work.

A schema is a small program of a stranger's: its patterns may backtrack for years, its references double at
each step, or lead to an address. Patterns are run by an engine of linear time; work is counted.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from tideate_core.mcp.client.words import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from jsonschema.exceptions import ValidationError
    from pydantic_core import SchemaValidator

__all__ = ["TooMuchWork", "UnusableSchema", "mistakes_of"]

MOST_WORK: Final = 100_000
"""Keywords that are looked at for one value; about a second."""
PER_PATTERN: Final = 2_000
"""What it costs to compile a pattern."""
LONGEST_PATTERN: Final = 500
LONGEST_REASON: Final = 200
MOST_UNIQUE: Final = 500
"""Items that are compared each with each."""
UNCHECKED: Final = ("unevaluatedItems", "unevaluatedProperties")
"""Their implementation follows references by itself, without a bound; the server checks them."""
_COUNTS: Final = re.compile(r"\{(\d+)(?:,(\d*))?\}")

_left: ContextVar[list[int]] = ContextVar("left")


class UnusableSchema(Exception):
    """It is no JSON Schema, or refers to what is not in it."""


class TooMuchWork(UnusableSchema):
    """It takes too long to hold a value against it."""


def mistakes_of(schema: Mapping[str, Any], value: Any, most: int) -> list[ValidationError]:
    """Return the first mistakes of a value.

    :raises UnusableSchema: nothing can be held against it; says why.
    """
    # here, because it is slow to load
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    token = _left.set([MOST_WORK])
    try:
        kind = _bounded(validator_for(schema, default=_newest()))
        kind.check_schema(schema, format_checker=_no_formats())
        _left.get()[0] = MOST_WORK
        # an empty registry: by default a reference to an address would be fetched
        return list(islice(kind(schema, registry=Registry()).iter_errors(value), most))
    except TooMuchWork:
        raise
    except (SchemaError, Unresolvable) as error:
        raise UnusableSchema(one_line(str(error), LONGEST_REASON)) from error
    except RecursionError as error:
        raise UnusableSchema("it refers to itself without end") from error
    except Exception as error:  # a keyword with a value that jsonschema does not expect
        raise UnusableSchema(one_line(repr(error), LONGEST_REASON)) from error
    finally:
        _left.reset(token)


def _newest() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator


@cache
def _no_formats() -> Any:
    from jsonschema import FormatChecker

    return FormatChecker(())


@cache
def _bounded(kind: Any) -> Any:
    """Return a validator in which every keyword counts."""
    from jsonschema.validators import extend

    own = {
        "additionalProperties": _additional,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "uniqueItems": _unique(kind.VALIDATORS.get("uniqueItems")),
    }
    known = {**kind.VALIDATORS, **{name: own[name] for name in own if name in kind.VALIDATORS}}
    counted = {name: _counted(check) for name, check in known.items() if name not in UNCHECKED}
    return extend(kind, {**counted, **dict.fromkeys(UNCHECKED, _nothing)})


def _spend(work: int) -> None:
    left = _left.get()
    left[0] -= work
    if left[0] < 0:
        raise TooMuchWork("it takes too much work to hold anything against it")


def _counted(check: Callable[..., Any]) -> Callable[..., Any]:
    def run(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        _spend(1 + (_size(wanted) + _size(instance)) // 4)
        yield from check(validator, wanted, instance, schema) or ()

    return run


def _size(value: Any) -> int:
    return len(value) if isinstance(value, dict | list) else 0


def _nothing(*_: Any) -> Iterator[ValidationError]:
    return iter(())


def _unique(check: Any) -> Callable[..., Any]:
    def run(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
        return check(validator, wanted, instance, schema) if _size(instance) <= MOST_UNIQUE else ()

    return run


def _pattern(validator: Any, wanted: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if validator.is_type(instance, "string") and not _found(wanted, instance):
        yield ValidationError(f"{instance!r} does not match {wanted!r}")


def _pattern_properties(
    validator: Any, wanted: Mapping[str, Any], instance: Any, _schema: Any
) -> Iterator[ValidationError]:
    if validator.is_type(instance, "object"):
        for pattern, inner in wanted.items():
            for name, value in instance.items():
                if _found(pattern, name):
                    yield from validator.descend(value, inner, path=name, schema_path=pattern)


def _additional(
    validator: Any, wanted: Any, instance: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if not validator.is_type(instance, "object"):
        return
    more = list(_others(instance, schema.get("properties", {}), schema.get("patternProperties", {})))
    if validator.is_type(wanted, "object"):
        for name in more:
            yield from validator.descend(instance[name], wanted, path=name)
    elif not wanted and more:
        yield ValidationError(f"additional properties are not allowed: {more[:5]!r}")


def _others(names: Iterable[str], known: Mapping[str, Any], patterns: Mapping[str, Any]) -> Iterator[str]:
    for name in names:
        if name not in known and not any(_found(pattern, name) for pattern in patterns):
            yield name


def _found(pattern: str, text: str) -> bool:
    """Search for a pattern; one that cannot be run in linear time is left to the server."""
    from pydantic_core import ValidationError

    if not isinstance(pattern, str):
        raise UnusableSchema("a pattern is no text")
    weight = len(pattern)
    for low, high in _COUNTS.findall(pattern):
        weight *= max(int(low[:7]), int(high[:7] or 0), 1)
    _spend(1 + weight * len(text) // 10_000)
    if len(pattern) > LONGEST_PATTERN or weight > MOST_WORK or (compiled := _compiled(pattern)) is None:
        return True
    try:
        compiled.validate_python(text)
    except ValidationError:
        return False
    return True


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> SchemaValidator | None:
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    _spend(PER_PATTERN)
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError:
        return None
