"""The JSON Schema of definitions agrees with the parser."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tideate_core.workflows.definitions import WorkflowDefinition
from tideate_core.workflows.schema import definition_schema
from tideate_core.workflows.step_definition import WorkflowStep

STEP: dict[str, Any] = {"id": "a", "task": "x"}


def fits(definition: Any) -> bool:
    return bool(Draft202012Validator(definition_schema()).is_valid(definition))


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(definition_schema())


@pytest.mark.parametrize(
    "rest",
    [
        {"agent": "assistant", "retryDelay": 5, "continue_on_error": True},
        {"agentId": "assistant"},
        {"for_each": "inputs.x"},
        {"forEach": {"items": "inputs.x", "maxParallel": 3}},
        {"output_schema": {"type": "object"}, "when": None},
    ],
)
def test_what_a_step_may_have_fits(rest: dict[str, Any]) -> None:
    assert fits({"name": "Any words", "inputs": {"x": {"type": "array"}}, "steps": [{**STEP, **rest}]})


@pytest.mark.parametrize(
    "kind",
    [
        {"workflow": "w"},
        {"workflow": {"name": "w"}},
        {"machine": "m"},
        {"handler": "h"},
        {"tool": {"server": "s", "name": "t"}},
    ],
)
def test_each_kind_of_step_fits_without_a_task(kind: dict[str, Any]) -> None:
    assert fits({"steps": [{"id": "a", **kind}]})
    assert not fits({"steps": [{**STEP, **kind}]})


@pytest.mark.parametrize(
    "definition",
    [
        {},
        {"steps": []},
        {"steps": [{"task": "x"}]},
        {"title": "x", "steps": [STEP]},
        {"inputs": {"a-b": {}}, "steps": [STEP]},
        {"concurrency": 65, "steps": [STEP]},
        {"steps": [{**STEP, "retries": 11}]},
        {"steps": [{**STEP, "oops": 1}]},
        {"steps": [{**STEP, "agent": "nobody"}]},
        {"steps": [{"id": "a", "agent": "assistant"}]},
        {"steps": [{"id": "a", "handler": "h", "machine": "m"}]},
    ],
)
def test_what_is_wrong_by_its_shape_does_not_fit(definition: Any) -> None:
    assert not fits(definition)


def test_every_key_has_a_description_and_is_proposed_in_one_spelling() -> None:
    schema = definition_schema()
    for part in (schema, *schema["$defs"].values()):
        for name, about in part["properties"].items():
            assert about.get("description"), name
            assert about.get("doNotSuggest", False) == (name != name.lower())


def test_own_tools_are_proposed_and_those_of_servers_fit() -> None:
    schema = definition_schema(tools=("look", "edits"))
    step = {"id": "a", "task": "x", "tools": ["look", "team/*"]}
    assert schema["$defs"]["WorkflowStep"]["properties"]["tools"]["items"]["anyOf"][0] == {
        "enum": ["look", "edits"]
    }
    assert Draft202012Validator(schema).is_valid({"steps": [step]})
    del step["task"]
    assert not Draft202012Validator(schema).is_valid({"steps": [step]})


def test_no_key_of_the_models_is_left_out() -> None:
    schema = definition_schema()
    assert set(WorkflowDefinition.model_fields) - set(schema["properties"]) == {"title"}
    assert set(WorkflowStep.model_fields) <= set(schema["$defs"]["WorkflowStep"]["properties"])
