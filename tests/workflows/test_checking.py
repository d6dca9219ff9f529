# ruff: noqa: E501 - messages stand as they are told
"""Checks beyond shape: unknown names, cycles, templates, inputs, schemas."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tideate_core.workflows.checking import KnownNames
from tideate_core.workflows.parsing import WorkflowParser

Step = dict[str, Any]


def task(name: str, text: str = "x", *dependencies: str, **rest: Any) -> Step:
    return {"id": name, "task": text, "dependencies": list(dependencies), **rest}


def mistakes_in(*steps: Step, known: KnownNames | None = None, **rest: Any) -> list[str]:
    parsed = WorkflowParser(known).parse(json.dumps({**rest, "steps": steps}), format="json", name="mine")
    return [f"{mistake.message}; {mistake.hint}".removesuffix("; ") for mistake in parsed.mistakes]


def test_the_whole_cycle_is_named_and_each_one_once() -> None:
    first = [task("a", "x", "c"), task("b", "x", "a"), task("c", "x", "b")]
    second = [task("d", "x", "e"), task("e", "x", "d", "a"), task("behind", "x", "e")]
    assert mistakes_in(*first, *second) == [
        "steps wait for each other: a → c → b → a; remove one of these dependencies",
        "steps wait for each other: d → e → d; remove one of these dependencies",
    ]


def test_a_step_that_waits_for_itself_is_told() -> None:
    assert mistakes_in(task("a", "x", "a")) == ["step 'a' waits for itself; remove one of these dependencies"]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (task("b", "{{ steps.aa.result }}", "a"), "the template uses step 'aa', which is not a step of this workflow"),
        (task("b", "{{ steps.a.reslt }}", "a"), "a step has no 'reslt' (it has: error, result, status);"
         " did you mean 'result'?"),
        (task("b", "{{ steps.a.files }}", "a"), "a step has no 'files' (it has: error, result, status);"),
        (task("b", "{{ inputs.nope }}"), "the input 'nope' is not declared; declare 'nope' under `inputs`"),
        (task("b", "{{ promt }}"), "'promt' is not known here; did you mean 'prompt'?"),
        (task("b", "{{ item }}"), "`item` is available only in the work of a step with `for_each`"),
        (task("b", "x", when="index > 1", for_each="inputs.all"), "`index` is available only"),
        (task("b", "x", when="{{ inputs.all }}"), "the expression cannot be read:"),
        (task("b", "x", for_each="'abc'"), "`for_each` needs a list, and this is not one;"),
        (task("b", "{% macro m() %}{% endmacro %}"), "the template cannot be read: `macro` cannot be used here"),
        ({"id": "b", "workflow": {"name": "w", "prompt": "{{ inputs.x }}"}}, "the input 'x' is not declared"),
        ({"id": "b", "workflow": {"name": "w", "inputs": {"k": ["{{ steps.a.result }}"]}}},
         "the template uses step 'a', which may not have ended"),
        ({"id": "b", "tool": {"server": "s", "name": "t", "arguments": {"k": "{{ inputs.x }}"}}},
         "the input 'x' is not declared"),
        (task("b", "x", confirm="{{ context.stlye }}"), "the context has no 'stlye'; did you mean 'style'?"),
        ({"id": "b", "workflow": "mine"}, "workflow 'mine' would run itself endlessly; name another one"),
        (task("b", "x", output_schema={"type": "objekt"}), "this is not a JSON Schema: 'objekt'"),
        (task("b", "x", output_schema={"$ref": "http://x/y"}), "a `$ref` leads out of the schema: 'http://x/y'"),
        (task("b", "x", output_schema={"pattern": "("}), "this is not a pattern: unclosed group"),
        ({"id": "b", "handler": "h", "task": "x"}, "a task is for an agent, and this step is of the kind 'handler'"),
        ({"id": "b", "agent": "assistant"}, "the step has an agent and no task; say in `task` what it should do"),
    ],
)  # fmt: skip
def test_each_mistake_of_a_step_is_told(step: Step, expected: str) -> None:
    (mistake,) = mistakes_in(task("a"), step, inputs={"all": {"type": "array"}}, context={"style": "terse"})
    assert mistake.startswith(expected)


def test_a_step_that_is_named_only_when_the_run_is_there_is_no_mistake() -> None:
    inputs = {"which": {"type": "string"}}
    assert mistakes_in(task("a"), task("b", "{{ steps[inputs.which].result }}", "a"), inputs=inputs) == []


def test_what_is_registered_is_checked_only_where_it_is_known() -> None:
    steps = [
        {"id": "a", "handler": "lin"},
        {"id": "b", "workflow": "reveiw"},
        {"id": "c"},
        {"id": "d", "workflow": "./x.yaml"},
    ]
    assert mistakes_in(*steps) == []
    known = KnownNames(handlers={"lint"}, workflows={"review"})
    assert mistakes_in(*steps, known=known) == [
        "no handler is called 'lin'; did you mean 'lint'?",
        "no workflow is called 'reveiw'; did you mean 'review'?",
        "step 'c' does nothing, and no handler is registered under its id;"
        " give it a `task`, a `handler`, a `tool` or a `workflow`",
    ]


def test_names_of_tools_are_checked_where_they_are_known() -> None:
    step = {"id": "a", "task": "look", "tools": ["files", "serch", "git", "team/x", "teem", "own:git"]}
    assert mistakes_in(step) == []
    known = KnownNames(tools=lambda: ("files", "search", "git"), servers={"git", "team"})
    assert mistakes_in(step, known=known) == [
        "no tool, group of tools or MCP server is called 'serch'; did you mean 'search'?",
        "'git' is both a tool of tideate and an MCP server; write `own:git` for tideate's,"
        " or `git/*` for all tools of the server",
        "no MCP server is called 'teem'; did you mean 'team'?",
    ]


def test_tools_without_a_task_have_no_model() -> None:
    assert mistakes_in({"id": "a", "handler": "lint", "tools": ["files"]}) == [
        "tools are for the model of a task, and this step has none; add a `task`"
    ]


@pytest.mark.parametrize(
    "path", ["other.yaml", "./other.yml", "deep/other.json", "walk.workflow", "some/where"]
)
def test_a_path_of_a_workflow_is_no_name(path: str) -> None:
    assert mistakes_in({"id": "a", "workflow": path}, known=KnownNames(workflows={"review"})) == []


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        ("walk", []),
        ("walk.workflow", []),
        ("some/where", []),
        ("wlak", ["no machine is called 'wlak'; did you mean 'walk'?"]),
        ("review", ["'review' has steps and is not a machine; name it in `workflow` instead of `machine`"]),
        ("mine", ["'mine' has steps and is not a machine; name it in `workflow` instead of `machine`"]),
        (
            "mine.yaml",
            ["'mine.yaml' has steps and is not a machine; name it in `workflow` instead of `machine`"],
        ),
    ],
)
def test_what_a_step_names_as_a_machine_is_one(machine: str, expected: list[str]) -> None:
    known = KnownNames(workflows={"review", "walk"}, machines={"walk"})
    assert mistakes_in({"id": "a", "machine": machine}, known=known) == expected


def test_a_machine_is_not_looked_for_where_none_is_known() -> None:
    assert mistakes_in({"id": "a", "machine": "wlak"}) == []


def test_defaults_and_listed_values_fit_their_type() -> None:
    inputs = {
        "n": {"type": "integer", "default": "3"},
        "way": {"enum": ["fast", 2], "default": "slow"},
        "b": {"type": "boolean", "default": 1},
        "ok": {"type": "number", "default": 3},
    }
    assert mistakes_in(task("a"), inputs=inputs) == [
        "the default of the input 'n' must be a whole number, not a text; change it, or what the input may be",
        "a listed value of the input 'way' must be a text, not a whole number; change it, or the type",
        "the default of the input 'way' must be one of 'fast', 2, not 'slow'; change it, or what the input may be",
        "the default of the input 'b' must be true or false, not a whole number;"
        " change it, or what the input may be",
    ]


def test_a_step_with_a_wrong_value_is_checked_all_the_same() -> None:
    mistakes = mistakes_in(task("a", "{{ inputs.x }}", "nope", timeout="soon"))
    assert len(mistakes) == 3


def test_a_template_may_use_any_step_that_surely_ended_before() -> None:
    steps = [task("a"), task("b", "x", "a"), task("c", "{{ steps.a.result }} {{ steps.b.status }}", "b")]
    assert mistakes_in(*steps) == []


def test_a_template_may_not_use_a_step_beside_it_or_behind_it() -> None:
    assert mistakes_in(task("a"), task("b", "{{ steps.a.result }}")) == [
        "the template uses step 'a', which may not have ended before step 'b' starts;"
        " add 'a' to the dependencies of 'b'"
    ]
    assert mistakes_in(task("a", "{{ steps.b.result }}"), task("b", "x", "a")) == [
        "the template uses step 'b', which may not have ended before step 'a' starts;"
        " 'b' waits for 'a', so its result cannot be used here"
    ]
    assert mistakes_in(task("a", "{{ steps.a.result }}")) == [
        "the template uses the result of its own step; use a step that ended before"
    ]


def test_a_text_that_several_steps_share_is_told_at_each() -> None:
    shared = "{{ promt }}"
    unknown = "'promt' is not known here; did you mean 'prompt'?"
    assert mistakes_in(task("a", shared), task("b", shared)) == [unknown, unknown]


def test_an_id_that_jinja_takes_for_a_subtraction_is_explained() -> None:
    steps = [task("style-check"), task("b", "{{ steps.style-check.result }}", "style-check")]
    assert mistakes_in(*steps) == [
        "the template uses step 'style', which is not a step of this workflow;"
        " write `steps['style-check']`: an id with `-` or `.` needs brackets"
    ]


def test_item_and_index_are_known_to_a_step_for_each_item() -> None:
    assert mistakes_in(task("a", "{{ item }} {{ index }}", for_each="['a']")) == []
    assert mistakes_in(task("a", "{{ item }}", for_each={"items": "['a']", "max_parallel": 2})) == []


def test_texts_of_the_run_are_known_to_the_context() -> None:
    assert mistakes_in(task("a", "{{ context.text }} {{ context.selection }} {{ context.path }}")) == []
