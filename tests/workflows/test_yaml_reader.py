# ruff: noqa: E501 - messages stand as they are told
"""Messages about invalid YAML and JSON; limits on size and depth."""

from __future__ import annotations

from typing import Any

import pytest
from ruamel.yaml.error import YAMLError

from tideate_core.workflows.parsing import FileFormat, WorkflowParser
from tideate_core.workflows.reading import HEAVIEST
from tideate_core.workflows.yaml_reader import explain_error, read_yaml


def mistakes_in(text: str, kind: FileFormat = "yaml") -> list[str]:
    parsed = WorkflowParser().parse(text, format=kind, name="w", path="f")
    return [mistake.describe("f") for mistake in parsed.mistakes]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1:1: the file is empty; a workflow has at least one step, in `steps`"),
        ("# only\n", "1:1: the file is empty; a workflow has at least one step, in `steps`"),
        ("just words", "1:1: a workflow is a mapping with `steps`; begin with `steps:` and a list of steps"),
        ("a: b: c", "1:5: this `:` makes a key where none is allowed; put the text in quotes, or check the"
         " indentation"),
        ("a:\n\t- b", "2:1: a tab cannot indent; indent with spaces"),
        ("a: 'x\nb: y\n", "1:4: this quote is never closed; close it, or remove it"),
        ("a: [1,\nb: c\n", "1:4: a bracket is never closed; close it with `]`"),
        ("a:\n  - b\n c: d", "3:2: this line does not fit the lines above; check its indentation"),
        ("a: @x", "1:4: a text cannot begin with '@'; put the text in quotes"),
        ("a: %x", "1:4: a text cannot begin with '%'; put the text in quotes"),
        ("a: {{ x }}", "1:4: a text that begins with `{{` is a mapping to YAML; put the whole text in quotes"),
        ("a: *b", "1:4: `*b` has no anchor above; write `&b` before the value"),
        ("a: &b [*b]", "1:8: `*b` refers to a value that contains it; write it out"),
        ('a: "\\q"', "1:6: 'q' cannot follow a backslash; write `\\\\`, or use single quotes"),
        ("a: \x01", "1:4: the character U+0001 is not allowed in YAML; remove it, or write it as an escape"),
        ("a: 1\n---\nb: 2", "2:1: a second document begins here; a file has one workflow: remove the `---`"),
        ("? [a]\n: b", "1:3: a list or mapping cannot be a key; a key is a text"),
        ("key\nother: x", "2:6: this `:` makes a key where none is allowed; put the text in quotes, or check"
         " the indentation"),
        ('a: "\\UFFFFFFFF"', "1:2: the YAML parser cannot read the text from here;"
         " rewrite it"),
        ("a: 'b'c", "1:7: the text continues after its closing quote; put all of it in quotes"),
    ],
)  # fmt: skip
def test_what_is_no_yaml_is_told_in_words(text: str, expected: str) -> None:
    assert mistakes_in(text) == [f"f:{expected}"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1:1: the file is empty; a workflow has at least one step, in `steps`"),
        ('{"a": 1,}', "1:9: '}' should not be here; remove the `,` before it"),
        ('{"a": 1 "b": 2}', "1:9: a `,` or a closing bracket is missing before '\"'"),
        ("{'a': 1}", "1:2: a text is in single quotes; JSON's are double"),
        ("{a: 1}", "1:2: the key 'a' is not in quotes; write \"a\""),
        ('{"a": yes}', "1:7: 'yes' is not a JSON value; put a text in double quotes"),
        ('{"a": True}', "1:7: 'True' is not a JSON value; put a text in double quotes"),
        ('{"a": NaN}', "1:7: 'NaN' is not a JSON value; put a text in double quotes"),
        ('{"a": 01}', "1:8: a `,` or a closing bracket is missing before '1'"),
        ('{\n// x\n"a": 1}', "2:1: JSON has no comments; remove it, or make the file a .yaml one"),
        ('{"a": "x', '1:7: this text has no closing `"`; close it with a `"`'),
        (
            '{"a": "x\ny"}',
            "1:9: a text continues on the next line; write a line end as \\n and a tab as \\t",
        ),
        ('{"a": "\\q"}', "1:8: JSON has no such escape; a backslash is written twice, as \\\\"),
        ('{"a": [1', "1:9: the text ends too early; close all brackets"),
        ('{"a"', "1:5: the text ends too early; close all brackets"),
        ('{"a" 1}', "1:6: a `:` is missing after this key"),
        ('{"a":', "1:6: the text ends too early; close all brackets"),
        ("{}x", "1:3: more follows after the end of the workflow; remove it; a file has one workflow"),
        ("{", "1:2: the text ends too early; close all brackets"),
        ("{1: 2}", "1:2: the key '1' is not in quotes; write \"1\""),
        ("{:}", "1:2: ':' should not be here"),
        ("['a']", "1:2: a text is in single quotes; JSON's are double"),
        ("[,]", "1:2: ',' should not be here"),
        ("steps: []", "1:1: 'steps' is not a JSON value; put a text in double quotes"),
    ],
)
def test_what_is_no_json_is_told_as_json(text: str, expected: str) -> None:
    assert mistakes_in(text, "json") == [f"f:{expected}"]


