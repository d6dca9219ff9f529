"""Parsing of the command line after a workflow's name: inputs and prompt."""

from __future__ import annotations

from typing import Any

import pytest

from tideate_core.editor.inputs import described, split_line
from tideate_core.engine.begin import read_input
from tideate_core.workflows import WorkflowDefinition, WorkflowStep
from tideate_core.workflows.step_definition import InputDefinition

DECLARED = {
    "to": InputDefinition(),
    "n": InputDefinition(type="integer"),
    "files": InputDefinition(type="array"),
    "more": InputDefinition(type="object"),
}


@pytest.mark.parametrize(
    ("text", "given", "prompt"),
    [
        ("do it", {}, "do it"),
        ("", {}, ""),
        ("to=x n=2 do it", {"to": "x", "n": "2"}, "do it"),
        ("to=x", {"to": "x"}, ""),
        ("to=", {"to": ""}, ""),
        ('to="two words" go', {"to": "two words"}, "go"),
        (r'to="a \"b\" \\ c" go', {"to": r'a "b" \ c'}, "go"),
        (r"to=two\ words go", {"to": "two words"}, "go"),
        (r"to=\d+ go", {"to": r"\d+"}, "go"),
        ('files=["a b", "c"] go', {"files": '["a b", "c"]'}, "go"),
        ('more={"a": [1, 2]} go', {"more": '{"a": [1, 2]}'}, "go"),
        ("to=[a b", {"to": "[a"}, "b"),
        ("x=5 and to=6", {}, "x=5 and to=6"),
        ("make to=6", {}, "make to=6"),
        ("to=x y=1", {"to": "x"}, "y=1"),
        ("to=x -- n=3 is wrong", {"to": "x"}, "n=3 is wrong"),
        ("-- to=x", {}, "to=x"),
        ("--to=x", {}, "--to=x"),
        ("to=x  keep   these  blanks", {"to": "x"}, "keep   these  blanks"),
    ],
)
def test_declared_inputs_stand_before_the_prompt(text: str, given: dict[str, str], prompt: str) -> None:
    line = split_line("w", text, DECLARED)
    assert (line.given, line.prompt, line.mistakes) == (given, prompt, [])


def test_of_a_workflow_without_inputs_everything_is_the_prompt() -> None:
    line = split_line("w", "-- to=x", {})
    assert (line.given, line.prompt, line.notices) == ({}, "-- to=x", [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("to=a to=b go", "the input 'to' is given twice"),
        ('to="never closed', "the value of the input 'to' has no closing quote"),
        ('to="a"b', "the value of the input 'to' has no closing quote"),
    ],
)
def test_a_line_that_means_nothing_is_told(text: str, words: str) -> None:
    assert split_line("w", text, DECLARED).mistakes == [f"w: {words}"]


def test_a_name_that_is_nearly_declared_is_told_and_stays_in_the_prompt() -> None:
    line = split_line("w", "file=a.py go", DECLARED)
    assert line.prompt == "file=a.py go"
    assert line.notices == [
        "'file=' is part of the prompt: w has no input 'file'; did you mean 'files'?",
    ]


@pytest.mark.parametrize(
    ("about", "texts"),
    [
        ({"enum": ["fast", "slow"]}, ["fast", "slow"]),
        ({"type": "integer", "enum": [1, 2]}, ["1", "2"]),
        ({"type": "boolean"}, ["true", "false"]),
        ({"type": "array", "enum": [["a"], []]}, ['["a"]', "[]"]),
    ],
)
def test_choices_are_texts_that_are_read_as_the_declared_values(
    about: dict[str, Any], texts: list[str]
) -> None:
    definition = InputDefinition.model_validate(about)
    workflow = WorkflowDefinition(name="w", steps=(WorkflowStep(id="a", task="x"),), inputs={"i": definition})
    (shape,) = described(workflow)
    assert shape["choices"] == texts
    values = [read_input("w", "i", definition, text) for text in texts]
    assert [problem for _, problem in values] == ["", ""]
    assert [value for value, _ in values] == list(definition.enum or (True, False))


def test_a_default_is_a_text() -> None:
    definition = InputDefinition(type="object", default={"a": 1})
    workflow = WorkflowDefinition(name="w", steps=(WorkflowStep(id="a", task="x"),), inputs={"i": definition})
    assert described(workflow) == [
        {
            "name": "i",
            "type": "object",
            "words": "a mapping",
            "description": "",
            "required": False,
            "default": '{"a": 1}',
        }
    ]
