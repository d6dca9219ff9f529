"""Templates are checked before anything runs: steps, inputs and names that they use."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tideate_core.workflows.parsing import WorkflowParser

if TYPE_CHECKING:
    from tideate_core.workflows.checking import KnownNames

Step = dict[str, Any]


def task(name: str, text: str = "x", *dependencies: str, **rest: Any) -> Step:
    return {"id": name, "task": text, "dependencies": list(dependencies), **rest}


def mistakes_in(*steps: Step, known: KnownNames | None = None, **rest: Any) -> list[str]:
    parsed = WorkflowParser(known).parse(json.dumps({**rest, "steps": steps}), format="json", name="mine")
    return [f"{mistake.message}; {mistake.hint}".removesuffix("; ") for mistake in parsed.mistakes]


def test_a_template_may_use_any_step_that_surely_ended_before() -> None:
    steps = [task("a"), task("b", "x", "a"), task("c", "{{ steps.a.result }} {{ steps.b.status }}", "b")]
    assert mistakes_in(*steps) == []


def test_a_template_may_not_use_a_step_beside_it_or_behind_it() -> None:
    assert mistakes_in(task("a"), task("b", "{{ steps.a.result }}")) == [
        "the template uses step 'a', which need not have ended before step 'b' starts;"
        " add 'a' to the dependencies of 'b'"
    ]
    assert mistakes_in(task("a", "{{ steps.b.result }}"), task("b", "x", "a")) == [
        "the template uses step 'b', which need not have ended before step 'a' starts;"
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
        " write `steps['style-check']`: an id with `-` or `.` stands in brackets"
    ]


def test_item_and_index_are_known_to_a_step_for_each_item() -> None:
    assert mistakes_in(task("a", "{{ item }} {{ index }}", for_each="['a']")) == []
    assert mistakes_in(task("a", "{{ item }}", for_each={"items": "['a']", "max_parallel": 2})) == []


def test_texts_of_the_run_are_known_to_the_context() -> None:
    assert mistakes_in(task("a", "{{ context.text }} {{ context.selection }} {{ context.path }}")) == []
