# ruff: noqa: E501 - messages stand as they are told
"""Names found in templates by both parsers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from tideate_core.errors import InvalidDefinition
from tideate_core.workflows import WorkflowDefinition, use_of_prompt
from tideate_core.workflows.references import _full_references, _plain_references, references


def test_references_are_what_a_template_names() -> None:
    found = references(
        "{{ steps.a.result }} {{ steps['b-c'].error }} {{ inputs['x'].y }} {{ context.s }} {{ foo }}"
    )
    assert found.steps == {"a", "b-c"}
    assert found.fields == {("a", "result"), ("b-c", "error")}
    assert [*found.inputs, *found.context, *found.names] == ["x", "s", "foo"]
    assert found.used == {"steps", "inputs", "context"}


TOOL = {"server": "s", "name": "t"}


@pytest.mark.parametrize(
    ("step", "use"),
    [
        ({}, "read"),  # a function
        ({"machine": "m"}, "read"),
        ({"workflow": "w"}, "read"),
        ({"workflow": {"name": "w", "prompt": "words"}}, "unread"),
        ({"workflow": {"name": "w", "prompt": "p", "inputs": {"a": ["{{ prompt }}"]}}}, "read"),
        ({"task": "say {{ prompt }}"}, "read"),
        ({"task": "say", "when": "prompt"}, "read"),
        ({"task": "say", "for_each": "prompt | list"}, "read"),
        ({"task": "a prompt {{ inputs.prompt }}"}, "given"),
        ({"task": "say", "context": "none"}, "unread"),
        ({"tool": TOOL}, "unread"),
        ({"tool": {**TOOL, "arguments": {"a": [{"b": "{{ prompt }}"}]}}}, "read"),
        ({"tool": TOOL, "confirm": "{{ prompt | upper }}?"}, "read"),
    ],
)
def test_the_use_of_a_prompt_is_known(step: dict[str, object], use: str) -> None:
    definition = WorkflowDefinition.model_validate({"name": "w", "steps": [{"id": "a", **step}]})
    assert use_of_prompt(definition) == use


def test_a_loops_own_names_are_no_references() -> None:
    found = references("{% for steps in inputs.all %}{{ steps.a }}{{ loop.index }}{% endfor %}")
    assert [*found.steps, *found.inputs, *found.names] == ["all"]


def test_unknown_filters_and_tests_are_told_before_anything_runs() -> None:
    with pytest.raises(InvalidDefinition, match="no filter 'joinn'; did you mean 'join'"):
        references("inputs.x | joinn", expression=True)
    with pytest.raises(InvalidDefinition, match="no test 'definde'; did you mean 'defined'"):
        references("inputs.x is definde", expression=True)


NAMES = st.sampled_from(
    ["steps", "inputs", "context", "item", "foo", "a", "result", "true", "range", "not", "loop", "in"]
)


PATHS = st.lists(NAMES, min_size=1, max_size=4).map(".".join)


PIECES = st.builds("{{{{{}{}{}}}}}".format, st.sampled_from(["", " ", "\t"]), PATHS, st.sampled_from(["", " "])) | st.sampled_from(["text", " ", "\n", "{", "}", "{#", "{{", "#}", "-"])  # fmt: skip


@settings(deadline=None)
@given(st.lists(PIECES, max_size=5).map("".join))
def test_the_quick_reading_of_a_template_finds_what_jinja_finds(template: str) -> None:
    quick = _plain_references(template)
    if quick is not None:
        assert quick == _full_references(template, expression=False)
