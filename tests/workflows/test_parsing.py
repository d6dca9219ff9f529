# ruff: noqa: E501 - messages stand as they are told
"""Parsing of definitions: messages with positions and hints."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.work import assert_linear
from tideate_core import errors
from tideate_core.errors import InvalidDefinitionFile
from tideate_core.workflows.mistakes import MOST_COMPARED, LineTable
from tideate_core.workflows.parsing import FileFormat, ParsedWorkflow, WorkflowParser, format_of
from tideate_core.workflows.workflow_files import LARGEST_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

GOOD = """\
name: Code review
inputs:
  files: {type: array, description: What to look at}
steps:
  - id: look
    task: Look at {{ inputs.files }}
  - id: fix
    agentId: assistant
    task: Fix {{ steps.look.result }}
    dependencies: [look]
    continueOnError: true
    retry_delay: 5
"""


def parse(text: str | bytes, kind: FileFormat = "yaml", name: str = "look_over") -> ParsedWorkflow:
    return WorkflowParser().parse(text, format=kind, name=name, path="f")


def mistakes_in(text: str | bytes, kind: FileFormat = "yaml") -> list[str]:
    return [mistake.describe("f") for mistake in parse(text, kind).mistakes]


def one(text: str | bytes, kind: FileFormat = "yaml") -> str:
    mistakes = mistakes_in(text, kind)
    assert len(mistakes) == 1, mistakes
    return mistakes[0]


def step(rest: str) -> str:
    """Return a workflow with a step that has this text on line 4, from column 5."""
    return f"steps:\n  - id: a\n    task: x\n    {rest}\n"


def test_a_file_gives_a_definition_that_is_called_as_the_file() -> None:
    definition = parse(GOOD).require()
    assert (definition.name, definition.title) == ("look_over", "Code review")
    look, fix = definition.steps
    assert (look.kind, look.agent, look.name) == ("agent", "assistant", "look")
    assert (fix.dependencies, fix.continue_on_error, fix.retry_delay) == (("look",), True, 5)
    assert definition.inputs["files"].type == "array"
    assert definition.inputs["files"].required


def test_json_and_yaml_of_the_same_give_the_same() -> None:
    definition = parse(GOOD).require()
    written = definition.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    written["name"] = written.pop("title")
    assert parse(json.dumps(written, indent=2), "json").require() == definition


def test_all_mistakes_of_a_file_are_told_at_once_in_its_order() -> None:
    text = dedent("""\
        nmae: Review
        concurrency: 65
        inputs:
          files: {type: arry}
        steps:
          - id: plan
            task: Plan {{ inputs.file }}
            timeout: 30s
          - id: merge
            task: Merge {{ steps.plan.result }}
            dependencies: [pln]
          - id: plan
            handler: x
            tool: {server: s, arguments: {all: "{{ steps.plan.result }}"}}
        """)
    assert mistakes_in(text) == [
        "f:1:1: unknown key 'nmae'; did you mean 'name'?",
        "f:2:14: `concurrency` must be at most 64, not 65; write a smaller number",
        "f:4:17: `type` must be one of string, integer, number, boolean, array, object, not 'arry'; "
        "did you mean 'array'?",
        "f:7:26: the input 'file' is not declared; did you mean 'files'?",
        "f:8:14: `timeout` must be a whole number, not a text; write only digits, without quotes; times are milliseconds",
        "f:10:26: the template uses step 'plan', which may not have ended before step 'merge' starts; "
        "add 'plan' to the dependencies of 'merge'",
        "f:11:20: step 'merge' depends on 'pln', which is not a step of this workflow; did you mean 'plan'?",
        "f:12:9: step 'plan' is listed twice; give one of them another id (the first is in line 6)",
        "f:14:5: a step does one thing, and this one names 'handler' and 'tool'; "
        "keep one of them, or make two steps",
        "f:14:11: `tool` has no `name`; add it",
    ]


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("retries: 11", "4:14: `retries` must be at most 10, not 11; write a smaller number"),
        ("retries: -1", "4:14: `retries` must be at least 0, not -1; write a larger number"),
        ("retries: 1.5", "4:14: `retries` must be a whole number, not a number; write only digits, without quotes; times are milliseconds"),
        ("retries: '3'", "4:14: `retries` must be a whole number, not a text; write only digits, without quotes; times are milliseconds"),
        ("retries:", "4:5: `retries` must be a whole number, not nothing; write a value, or remove the key"),
        ("timeout: 0", "4:14: `timeout` must be more than 0, not 0; write a larger number"),
        ("parallel: maybe", "4:15: `parallel` must be true or false, not a text; write true or false, without quotes"),
        ("dependencies: b", "4:19: `dependencies` must be a list, not a text; begin each item with `- `, or write `[a, b]`"),
        ("dependencies: [1]", "4:20: an item of `dependencies` must be a text, not a whole number; put it in quotes"),
        ("confirm: ''", "4:14: `confirm` is empty; write something, or remove the key"),
        ("for_each: [x]", "4:15: `for_each` must be a mapping, not a list; write the list as an expression in quotes, such as \"['a', 'b']\""),
        ("output_schema: x", "4:20: `output_schema` must be a mapping, not a text; write `key: value` lines, indented"),
        ("agent: asistant", "4:12: no agent is called 'asistant'; did you mean 'assistant'?"),
        ("retry: 3", "4:5: unknown key 'retry'; did you mean 'retries'?"),
        ("timeout: {}", "4:14: `timeout` must be a whole number, not a mapping; write only digits, without quotes; times are milliseconds"),
        ("output_schema: {allOf: [{pattern: '('}]}", "4:39: this is not a pattern: unclosed group; correct it; a `\\` needs single quotes in YAML"),
        ("for_each: 1 // 0", "4:15: the expression '1 // 0' has no value: integer division or modulo by zero"),
        ("handler: null", ""),
        ("name: true", "4:11: `name` must be a text, not true or false; put it in quotes"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_in_words(rest: str, expected: str) -> None:
    assert mistakes_in(step(rest)) == ([f"f:{expected}"] if expected else [])


def test_a_name_that_cannot_be_one_is_told() -> None:
    mistake = one("steps:\n- id: 1st\n  task: x")
    assert mistake == "f:2:7: `id` cannot be '1st'; a name is a letter or _, then letters, digits, _ . -"
    mistake = one("inputs: {a-b: {}}\nsteps: [{id: a, task: x}]")
    assert mistake == (
        "f:1:10: an input cannot be called 'a-b'; a name of an input is a letter or _, then letters, digits, _"
    )


def test_limits_of_lengths_are_told_with_both_numbers() -> None:
    assert one(step(f"confirm: {'x' * 10_001}")) == (
        "f:4:14: `confirm` has 10001 characters, and at most 10000 are allowed; shorten it"
    )
    assert one("steps: []") == "f:1:8: `steps` has no items, and at least 1 is needed; add one"
    assert one("name: x") == "f:1:1: the workflow has no `steps`; add it"


def test_an_id_is_a_uuid() -> None:
    assert one("id: 12\nsteps: [{id: a, task: x}]").startswith("f:1:5: `id` is not a UUID: 12; make one")
    assert one("id: abc\nsteps: [{id: a, task: x}]").startswith("f:1:5: `id` is not a UUID: 'abc'; make one")


def test_two_spellings_of_a_key_are_a_mistake() -> None:
    text = step("retryDelay: 1\n    retry_delay: 2")
    assert one(text) == "f:5:5: the key 'retry_delay' is given twice, in two spellings; keep one of them"


def test_how_a_workflow_is_called_is_not_the_files_to_say() -> None:
    parsed = parse("name: Any words at all!\nsteps: [{id: a, task: x}]")
    assert parsed.require().title == "Any words at all!"
    assert mistakes_in("title: x\nsteps: [{id: a, task: x}]") == [
        "f:1:1: unknown key 'title'; the key is called `name`"
    ]
    assert mistakes_in("name: [x]\nsteps: [{id: a, task: x}]") == [
        "f:1:7: `name` must be a text, not a list; put it in quotes"
    ]


def test_a_files_name_that_is_no_workflows_is_told_beside_the_rest() -> None:
    mistakes = parse("steps: [{id: a, task: x, foo: 1}]", name="cancel").mistakes
    assert [m.message for m in mistakes] == ["'cancel' is a subcommand of :Workflow", "unknown key 'foo'"]
    assert mistakes[0].hint == "rename the file"


def test_ends_of_mistakes_are_behind_what_is_wrong() -> None:
    (mistake,) = parse(step("agent: asistant")).mistakes
    assert mistake[:4] == (4, 12, 4, 20)
    (mistake,) = parse("steps:\n  - id: a\n\n    oops:\n      - 1\n\n    task: x\n").mistakes
    assert mistake[:4] == (4, 5, 4, 9)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_editors_see_them(end: str) -> None:
    assert mistakes_in(step("agent: asistant").replace("\n", end))[0].startswith("f:4:12: no agent")


def test_columns_count_characters() -> None:
    assert mistakes_in("# 😀é\nname: '😀é' \nsteps: [{id: a, task: '😀', foo: 1}]")[0].startswith(
        "f:3:28: unknown key"
    )


def test_a_byte_order_mark_is_left_out() -> None:
    for text in (b"\xef\xbb\xbf" + GOOD.encode(), "\ufeff" + GOOD):
        assert parse(text).mistakes == []
    assert mistakes_in(b"\xef\xbb\xbffoo: 1\nsteps: [{id: a, task: x}]")[0].startswith(
        "f:1:1: unknown key 'foo'"
    )


def test_bytes_that_are_no_utf8_are_told_with_their_place() -> None:
    assert (
        one("name: caf\u00e9\n".encode("latin-1"))
        == "f:1:10: byte 9 (0xe9) is not UTF-8; save the file as UTF-8"
    )


@pytest.mark.slow
def test_a_file_has_a_largest_size() -> None:
    assert "larger than 1 MiB" in one(b"#" * (LARGEST_FILE + 1))
    assert parse(b"#" * (LARGEST_FILE - len(GOOD)) + b"\n" + GOOD.encode()[:-1]).mistakes == []


def test_require_tells_each_error_in_a_line_and_keeps_them_all() -> None:
    parsed = parse("foo: 1\nsteps: [{id: a, task: x, bar: 2}]")
    with pytest.raises(InvalidDefinitionFile) as caught:
        parsed.require()
    assert str(caught.value).splitlines() == mistakes_in("foo: 1\nsteps: [{id: a, task: x, bar: 2}]")
    assert caught.value.mistakes == tuple(parsed.mistakes)


def test_a_warning_takes_no_definition_away() -> None:
    parsed = parse("steps: [{id: a, task: x}, {id: b, task: '{{ context.foo }}', dependencies: [a, a]}]")
    assert [m.severity for m in parsed.mistakes] == ["warning", "warning"]
    assert parsed.require().step_names == ("a", "b")


@pytest.mark.slow
def test_very_many_mistakes_are_counted() -> None:
    text = "steps: [{id: a, task: x}]\n" + "".join(f"k{i}: 1\n" for i in range(1000))
    mistakes = parse(text).mistakes
    assert len(mistakes) == 201
    assert mistakes[-1].message == "and 800 more mistakes"


@pytest.mark.parametrize(
    ("path", "kind"), [("a.yaml", "yaml"), ("a.YML", "yaml"), ("x/a.json", "json"), ("a.workflow", None), ("a", None)]
)  # fmt: skip
def test_a_format_is_known_by_the_files_name(path: str, kind: str | None) -> None:
    assert format_of(path) == kind


def json_of(count: int) -> str:
    def one(i: int) -> dict[str, Any]:
        before = [f"s{i - 1}"] if i else []
        task = f"Go on from {{{{ steps.s{i - 1}.result }}}}" if i else "Begin"
        return {"id": f"s{i}", "task": task, "dependencies": before, "timeout": 1000}

    return json.dumps({"steps": [one(i) for i in range(count)]}, indent=2)


def yaml_of(count: int) -> str:
    return "steps:\n" + "".join(
        f"  - id: s{i}\n    task: Go on {{{{ steps.s{i - 1}.result }}}}\n    dependencies: [s{i - 1}]\n"
        for i in range(1, count + 1)
    ).replace("    dependencies: [s0]\n", "").replace("{{ steps.s0.result }}", "")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "make"), [("json", json_of), ("yaml", yaml_of)])
def test_the_work_of_reading_and_checking_grows_with_the_steps(
    kind: FileFormat, make: Callable[[int], str]
) -> None:
    assert_linear(make, lambda text: parse(text, kind).require(), 20)
    assert len(parse(make(1000), kind).require().steps) == 1000


@pytest.mark.slow
def test_hints_for_thousands_of_wrong_names_compare_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0

    def counting(name: str, known: Iterable[str]) -> str | None:
        nonlocal compared
        known = list(known)
        compared += len(known)
        return found(name, known)

    found = errors.nearest
    monkeypatch.setattr(errors, "nearest", counting)
    steps = [{"id": f"step{i}", "task": "x", "dependencies": [f"stepp{i}"]} for i in range(2000)]
    mistakes = parse(json.dumps({"steps": steps}), "json").mistakes
    assert mistakes[0].hint.startswith("did you mean 'step")
    assert 2000 <= compared <= MOST_COMPARED


def test_a_place_is_within_the_text() -> None:
    table = LineTable("a\r\nb\n")
    assert [table.place(at) for at in (-1, 0, 1, 3, 4, 5, 99)] == [
        *((1, 1), (1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 1)),
    ]
