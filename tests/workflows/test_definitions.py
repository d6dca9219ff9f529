"""Definitions, their order, their registry (REQ-WORK-001)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tideate_core.errors import InvalidDefinition, UnknownWorkflow
from tideate_core.workflows import (
    StepContext,
    WorkflowDefinition,
    WorkflowRegistry,
    WorkflowStep,
    dependency_graph,
)
from tideate_core.workflows.parts import ForEach, InputDefinition, InputType, NestedWorkflow


async def nothing(_step: StepContext) -> None:
    return None


def step(name: str, *dependencies: str) -> WorkflowStep:
    return WorkflowStep(id=name, dependencies=dependencies)


def test_a_chain_keeps_the_order_of_its_steps() -> None:
    definition = WorkflowDefinition.chain("mine", ["c", "a", "b"])
    assert [s.dependencies for s in definition.steps] == [(), ("c",), ("a",)]
    assert dependency_graph(definition.steps).execution_order == (("c",), ("a",), ("b",))


def test_all_mistakes_of_a_definition_are_reported() -> None:
    with pytest.raises(InvalidDefinition) as caught:
        WorkflowDefinition.chain("no name", ["1st"], unknown=1)
    assert str(caught.value).count("\n") >= 1
    assert "name" in str(caught.value)
    assert "unknown" in str(caught.value)


@pytest.mark.parametrize("name", ["cancel", "status", "rollback", "install"])
def test_a_workflow_may_not_take_a_subcommands_name(name: str) -> None:
    with pytest.raises(InvalidDefinition, match="subcommand"):
        WorkflowDefinition.chain(name, ["a"])


def test_a_step_may_be_listed_once() -> None:
    with pytest.raises(InvalidDefinition, match="'a' is listed twice"):
        WorkflowDefinition.chain("mine", ["a", "b", "a"])


def test_an_unknown_dependency_is_named_with_the_nearest_step() -> None:
    with pytest.raises(InvalidDefinition, match=r"'merge' depends on 'styel'.*did you mean 'style'"):
        dependency_graph([step("style"), step("merge", "styel")])


def test_a_cycle_is_named_whole() -> None:
    with pytest.raises(InvalidDefinition, match="a → c → b → a"):
        dependency_graph([step("first"), step("a", "c"), step("b", "a"), step("c", "b", "first")])


@given(st.lists(st.sets(st.integers(0, 30)), max_size=30))
def test_every_step_comes_after_its_dependencies_and_as_early_as_it_can(wanted: list[set[int]]) -> None:
    steps = [step(f"s{i}", *(f"s{d}" for d in sorted(deps) if d < i)) for i, deps in enumerate(wanted)]
    graph = dependency_graph(steps)
    batch_of = {name: index for index, batch in enumerate(graph.execution_order) for name in batch}
    assert len(batch_of) == len(steps)
    for one in steps:
        assert batch_of[one.id] == max((batch_of[d] + 1 for d in one.dependencies), default=0)


def test_an_unknown_workflow_is_named_with_the_nearest_one() -> None:
    registry = WorkflowRegistry()
    registry.register(WorkflowDefinition.chain("summarize", ["a"]), {"a": nothing})
    with pytest.raises(UnknownWorkflow, match="'sumarize'; did you mean 'summarize'"):
        registry.get("sumarize")


def test_a_name_belongs_to_whoever_registered_it_first() -> None:
    registry = WorkflowRegistry()
    mine = WorkflowDefinition.chain("mine", ["a"])
    registry.register(mine, {"a": nothing}, source="builtin")
    with pytest.raises(InvalidDefinition, match=r"exists already \(builtin\)"):
        registry.register(mine, {"a": nothing}, source="editor")
    registry.register(mine, {}, source="builtin")
    assert registry.get("mine").handlers == {}


def test_a_handler_for_no_step_is_refused() -> None:
    with pytest.raises(InvalidDefinition, match="does not list: b"):
        WorkflowRegistry().register(WorkflowDefinition.chain("mine", ["a"]), {"a": nothing, "b": nothing})


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


def test_a_definition_is_the_same_after_it_was_written_and_read() -> None:
    definition = WorkflowDefinition.model_validate(
        {
            "name": "mine",
            "id": "7d444840-9dc0-11d1-b245-5ffdce74fad2",
            "inputs": {
                "a": {"default": 1, "type": "integer"},
                "b": {"enum": ["x"]},
                "c": {"required": False},
            },
            "steps": [{"id": "a", "task": "x", "for_each": "inputs.b"}, {"id": "b", "workflow": "w"}],
        }
    )
    for by_alias in (True, False):
        written = definition.model_dump_json(by_alias=by_alias)
        assert WorkflowDefinition.model_validate_json(written) == definition
    assert [about.required for about in definition.inputs.values()] == [False, True, False]
    assert definition.title == "mine"


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
