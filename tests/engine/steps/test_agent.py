from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.model_rules import text_of
from tests.harness.state import trust_file
from tideate_core.adapters import tool_name
from tideate_core.agents.delegation import MOST_CALLS
from tideate_core.engine import EventName
from tideate_core.errors import StepFailed
from tideate_core.workflows import RunContext, WorkflowDefinition

if TYPE_CHECKING:
    from tests.engine.steps.conftest import Write
    from tests.harness.bench import Bench
    from tideate_core.workflows import StepContext

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


@pytest.fixture
def tools() -> bool:
    return True


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


async def test_results_of_dependencies_that_a_task_does_not_name_are_given_with_it(
    bench: Bench, write: Write
) -> None:
    write(TWO)
    bench.server.answers("Find Ada", "Ada was found.")
    bench.server.answers("Tell about it", "told")
    bench.server.answers("Say what", "nothing")
    await bench.succeed("flow", inputs={"who": "Ada"})
    (unnamed,) = asked(bench, "Say what you know")
    assert "The result of the step 'find':\n\n```\nAda was found.\n```" in unnamed
    (named,) = asked(bench, "Tell about it")
    assert named.count("Ada was found.") == 1


async def test_a_definition_copied_from_the_engine_document_needs_no_template(
    bench: Bench, write: Write
) -> None:
    write("""
        id: 3f1c1a0e-6c58-4b6f-9b1e-0d3a3d3e9c11
        name: Feature Development
        description: Design, build and check a feature
        version: 1.0.0
        context: {project: shop, limits: {users: 50}}
        metadata: {owner: team}
        steps:
          - {id: design, name: Design, agentId: assistant, task: Design the API,
             dependencies: [], parallel: false, retries: 2, continueOnError: false}
          - {id: backend, name: Backend, agentId: assistant, task: Build the backend,
             dependencies: [design], parallel: true, timeout: 300000}
          - {id: frontend, name: Frontend, agentId: assistant, task: Build the frontend,
             dependencies: [design], parallel: true, timeout: 300000}
          - {id: check, name: Check, agentId: assistant, task: Check all of it,
             dependencies: [backend, frontend], parallel: false}
    """)
    for task, answer in {
        "Design the API": "GET /items",
        "Build the backend": "server.py",
        "Build the frontend": "client.ts",
        "Check all of it": "fits",
    }.items():
        bench.server.answers(task, answer)
    result = await bench.run("flow")
    assert result.results == {
        "design": "GET /items",
        "backend": "server.py",
        "frontend": "client.ts",
        "check": "fits",
    }
    prompts = [asked(bench, words)[0] for words in ("Design the", "Build the b", "Build the f", "Check all")]
    assert all("shop" in prompt and '"users": 50' in prompt for prompt in prompts)
    assert ["GET /items" in prompt for prompt in prompts] == [False, True, True, False]
    assert "server.py" in prompts[3]
    assert "client.ts" in prompts[3]


@pytest.mark.parametrize(
    ("step", "given"),
    [
        ("task: Go on", {"first", "second", "red", "round"}),
        ("task: 'Go on with {{ steps.a.result }}'", {"first", "second", "red", "round"}),
        ("task: 'Go on, {{ context.colour }}'", {"first", "second", "red", "round"}),
        ("task: 'Go on{% for name in steps %} {{ name }}{% endfor %}'", {"red", "round"}),
        ("{task: Go on, context: none}", set()),
        ("{task: 'Go on with {{ steps.a.result }}', context: none}", {"first"}),
    ],
)
async def test_what_a_template_names_stands_there_and_only_there(
    bench: Bench, write: Write, step: str, given: set[str]
) -> None:
    body = step.removeprefix("{").removesuffix("}") if step.startswith("{") else step
    write(f"""
        context: {{colour: red, shape: round}}
        steps:
          - {{id: a, task: Say one, context: none}}
          - {{id: b, task: Say two, context: none}}
          - {{id: c, dependencies: [a, b], {body}}}
    """)
    bench.server.answers("Say one", "first")
    bench.server.answers("Say two", "second")
    bench.server.answers("Go on", "done")
    await bench.succeed("flow")
    (prompt,) = asked(bench, "Go on")
    counts = {word: prompt.count(word) for word in ("first", "second", "red", "round")}
    assert counts == {word: int(word in given) for word in counts}


