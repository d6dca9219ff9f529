# ruff: noqa: E501 - messages stand as they are told
"""Rendering of templates and evaluation of expressions, with their limits."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tideate_core.errors import InvalidDefinition
from tideate_core.workflows.expressions import evaluate, render_task
from tideate_core.workflows.references import references

VALUES: dict[str, Any] = {
    "inputs": {
        "items": ["a", "b"],
        "n": 3,
        "m": {"deep": None},
        "text": "<b>",
        "none": [],
        "long": "x" * 100_001,
    },
    "context": MappingProxyType({"style": "terse"}),
    "prompt": "do it",
    "steps": MappingProxyType(
        {
            "a-b": {"result": {"ok": True}, "error": None, "status": "completed"},
            "list": {"result": [{"f": 1}, {"f": 2}], "error": None, "status": "completed"},
        }
    ),
    "item": "x",
    "index": 0,
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ prompt }} {{ context.style }} {{ inputs.n }}", "do it terse 3"),
        ("{{ inputs.items }} {{ inputs.m }} {{ steps['a-b'].result.ok }}", '["a", "b"] {"deep": null} true'),
        ("{{ inputs.text }}", "<b>"),
        ("{{ steps.list.result | map(attribute='f') }}", "[1, 2]"),
        ("{% for one in inputs.items %}{{ loop.index }}{{ one }}{% endfor %}", "1a2b"),
        ("{% if inputs.nothing is defined %}yes{% else %}no{% endif %}", "no"),
        ("{{ inputs.nothing | default('none') }}", "none"),
        ("{{ item ~ index }}", "x0"),
        ("no template {at all}", "no template {at all}"),
    ],
)
def test_a_task_is_filled_in(template: str, text: str) -> None:
    assert render_task(template, VALUES) == text


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("inputs.items", ["a", "b"]),
        ("inputs.items | length > 1 and not inputs.m.deep", True),
        ("steps.list.result | map(attribute='f')", [1, 2]),
        ("steps['a-b'].result", {"ok": True}),
        ("context", {"style": "terse"}),
        ("range(3)", [0, 1, 2]),
        ("['a', 'b']", ["a", "b"]),
        ("inputs.items[1:]", ["b"]),
        ("inputs.n if inputs.n > 5 else 5", 5),
        ("none", None),
        ("'a' ~ inputs.n", "a3"),
    ],
)
def test_an_expression_gives_a_json_value(expression: str, value: Any) -> None:
    found = evaluate(expression, VALUES)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("inputs.item", "there is no 'item'; did you mean 'items'?"),
        ("input.n", "'input' is not known; did you mean 'inputs'?"),
        ("inputs.m.deep.er", "null has no 'er'"),
        ("inputs.text.upper", "a value of type str has no 'upper'"),
        ("steps.keys", "there is no 'keys'"),
        ("inputs.items[9]", "has no 9"),
        ("inputs.n +", "unexpected 'end of template'"),
        ("inputs.n; 1", "';' should not follow"),
        ("{{ inputs.n }}", "expected token ':'"),
        ("", "unexpected 'end of template'"),
        ("inputs.items.append(1)", "a call of anything but `range` cannot be used here"),
        ("{'a': 1}", "a dictionary cannot be used here"),
        ("9 ** 9 ** 9 ** 9", "`**` makes too large a number"),
        ("range(10 ** 9)", "Range too big"),
        ("range", "it does not give a JSON value"),
        ("''.__class__.__mro__", "has no '__class__'"),
        ("(" * 5000, "it is nested too deeply"),
        ("inputs.none | first", "No first item, sequence was empty"),
        ("inputs.long | map('upper')", "it gives a list of more than 100000 items"),
        ("steps.list.result | join", "`join` is for texts and numbers, not for dict"),
    ],
)
def test_an_expression_without_a_value_says_why(
    monkeypatch: pytest.MonkeyPatch, expression: str, words: str
) -> None:
    monkeypatch.setattr("time.thread_time", lambda: 0.0)  # on a slow machine the limit of time comes first
    with pytest.raises(InvalidDefinition) as caught:
        evaluate(expression, VALUES)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "template", ["{{ inputs.nope }}", "{% include 'x' %}", "{{ 'x' }", "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"]
)  # fmt: skip
def test_a_template_that_cannot_be_filled_in_is_told_within_its_time(template: str) -> None:
    with pytest.raises(InvalidDefinition, match="cannot be filled in"):
        render_task(template, VALUES)


def test_a_text_has_a_largest_size() -> None:
    big = {"steps": {"a": {"result": "x" * 900_000}}}
    with pytest.raises(InvalidDefinition, match="more than 1024 KiB"):
        render_task("{{ steps.a.result }}{{ steps.a.result }}", big)


def test_filling_in_does_not_look_at_results_that_are_not_named() -> None:
    class Untouched(dict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            assert key == "a"
            return {"result": "ok"}

    assert render_task("{{ steps.a.result }}", {"steps": Untouched(a=1, b=2)}) == "ok"


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(max_size=30) | st.lists(st.sampled_from(["inputs", ".", "items", "[", "]", "(", ")", "0", "|", "length", "+", "~", "'", "not ", "{{", "if ", "else "]), max_size=12).map("".join))  # fmt: skip
def test_any_expression_has_a_value_or_says_why_not(expression: str) -> None:
    try:
        references(expression, expression=True)
        value = evaluate(expression, VALUES)
    except InvalidDefinition as error:
        assert str(error)
    else:
        assert isinstance(value, str | int | float | list | dict | None)
