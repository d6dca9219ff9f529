"""Untrusted schemas are evaluated within limits: no fetching, no endless patterns."""

from __future__ import annotations

from typing import Any

import pytest

from tideate_core.errors import SlowSchema, UnusableSchema
from tideate_core.util import json_schemas
from tideate_core.util.json_schemas import (
    LONGEST_PATTERN,
    check_schema,
    mistakes_in,
    mistakes_of_server,
    pattern_problem,
)


def said(value: Any, schema: dict[str, Any]) -> list[str]:
    return [mistake.message for mistake in mistakes_in(value, schema, 9)]


def test_no_more_mistakes_are_returned_than_are_asked_for() -> None:
    schema = {"items": {"type": "string"}}
    assert said([1, "a"], schema) == ["1 is not of type 'string'"]
    assert len(mistakes_in([1, 2, 3], schema, 2)) == 2


@pytest.mark.parametrize(
    ("value", "unique"),
    [([1, True], True), ([0, False], True), ([1, 1.0], False), ([{"a": 1}, {"a": 1}], False)],
)
def test_items_are_equal_as_in_json(value: list[Any], unique: bool) -> None:
    assert (said(value, {"uniqueItems": True}) == []) is unique


def test_additional_properties_are_those_that_no_pattern_names() -> None:
    schema = {"properties": {"a": {}}, "patternProperties": {"^x-": {"type": "integer"}}}
    schema["additionalProperties"] = False
    assert said({"a": 1, "x-b": 2}, schema) == []
    assert said({"x-b": "2"}, schema) == ["'2' is not of type 'integer'"]
    assert said({"c": 1}, schema) == ["Additional properties are not allowed ('c' was unexpected)"]


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"$ref": "https://example.com/a.json"}, "nothing is fetched"),
        ({"$ref": "#"}, "refers to itself endlessly"),
        ({"pattern": "(?=a)"}, "cannot be used"),
        ({"unevaluatedProperties": False, "patternProperties": {"a": {}}}, "cannot be used together"),
    ],
)
def test_a_schema_that_cannot_be_used_says_why(schema: dict[str, Any], why: str) -> None:
    with pytest.raises(UnusableSchema, match=why):
        mistakes_in("text", schema, 1)


def test_a_server_s_schema_is_let_pass_where_it_cannot_be_checked() -> None:
    assert mistakes_of_server("text", {"pattern": "(?=a)"}, 1) == []
    (mistake,) = mistakes_of_server(
        1, {"$schema": "http://json-schema.org/draft-04/schema#", "type": "string"}, 9
    )
    assert mistake.message == "1 is not of type 'string'"
    with pytest.raises(UnusableSchema, match="type"):
        mistakes_of_server(1, {"type": "number-like"}, 1)


def test_what_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_schemas, "SERVERS", json_schemas._Limits(0.0, is_lenient=True))
    with pytest.raises(SlowSchema):
        mistakes_of_server([1, 2], {"items": {"type": "integer"}}, 1)


def test_a_schema_is_checked_by_the_schema_of_schemas() -> None:
    assert check_schema({"type": "object"}) is None
    wrong = check_schema({"properties": {"a": {"type": "text"}}})
    assert wrong is not None
    assert wrong.json_path == "$.properties.a.type"


def test_a_pattern_is_one_of_bounded_time() -> None:
    assert pattern_problem("^[a-z]+$") == ""
    assert "look" in pattern_problem("(?=a)")
    assert "more than" in pattern_problem("a" * (LONGEST_PATTERN + 1))