async def test_further_keys_of_a_runs_context_are_handed_on(bench: Bench, write: Write) -> None:
    write("""
        context: {topic: nothing}
        steps:
          - {id: a, task: "Tell about {{ context.topic }}"}
          - {id: b, task: Go on, dependencies: [a]}
    """)
    bench.server.answers("Tell about ships", "told")
    bench.server.answers("Go on", "done")
    context = RunContext.model_validate({"cwd": str(bench.root), "topic": "ships", "harbours": ["Kiel"]})
    await bench.succeed("flow", context=context)
    (prompt,) = asked(bench, "Go on")
    assert "The workflow's context, 'topic':\n\n```\nships\n```" in prompt
    assert "Kiel" in prompt


async def test_items_of_a_list_are_not_given_the_whole_list_too(bench: Bench, write: Write) -> None:
    write("""
        steps:
          - {id: a, task: List them, outputSchema: {type: array, items: {type: string}}}
          - {id: b, dependencies: [a], forEach: steps.a.result, task: "Go on with {{ item }}"}
    """)
    bench.server.answers("List them", {"result": ["apples", "pears"]})
    bench.server.answers("Go on", "done")
    await bench.succeed("flow")
    prompts = asked(bench, "Go on")
    assert sorted(("apples" in prompt, "pears" in prompt) for prompt in prompts) == [
        (False, True),
        (True, False),
    ]


async def test_the_error_of_a_failed_dependency_is_given_and_a_skipped_one_is_not(
    bench: Bench, write: Write
) -> None:
    async def fail(_: StepContext) -> None:
        raise StepFailed("the disk is on fire")

    write(
        """
        steps:
          - {id: a, continueOnError: true}
          - {id: b, task: Say two, when: "false"}
          - {id: c, task: Go on, dependencies: [a, b]}
        """,
        a=fail,
    )
    bench.server.answers("Go on", "done")
    await bench.succeed("flow")
    (prompt,) = asked(bench, "Go on")
    assert "The error of the step 'a':\n\n```\nthe disk is on fire\n```" in prompt
    assert "'b'" not in prompt


async def test_a_result_longer_than_the_share_of_material_is_cut_with_a_notice(
    bench: Bench, write: Write
) -> None:
    await bench.limit(2_000)
    write("""
        steps:
          - {id: a, task: Say one}
          - {id: b, task: Say two}
          - {id: c, task: Go on, dependencies: [a, b]}
    """)
    bench.server.answers("Say one", "x" * 5_000)
    bench.server.answers("Say two", "short one")
    bench.server.answers("Go on", "done")
    await bench.succeed("flow")
    (prompt,) = asked(bench, "Go on")
    assert "short one" in prompt
    assert 1_500 < prompt.count("x") < 2_000
    (notice,) = [one["message"] for one in bench.front.data(EventName.NOTICE) if "cut" in one["message"]]
    assert notice.startswith("The result of the step 'a' is too long for the prompt of 'c'")


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
    assert result.error_code == "UnknownAgent"
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
    result = await bench.succeed("flow")
    assert result.results["a"] == value


@pytest.mark.parametrize(
    ("schema", "answer", "value"),
    [
        ("{type: array, items: {type: string}}", '["a", "b"]', ["a", "b"]),
        ("{type: integer}", "3", 3),
        ("{type: number}", "-1.5", -1.5),
        ("{type: string}", '"yes"', "yes"),
        ("{type: boolean}", "true", True),
        ("{type: 'null'}", "null", None),
        ("{enum: [yes, no]}", '"no"', "no"),
        ("{oneOf: [{type: string}, {type: object, required: [a]}]}", '{"a": 1}', {"a": 1}),
        ("{type: [array, object]}", "[]", []),
        ("{type: array}", '```json\n["a", "b"]\n```', ["a", "b"]),
        ("{type: array}", 'These are the names:\n\n```\n[\n  "a"\n]\n```\n\nThat is all.', ["a"]),
        ("{type: integer}", "~~~\n3\n~~~", 3),
        ("{type: string}", "yes", "yes"),
        ("{type: string}", "Two words.\nAnd a line.\n", "Two words.\nAnd a line."),
        ("{type: string}", "A list:\n```json\n[1]\n```", "A list:\n```json\n[1]\n```"),
        ("{type: string}", "3", "3"),
        ("{enum: [yes, no]}", "no", "no"),
        ("{type: [string, 'null']}", "null", None),
        ("{type: object}", 'Here:\n```\n{"a": 1}\n```', {"a": 1}),
    ],
)
@pytest.mark.parametrize("tools", [True, False])
async def test_a_fitting_value_without_an_object_around_it_is_taken(
    bench: Bench, write: Write, schema: str, answer: str, value: Any
) -> None:
    write(f"steps: [{{id: a, task: Decide, output_schema: {schema}}}]")
    bench.server.answers("Decide", answer)
    result = await bench.succeed("flow")
    assert result.results["a"] == value


