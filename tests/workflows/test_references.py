"""Names found in templates and expressions."""

from __future__ import annotations

import pytest

from tideate_core.errors import InvalidDefinition
from tideate_core.workflows import WorkflowDefinition, use_of_prompt
from tideate_core.workflows.references import references


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


def test_a_computed_key_names_nothing() -> None:
    found = references("{{ steps[inputs.which].result.a }} {{ (inputs.b or steps.c).d }}")
    assert [*found.fields, *sorted(found.inputs), *found.steps] == ["b", "which", "c"]


def test_unknown_filters_and_tests_are_told_before_anything_runs() -> None:
    with pytest.raises(InvalidDefinition, match="no filter 'joinn'; did you mean 'join'"):
        references("inputs.x | joinn", expression=True)
    with pytest.raises(InvalidDefinition, match="no test 'definde'; did you mean 'defined'"):
        references("inputs.x is definde", expression=True)