STEPS: dict[FileFormat, str] = {
    "yaml": "steps: [{id: a, task: x}]\n",
    "json": '"steps": [{"id": "a", "task": "x"}]',
}


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("yaml", "context: {a: 1, a: 2}", "2:17: the key 'a' is given twice; keep one of them"),
        ("yaml", "context: {1: 2}", "2:11: the key 1 is not text; put it in quotes"),
        ("yaml", "context: {a: !!python/x 2}", "2:14: the tag !!python/x is not used in a workflow;"
         " remove it; values are what JSON has"),
        ("yaml", "context: {a: .nan}", "2:14: .nan cannot be stored as a number; put it in quotes if it is a text"),
        ("yaml", "context: {a: 1e999}", "2:14: 1e999 cannot be stored as a number; put it in quotes if it is a"
         " text"),
        ("yaml", f"context: {{a: {'9' * 5000}}}", f"2:14: {'9' * 40} cannot be stored as a number; put it in quotes if it is a text"),
        ("yaml", "context: {a: 9223372036854775808}",
         "2:14: 9223372036854775808 cannot be stored as a number; put it in quotes if it is a text"),
        ("yaml", "concurrency: 9223372036854775808",
         "2:14: 9223372036854775808 cannot be stored as a number; put it in quotes if it is a text"),
        ("yaml", "concurrency: !mine 3", "2:14: the tag !mine is not used in a workflow; remove it;"
         " values are what JSON has"),
        ("yaml", "context: {a: !!int x}", "2:14: 'x' is no `!!int`; remove the tag"),
        ("yaml", "context: {<<: 3}", "2:15: `<<` is for a mapping, or a list of them; write `<<: *name`"),
        ("yaml", 'context: {a: "\\ud800"}', "2:14: the text has half of a surrogate pair without its other half;"
         " write both halves, or the character itself"),
        ("json", '"context": {"a": 1, "a": 2}', "2:21: the key 'a' is given twice; keep one of them"),
        ("json", '"context": {"a": 1e999}', "2:18: 1e999 cannot be stored as a number; put it in quotes if it is a text"),
        ("json", '"context": {"a": 9223372036854775808}', "2:18: 9223372036854775808 cannot be stored as a number; put it in quotes if it is a text"),
        ("json", '"context": {"a": "\\ud800"}', "2:18: the text has half of a surrogate pair without its other"
         " half; write both halves, or the character itself"),
    ],
)  # fmt: skip
def test_what_a_run_could_not_keep_is_a_mistake(kind: FileFormat, text: str, expected: str) -> None:
    whole = STEPS["yaml"] + text if kind == "yaml" else "{" + STEPS["json"] + ",\n" + text + "}"
    assert mistakes_in(whole, kind) == [f"f:{expected}"]


def value(text: str) -> Any:
    root, problems = read_yaml(text)
    assert not problems
    assert root is not None
    return root.value


def test_plain_texts_are_those_of_yaml_1_2() -> None:
    assert value("[yes, on, 2026-01-02, 12:30, 1.0.0, 0o17, 0x1F, -3, +4, 010, .5, 1e3, ~, '', !!str 5]") == [
        *("yes", "on", "2026-01-02", "12:30", "1.0.0", 15, 31, -3, 4, 10, 0.5, 1000.0, None, "", "5"),
    ]


def test_standard_tags_say_what_a_text_is() -> None:
    assert value("[!!null '', !!bool 'true', !!int '3', !!float '3', !!str true, ! 4]") == [
        None,
        True,
        3,
        3,
        "true",
        "4",
    ]


def test_an_alias_of_a_mapping_is_no_key() -> None:
    assert mistakes_in("a: &a {b: 1}\n*a : 2") == [
        "f:2:1: a list or mapping cannot be a key; a key is a text"
    ]


def test_reading_takes_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tideate_core.workflows.yaml_reader.MOST_SECONDS", -1.0)
    assert mistakes_in("a: 1") == ["f:1:1: reading this takes too long; make it smaller"]


def test_aliases_and_merged_mappings_are_filled_in() -> None:
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: [*a, *a]\nd: {<<: [*a, {z: 4}]}"
    assert value(text) == {
        "a": {"x": 1, "y": 2},
        "b": {"x": 1, "y": 3},
        "c": [{"x": 1, "y": 2}] * 2,
        "d": {"x": 1, "y": 2, "z": 4},
    }


def test_a_mistake_in_what_was_merged_is_told_where_it_stands() -> None:
    text = "metadata:\n  usual: &usual\n    retries: 99\nsteps:\n  - {<<: *usual, id: a, task: x}\n"
    assert mistakes_in(text) == ["f:3:14: `retries` must be at most 10, not 99; write a smaller number"]


def test_a_billion_laughs_are_refused_at_once() -> None:
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 30)
    )
    assert "there are too many values in this file" in mistakes_in(text)[0]


def test_too_many_values_of_json_are_refused_before_they_are_read() -> None:
    text = f"[{'0,' * HEAVIEST} 0, no value]"
    assert "there are too many values in this file" in mistakes_in(text, "json")[0]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("yaml", "[" * 5000),
        ("yaml", "- " * 5000),
        ("yaml", "\n".join(" " * i + "a:" for i in range(200))),
        ("yaml", "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 3000))),
        ("json", "[" * 100_000),
        ("json", '{"a":' * 100_000),
    ],
)
def test_what_is_nested_too_deeply_is_refused(kind: FileFormat, text: str) -> None:
    (mistake,) = mistakes_in(text, kind)
    assert "more than 60 levels deep" in mistake


def test_an_unknown_error_is_told_in_the_parsers_words_on_one_line() -> None:
    problem = explain_error(YAMLError("strange\n  thing"), "a: b\n")
    assert problem.message == "this is not valid YAML: strange thing"