async def test_an_answer_that_was_cut_off_is_told(bench: Bench, write: Write) -> None:
    write("steps: [{id: a, task: Decide}]")
    bench.server.answers("Decide", "half", finish_reason="length")
    assert (await bench.run("flow")).results["a"] == "half"
    assert any("cut off" in data["message"] for data in bench.front.data(EventName.NOTICE))


COOK = "steps: [{id: menu, agent: cook, task: Make a menu}]"


def agent(bench: Bench, name: str, text: str, *, trusted: bool = True) -> None:
    path = bench.write(f".tideate/agents/{name}.md", text)
    if trusted:
        trust_file(path)


async def test_an_agents_instructions_adapter_and_schema_are_those_of_its_file(
    bench: Bench, write: Write
) -> None:
    agent(bench, "cook", "---\nadapter: fake\noutput_schema: {type: array}\n---\nYou cook for many.\n")
    write(COOK)
    bench.server.answers("Make a menu", {"result": ["soup"]})
    result = await bench.run("flow")
    assert result.results == {"menu": ["soup"]}, result.error
    (request,) = bench.server.requests
    assert "You cook for many." in request["messages"][0]["content"]
    assert "one step of a larger workflow" not in str(request)


async def test_an_agents_answer_has_to_fit_its_schema(bench: Bench, write: Write) -> None:
    agent(bench, "cook", "---\noutput_schema: {type: object, required: [dish]}\n---\nYou cook.\n")
    write(COOK)
    bench.server.answers("Make a menu", {"no": "dish"})
    result = await bench.run("flow")
    assert result.error_code == "OutputMismatch"


async def test_an_agent_that_uses_more_tokens_than_it_may_fails_its_step(bench: Bench, write: Write) -> None:
    agent(bench, "cook", "---\ntokens: 1\n---\nYou cook.\n")
    write(COOK)
    bench.server.answers("Make a menu", "soup and bread")
    result = await bench.run("flow")
    assert "'cook' used" in str(result.error)
    assert "set `tokens` higher" in str(result.error)


CHEF = "---\nagents: [cook]\n%s---\nYou are the chef.\n"
CHEF_FLOW = "steps: [{id: menu, agent: chef, task: Make a menu}]"


def kitchen(
    bench: Bench, write: Write, cook: str = "You cook.\n", *, chef: str = "", soup: Any = "goulash"
) -> None:
    """Have a chef ask a cook for a soup."""
    agent(bench, "cook", cook)
    agent(bench, "chef", CHEF % chef)
    write(CHEF_FLOW)
    bench.server.calls("Make a menu", "agent_cook", {"task": "Name a soup"}, times=1)
    bench.server.answers("Name a soup", soup, times=1)


async def test_an_agent_gives_a_task_to_another_one(bench: Bench, write: Write) -> None:
    kitchen(bench, write, "---\ndescription: knows soups\n---\nYou cook.\n")
    bench.server.answers("Make a menu", "goulash it is")
    result = await bench.run("flow")
    assert result.results == {"menu": "goulash it is"}, result.error
    first, cook, last = bench.server.requests
    assert "Give a task to the agent cook: knows soups" in json.dumps(first["tools"])
    assert "You cook." in cook["messages"][0]["content"]
    assert "Make a menu" not in json.dumps(cook), "an agent sees its task and nothing else"
    assert "goulash" in json.dumps(last["messages"][-1])
    notices = bench.front.notices()
    assert "chef asks cook: Name a soup" in notices
    place = {"step": "menu", "server": "agents", "tool": "cook"}
    (called,) = bench.front.data(EventName.TOOL_CALLED)
    line = "agents/cook task=Name a soup"
    assert called == {**place, "call": called["call"], "summary": line, "arguments": {"task": "Name a soup"}}
    (ended,) = bench.front.data(EventName.TOOL_COMPLETED)
    assert {key: ended[key] for key in (*place, "ok")} == {**place, "ok": True}
    assert result.usage.input_tokens > 0


