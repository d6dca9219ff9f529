from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.model_rules import text_of
from tideate_core.engine import EventName
from tideate_core.workflows import WorkflowDefinition

if TYPE_CHECKING:
    from tests.engine.conftest import Bench
    from tests.engine.steps.conftest import Write

TWO = """
inputs:
  who: {type: string}
steps:
  - id: find
    task: Find {{ inputs.who }} for {{ prompt }}
  - id: tell
    task: "Tell about it: {{ steps.find.result }}"
    dependencies: [find]
  - id: alone
    task: Say what you know
    dependencies: [find]
"""
PERSON = """
steps:
  - id: who
    task: Name a person
    retries: %d
    retry_delay: 0
    output_schema:
      type: object
      properties:
        name: {type: string}
        age: {type: integer, minimum: 18}
      required: [name, age]
"""


def asked(bench: Bench, words: str) -> list[str]:
    texts = [text_of(body) for body in bench.server.requests]
    return [text for text in texts if words in text]


async def test_a_task_is_filled_in_and_its_answer_is_the_result(bench: Bench, write: Write) -> None:
    write(TWO)
    bench.server.answers("Find Ada", "  Ada was found.\n")
    bench.server.answers("Tell about it", "told")
    bench.server.answers("Say what", "nothing")
    result = await bench.run("flow", "the record", inputs={"who": "Ada"})
    assert result.results["find"] == "Ada was found."
    assert asked(bench, "Find Ada for the record")
    assert asked(bench, "Tell about it: Ada was found.")


async def test_a_model_sees_of_the_steps_before_only_what_the_task_says(bench: Bench, write: Write) -> None:
    write(TWO)
    bench.server.answers("Find Ada", "Ada was found.")
    bench.server.answers("Tell about it", "told")
    bench.server.answers("Say what", "nothing")
    assert (await bench.run("flow", inputs={"who": "Ada"})).ok
    (text,) = asked(bench, "Say what you know")
    assert "found" not in text


async def test_a_template_that_names_what_is_not_there_fails_the_step(bench: Bench, write: Write) -> None:
    write("steps: [{id: a, task: 'about {{ context.nobody }}'}]\ncontext: {somebody: x}")
    result = await bench.run("flow")
    assert result.error_code == "InvalidDefinition"
    assert "there is no 'nobody'; did you mean 'somebody'?" in str(result.error)
    assert not bench.server.requests


async def test_an_agent_that_nobody_knows_does_not_fall_to_another_one(bench: Bench) -> None:
    steps = [{"id": "a", "agent": "asistant", "task": "Find Ada", "retries": 3}]
    bench.registry.register(WorkflowDefinition.model_validate({"name": "flow", "steps": steps}), {})
    result = await bench.run("flow")
    assert result.error_code == "InvalidDefinition"
    assert "no agent is called 'asistant'; did you mean 'assistant'?" in str(result.error)
    assert not bench.server.requests


async def test_an_answer_of_the_schema_becomes_the_value(bench: Bench, write: Write) -> None:
    write(PERSON % 0)
    bench.server.answers("Name a person", {"name": "Ada", "age": 36})
    result = await bench.run("flow")
    assert result.results == {"who": {"name": "Ada", "age": 36}}
    assert "minimum" in json.dumps(bench.server.requests[0]), "the schema goes with the request"


async def test_an_answer_that_does_not_fit_is_a_failed_attempt_and_the_model_is_told_why(
    bench: Bench, write: Write
) -> None:
    write(PERSON % 1)
    bench.server.answers("Name a person", {"name": "Ada", "age": 7}, times=1)
    bench.server.answers("could not be used", {"name": "Ada", "age": 36})
    result = await bench.run("flow")
    assert result.results["who"] == {"name": "Ada", "age": 36}
    (again,) = asked(bench, "could not be used")
    assert "$.age: 7 is less than the minimum of 18" in again
    (retrying,) = bench.front.data(EventName.STEP_RETRYING)
    assert retrying["error_code"] == "OutputMismatch"


async def test_without_another_attempt_the_mismatch_fails_the_run(bench: Bench, write: Write) -> None:
    write(PERSON % 0)
    bench.server.answers("Name a person", {"name": "Ada"})
    result = await bench.run("flow")
    assert result.error_code == "OutputMismatch"
    assert "$: 'age' is a required property" in str(result.error)
    assert len(bench.server.requests) == 1


@pytest.mark.parametrize("answer", ["```json\n[1, 2]\n```", "[1, 2]", "Here:\n\n```\n[1, 2]\n```\nDone."])
async def test_a_schema_with_references_is_told_in_the_prompt_and_read_out_of_the_text(
    bench: Bench, write: Write, answer: str
) -> None:
    write(
        """
        steps:
          - id: count
            task: Count
            output_schema:
              type: array
              items: {$ref: "#/$defs/number"}
              $defs: {number: {type: integer}}
        """
    )
    bench.server.answers("Count", answer)
    result = await bench.run("flow")
    assert result.results["count"] == [1, 2]
    assert '"#/$defs/number"' in asked(bench, "Count")[0]


async def test_text_where_json_is_wanted_goes_back_to_the_model(bench: Bench, write: Write) -> None:
    write(
        """
        steps:
          - id: count
            task: Count
            retries: 1
            retry_delay: 0
            output_schema: {$ref: "#/$defs/number", $defs: {number: {type: integer}}}
        """
    )
    bench.server.answers("Count", "three", times=1)
    bench.server.answers("could not be used", "3")
    assert (await bench.run("flow")).results["count"] == 3
    assert "not valid JSON" in asked(bench, "could not be used")[0]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ("{type: array, items: {type: string}}", ["a", "b"]),
        ("{type: integer}", 3),
        ("{enum: [yes, no]}", "yes"),
        ("{type: 'null'}", None),
    ],
)
async def test_a_value_that_is_no_object_is_asked_for_inside_one(
    bench: Bench, write: Write, schema: str, value: Any
) -> None:
    write(f"steps: [{{id: a, task: Decide, output_schema: {schema}}}]")
    bench.server.answers("Decide", {"result": value})
    result = await bench.run("flow")
    assert result.ok, result.error
    assert result.results["a"] == value


async def test_an_answer_that_was_cut_off_is_told(bench: Bench, write: Write) -> None:
    write("steps: [{id: a, task: Decide}]")
    bench.server.answers("Decide", "half", finish_reason="length")
    assert (await bench.run("flow")).results["a"] == "half"
    assert any("cut off" in data["message"] for data in bench.front.data(EventName.NOTICE))
