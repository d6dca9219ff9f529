"""Errors of YAML in plain words: the place that a person has to change, and the hint."""

from __future__ import annotations

import pytest
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from tideate_core.workflows.yaml_errors import explain_error


@pytest.mark.parametrize(
    ("text", "at", "message", "hint"),
    [
        ("a: *gone\n", "*gone", "`*gone` stands for nothing above", "write `&gone` before"),
        ("a: b: c\n", ": c", "this `:` makes a key where none can stand", "put the text in quotes"),
        ("a: %b\n", "%b", "a text cannot begin with '%'", "put the text in quotes"),
        ("a: @b\n", "@b", "a text cannot begin with '@'", "put the text in quotes"),
        ("a: [1, 2\n", "[1", "a bracket is never closed", "close it with `]`"),
        ('a: "open\n', '"open', "this quote is never closed", "close it"),
        ("a: \x01\n", "\x01", "the character U+0001 cannot stand in YAML", "remove it"),
    ],
)
def test_an_error_is_explained_where_it_has_to_be_mended(text: str, at: str, message: str, hint: str) -> None:
    with pytest.raises(YAMLError) as caught:
        YAML(typ="rt", pure=True).load(text)
    problem = explain_error(caught.value, text)
    assert (problem.start, problem.message) == (text.index(at), message)
    assert problem.hint.startswith(hint)


def test_an_unknown_error_is_told_in_the_parsers_words_on_one_line() -> None:
    problem = explain_error(YAMLError("strange\n  thing"), "a: b\n")
    assert problem.message == "this is not valid YAML: strange thing"