async def test_an_agent_and_one_that_it_asks_have_the_projects_rules_once(bench: Bench, write: Write) -> None:
    bench.write("AGENTS.md", "the project's rule")
    kitchen(bench, write)
    bench.server.answers("Make a menu", "goulash it is")
    await bench.succeed("flow")
    assert [json.dumps(body).count("the project's rule") for body in bench.server.requests] == [1, 1, 1]


@pytest.mark.parametrize(
    ("cook", "told", "codes"),
    [
        ("tokens: 1", "cook failed", ["BudgetReached"]),
        ("output_schema: {type: object, required: [dish]}", "'dish' is a required", ["OutputMismatch"]),
        ("agents: [nobody]", "no agent is called 'nobody'", []),
    ],
)
async def test_what_goes_wrong_with_an_agent_that_is_asked_is_told_to_the_one_who_asked(
    bench: Bench, write: Write, cook: str, told: str, codes: list[str]
) -> None:
    kitchen(bench, write, f"---\n{cook}\n---\nYou cook.\n", soup={"soup": "goulash"})
    bench.server.answers("Make a menu", "bread it is")
    result = await bench.run("flow")
    assert result.results == {"menu": "bread it is"}, result.error
    assert told in json.dumps(bench.server.requests[-1]["messages"][-1])
    ended = bench.front.data(EventName.TOOL_COMPLETED)
    assert [(one["ok"], one["error_code"]) for one in ended] == [(False, code) for code in codes]


async def test_tokens_of_agents_count_to_the_one_who_asks(bench: Bench, write: Write) -> None:
    kitchen(bench, write, chef="tokens: 12\n")
    result = await bench.run("flow")
    assert "'chef' used" in str(result.error)
    assert len(bench.server.requests) == 2, "nothing is asked any more"


async def test_agents_that_ask_each_other_end(bench: Bench, write: Write) -> None:
    agent(bench, "cook", "---\nagents: [chef, boy]\n---\nYou cook.\n")
    agent(bench, "boy", "---\nagents: [cook, girl]\n---\nYou help.\n")
    agent(bench, "girl", "You help, too.\n")
    agent(bench, "chef", CHEF % "")
    write(CHEF_FLOW)
    bench.server.calls("Make a menu", "agent_cook", {"task": "Name a soup"}, times=1)
    bench.server.calls("Name a soup", "agent_boy", {"task": "Peel onions"}, times=1)
    bench.server.answers("Peel onions", "peeled", times=1)
    bench.server.answers("Name a soup", "onion soup", times=1)
    bench.server.answers("Make a menu", "onion soup it is")
    await bench.succeed("flow")
    offered = [[tool["function"]["name"] for tool in body.get("tools", ())] for body in bench.server.requests]
    assert offered == [["agent_cook"], ["agent_boy"], [], ["agent_boy"], ["agent_cook"]]


@pytest.mark.slow
async def test_only_so_many_tasks_are_given_to_others(bench: Bench, write: Write) -> None:
    agent(bench, "cook", "You cook.\n")
    agent(bench, "chef", CHEF % "")
    write(CHEF_FLOW)
    # each task is another one: the same call again and again ends the work by a limit of its own
    for number in range(MOST_CALLS + 1):
        task = {"task": f"Name a soup for day {number}"}
        bench.server.calls("Make a menu", "agent_cook", task, times=1)
    bench.server.answers("Name a soup", "goulash", times=MOST_CALLS)
    bench.server.answers("Make a menu", "enough")
    result = await bench.run("flow")
    assert result.results == {"menu": "enough"}, result.error
    assert len(bench.server.requests) == 2 * (MOST_CALLS + 1)
    told = json.dumps(bench.server.requests[-1]["messages"][-1])
    assert f"no more than {MOST_CALLS} tasks may be given" in told


async def test_an_agent_that_is_asked_has_to_exist(bench: Bench, write: Write) -> None:
    agent(bench, "chef", CHEF % "")
    write(CHEF_FLOW)
    result = await bench.run("flow")
    assert (result.error_code, bench.server.requests) == ("UnknownAgent", [])


def test_names_of_tools_are_such_as_models_take_and_differ() -> None:
    taken: list[str] = []
    for name in ("agent_a.b", "agent_a_b", "agent_a-b", "agent_" + "x" * 80, "agent_" + "x" * 81):
        taken.append(tool_name(name, taken))
    assert taken[:3] == ["agent_a_b", "agent_a_b_2", "agent_a-b"]
    assert (len(taken[3]), taken[4]) == (64, f"agent_{'x' * 56}_2")
