"""Definitions of graphs and machines: names, mistakes, and their form as text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError

from tideate_core.errors import InvalidDefinition, InvalidInput
from tideate_core.machines.language import Obfuscator, parse
from tideate_core.workflows import (
    MachineWorkflow,
    WorkflowDefinition,
    WorkflowStep,
    dependency_graph,
)
from tideate_core.workflows.step_definition import ForEach, InputDefinition, InputType, NestedWorkflow

if TYPE_CHECKING:
    from pathlib import Path


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


TEXT = "* to draft: Write.\n: It is good\ndraft to polish\npolish to *\n"


KEY = bytes(range(32))


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the person's own machine files are."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "tideate" / "workflows"


def machine(text: str = TEXT, name: str = "essay") -> MachineWorkflow:
    return MachineWorkflow(name, parse(text, name).require(name))


def test_a_confirmation_before_no_state_is_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidDefinition, match="no state 'polsh'; did you mean 'polish'"):
        replace(machine(), confirm=frozenset({"draft", "polsh"}))


def test_a_machine_may_not_take_a_subcommands_name() -> None:
    with pytest.raises(InvalidDefinition, match="subcommand"):
        machine(name="rollback")


def test_a_state_is_found_by_its_name() -> None:
    assert machine().state_named("polish") == "polish"
    with pytest.raises(
        InvalidInput, match=r"no state 'polsh'; did you mean 'polish'\? \(states: draft, polish\)"
    ):
        machine().state_named("polsh")
    with pytest.raises(InvalidInput, match=r"no state '\*'"):
        machine().state_named("*")


def test_an_obfuscated_machine_knows_names_and_tokens_and_tells_only_tokens() -> None:
    plain = replace(machine(), description="Draft and polish", confirm=frozenset({"polish"}))
    obfuscator = Obfuscator(KEY, plain.machine)
    hidden = plain.obfuscated(obfuscator)
    token = obfuscator.token("polish")
    assert hidden.confirm == {token}
    assert hidden.step_names == tuple(obfuscator.tokens.values())
    assert hidden.state_named("polish") == hidden.state_named(token) == token
    with pytest.raises(InvalidInput) as caught:
        hidden.state_named("polisch")
    for name in plain.step_names:
        assert name not in str(caught.value)
        assert name not in hidden.description.lower()
        assert name not in repr(hidden)


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
