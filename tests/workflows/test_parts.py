"""Parts of a definition: steps in short and long forms, and values of inputs."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tideate_core.workflows import (
    StepContext,
    WorkflowStep,
)
from tideate_core.workflows.parts import ForEach, InputDefinition, InputType, NestedWorkflow


async def nothing(_step: StepContext) -> None:
    return None


def step(name: str, *dependencies: str) -> WorkflowStep:
    return WorkflowStep(id=name, dependencies=dependencies)


def test_a_step_says_what_it_does_once() -> None:
    assert WorkflowStep(id="a", task="x").agent == "assistant"
    assert [WorkflowStep(id="a", task="x").kind, WorkflowStep(id="a").kind] == ["agent", "handler"]
    assert WorkflowStep(id="a").handler_name == "a"
    assert WorkflowStep(id="a", handler="b").handler_name == "b"
    with pytest.raises(ValidationError, match="this one names 'handler' and 'machine'"):
        WorkflowStep(id="a", handler="b", machine="c")


def test_short_forms_are_spelled_out() -> None:
    step = WorkflowStep.model_validate({"id": "a", "workflow": "w", "forEach": "inputs.x"})
    assert step.workflow == NestedWorkflow(name="w")
    assert step.for_each == ForEach(items="inputs.x")
    assert (step.kind, step.name) == ("workflow", "a")


def test_both_spellings_of_a_key_are_taken_and_one_is_written() -> None:
    one = WorkflowStep.model_validate({"id": "a", "agentId": "assistant", "task": "x", "retryDelay": 5})
    other = WorkflowStep.model_validate({"id": "a", "agent": "assistant", "task": "x", "retry_delay": 5})
    assert one == other
    written = one.model_dump(by_alias=True, exclude_defaults=True)
    assert written == {"id": "a", "name": "a", "agentId": "assistant", "task": "x", "retryDelay": 5}


@pytest.mark.parametrize(
    ("kind", "fitting", "problem"),
    [
        ("string", "x", (1, "must be a text, not a whole number")),
        ("integer", 1, (True, "must be a whole number, not true or false")),
        ("number", 1, (float("nan"), "must be a number, not a float")),
        ("boolean", False, (0, "must be true or false, not a whole number")),
        ("array", [1], ({}, "must be a list, not a mapping")),
        ("object", {}, (None, "must be a mapping, not nothing")),
    ],
)
def test_values_of_inputs_fit_their_type_or_it_is_said_why_not(
    kind: InputType, fitting: object, problem: tuple[object, str]
) -> None:
    about = InputDefinition(type=kind)
    assert about.problem_with(fitting) == ""
    assert about.problem_with(problem[0]) == problem[1]


def test_a_listed_value_is_not_another_of_another_type() -> None:
    about = InputDefinition(type="integer", enum=(0, 1))
    assert about.problem_with(1) == ""
    assert about.problem_with(2) == "must be one of 0, 1, not 2"
    assert InputDefinition(type="boolean", enum=(1,)).problem_with(True).startswith("must be one of")
