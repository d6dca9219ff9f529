"""Agent steps with tools: built-in ones, MCP servers, reviewed edits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.steps.test_tool import READ, Tools, use
from tests.engine.test_resumed_runs import Stop, taken_up
from tests.harness.state import trust_file
from tideate_core.adapters import AdapterPool
from tideate_core.engine import ConfirmationRequest, EventName
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from tests.engine.steps.conftest import Write
    from tests.harness.bench import Bench

FIX = """
steps:
  - id: fix
    task: Correct the greeting
    tools: [look, edits]
    retries: %d
    retry_delay: 0
"""
NAMED = """
steps:
  - id: fix
    task: Correct the greeting
    tools: [read_file, edit_file]
    output_schema:
      type: object
      properties: {done: {type: boolean}}
      required: [done]
"""
EDIT = {"path": "a.txt", "edits": [{"search": "helo", "replace": "hello"}]}


@pytest.fixture
def tools() -> bool:
    return True


def offered(bench: Bench) -> set[str]:
    return {tool["function"]["name"] for tool in bench.server.requests[0].get("tools", ())}


def greet(bench: Bench) -> None:
    bench.write("a.txt", "helo\n")
    bench.server.calls("Correct", "read_file", {"path": "a.txt"}, times=1)
    bench.server.calls("Correct", "edit_file", EDIT, times=1)


async def test_a_step_reads_edits_and_its_edits_are_reviewed_before_they_are_written(
    bench: Bench, write: Write
) -> None:
    write(FIX % 0)
    greet(bench)
    bench.server.answers("Correct", "It says hello now.")
    seen: list[bytes] = []

    def answer(request: ConfirmationRequest) -> Decision:
        seen.append(bench.fingerprint()["a.txt"])
        return Decision(True)

    bench.front.answer = answer
    result = await bench.succeed("flow")
    assert result.results["fix"] == {"response": "It says hello now.", "files": ["a.txt"]}
    assert result.response == "It says hello now."
    assert [request.kind for request in bench.front.requests] == ["review"]
    assert seen == [b"helo\n"]
    assert bench.fingerprint() == {"a.txt": b"hello\n"}
    assert {"read_file", "search", "edit_file", "git_log"} <= offered(bench)
    assert "nothing is written before a person has reviewed" in json.dumps(bench.server.requests[0])


async def test_a_declined_review_writes_nothing_and_ends_the_run(bench: Bench, write: Write) -> None:
    write(FIX % 3)
    greet(bench)
    bench.server.answers("Correct", "done")
    bench.front.answer = lambda _request: Decision(False)
    result = await bench.run("flow")
    assert result.cancelled
    assert bench.fingerprint() == {"a.txt": b"helo\n"}


async def test_what_a_step_wrote_is_rolled_back_with_its_run(bench: Bench, write: Write) -> None:
    write(FIX % 0)
    greet(bench)
    bench.server.answers("Correct", "done")
    result = await bench.run("flow")
    await bench.workspace().rollback(result.execution_id)
    assert bench.fingerprint() == {"a.txt": b"helo\n"}


async def test_with_a_schema_the_response_is_the_submitted_value(bench: Bench, write: Write) -> None:
    write(NAMED)
    greet(bench)
    bench.server.calls("Correct", "submit", {"done": "perhaps"}, times=1)
    bench.server.calls("Correct", "submit", {"done": True})
    result = await bench.succeed("flow")
    assert result.results["fix"] == {"response": {"done": True}, "files": ["a.txt"]}
    assert offered(bench) == {"read_file", "edit_file", "submit"}


async def test_a_schema_with_references_is_handed_in_as_text(bench: Bench, write: Write) -> None:
    schema = '{$ref: "#/$defs/answer", $defs: {answer: {type: boolean}}}'
    write(f"steps: [{{id: fix, task: Correct the greeting, tools: [read_file], output_schema: {schema}}}]")
    bench.write("a.txt", "helo\n")
    bench.server.calls("Correct", "read_file", {"path": "a.txt"}, times=1)
    bench.server.answers("Correct", "```json\ntrue\n```")
    result = await bench.succeed("flow")
    assert result.results["fix"] is True
    assert offered(bench) == {"read_file"}, "no tool hands it in"
    assert '"#/$defs/answer"' in bench.server.requests[0]["messages"][-1]["content"].replace("\\", "")


async def test_each_item_of_a_loop_has_edits_and_a_schema_of_its_own(bench: Bench, write: Write) -> None:
    loop = '    for_each: {items: \'["a.txt", "b.txt"]\', max_parallel: 1}\n'
    write(NAMED.replace("the greeting", "the greeting of {{ item }}") + loop)
    for name in ("a.txt", "b.txt"):
        bench.write(name, "helo\n")
        edit = {**EDIT, "path": name}
        bench.server.calls(f"greeting of {name}", "read_file", {"path": name}, times=1)
        bench.server.calls(f"greeting of {name}", "edit_file", edit, times=1)
        bench.server.calls(f"greeting of {name}", "submit", {"done": True})
    result = await bench.succeed("flow")
    assert [one["files"] for one in result.as_json()["results"]["fix"]] == [["a.txt"], ["b.txt"]]
    assert set(bench.fingerprint().values()) == {b"hello\n"}


async def test_an_attempt_that_failed_leaves_nothing_staged(bench: Bench, write: Write) -> None:
    write(FIX % 1)
    greet(bench)
    bench.server.fails("Correct", 400, times=1)
    bench.server.answers("Correct", "nothing to do")
    result = await bench.succeed("flow")
    assert bench.front.data(EventName.STEP_RETRYING)
    assert result.results["fix"] == {"response": "nothing to do", "files": []}
    assert bench.front.requests == []
    assert bench.fingerprint() == {"a.txt": b"helo\n"}


async def test_what_was_staged_until_a_limit_is_offered_all_the_same(bench: Bench, write: Write) -> None:
    limits = bench.config.limits.model_copy(update={"turns": 2})
    bench.runner = bench.make_runner(bench.config.model_copy(update={"limits": limits}))
    write(FIX % 0)
    greet(bench)
    bench.server.answers("This is your last turn", "I am not done.")
    result = await bench.run("flow")
    assert result.results["fix"] == {"response": "I am not done.", "files": ["a.txt"]}
    notices = bench.front.notices()
    assert any("limits.turns (2)" in notice for notice in notices)


async def test_a_step_that_only_looks_has_its_text_as_result(bench: Bench, write: Write) -> None:
    write("steps: [{id: a, task: Say what is in it, tools: ['own:git', read_file]}]")
    bench.write("a.txt", "41\n")
    bench.server.calls("Say what", "read_file", {"path": "a.txt"}, times=1)
    bench.server.answers("1 line\n41", "It is 41.")
    result = await bench.run("flow")
    assert result.results == {"a": "It is 41."}
    assert offered(bench) == {"read_file", "git_status", "git_diff", "git_log", "git_show", "git_blame"}


async def test_own_tools_and_those_of_servers_are_offered_side_by_side(bench: Bench, write: Write) -> None:
    use(bench, Tools(READ, answers=[{"size": 41}]))
    write("steps: [{id: a, task: Say how large, tools: [read_file, 'files/*']}]")
    bench.server.calls("Say how", "files__read", {"path": "a.py"}, times=1)
    bench.server.answers('{"size": 41}', "41 bytes")
    assert (await bench.run("flow")).response == "41 bytes"
    assert offered(bench) == {"read_file", "files__read"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("files", "write `own:files` for tideate's, or `files/*` for all tools of the server"),
        ("serch", "no tool, group of tools or MCP server is called 'serch'; did you mean 'search'?"),
        ("own:serch", "no tool or group of tools of tideate is called 'serch'; did you mean 'search'?"),
    ],
)
async def test_a_name_that_is_none_or_two_is_refused_before_anything_is_asked(
    bench: Bench, write: Write, name: str, said: str
) -> None:
    use(bench, Tools(READ))
    write(f"steps: [{{id: a, task: Look, tools: ['{name}'], retries: 3}}]")
    result = await bench.run("flow")
    assert result.error_code == "ConfigError"
    assert said in str(result.error)
    assert bench.server.requests == []


async def test_a_model_that_cannot_call_tools_is_refused_before_anything_is_asked(
    bench: Bench, write: Write
) -> None:
    small = bench.config.adapters["fake"].model_copy(update={"tools": False})
    bench.config = bench.config.model_copy(update={"adapters": {"fake": small}})
    await bench.limit(64_000)
    write(FIX % 3)
    result = await bench.run("flow")
    assert result.error_code == "ConfigError"
    assert "step 'fix': its model cannot use tools (look, edits are wanted)" in str(result.error)
    assert bench.server.requests == []


ASKER = "---\ntools: [read_file, edit_file]\nagents: [helper]\n---\nYou correct.\n"
HELPER = "---\ndescription: Helps\ntools: [read_file, edit_file]\n---\nYou help.\n"


async def test_an_agent_names_its_tools_and_one_that_is_asked_sees_what_is_staged(
    bench: Bench, write: Write
) -> None:
    for name, text in (("asker", ASKER), ("helper", HELPER)):
        trust_file(bench.write(f".tideate/agents/{name}.md", text))
    write("steps: [{id: fix, agent: asker, task: Correct it}]")
    bench.write("a.txt", "helo\n")
    bench.server.calls("Correct it", "read_file", {"path": "a.txt"}, times=1)
    bench.server.calls("Correct it", "edit_file", EDIT, times=1)
    bench.server.calls("Correct it", "agent_helper", {"task": "Read it over"}, times=1)
    bench.server.answers("Correct it", "done")
    bench.server.calls("Read it over", "read_file", {"path": "a.txt"}, times=1)
    bench.server.answers("1 line\nhello", "It says hello.")
    result = await bench.succeed("flow")
    assert result.results["fix"] == {"response": "done", "files": ["a.txt"]}
    of_helper: list[Any] = [
        request for request in bench.server.requests if "Read it over" in str(request["messages"][1])
    ]
    assert {tool["function"]["name"] for tool in of_helper[0]["tools"]} == {"read_file"}
    notices = bench.front.notices()
    assert "fix: edit_file left out: nothing is edited here" in notices


async def test_a_workflow_that_wants_no_confirmations_has_its_edits_reviewed_all_the_same(
    bench: Bench, write: Write
) -> None:
    write("require_confirmation: false\n" + FIX % 0)
    greet(bench)
    bench.server.answers("Correct", "done")
    bench.front.answer = lambda _request: Decision(False)
    result = await bench.run("flow")
    assert result.cancelled
    assert [request.kind for request in bench.front.requests] == ["review"]
    assert bench.fingerprint() == {"a.txt": b"helo\n"}


def looking(name: str, **more: Any) -> str:
    lines = [f"  - id: {name}", f"    task: Look at {name}", "    tools: [list_files]"]
    return "\n".join([*lines, *(f"    {key}: {value}" for key, value in more.items())]) + "\n"


def limit(bench: Bench, **limits: int) -> None:
    changed = bench.config.limits.model_copy(update=limits)
    bench.config = bench.config.model_copy(update={"limits": changed})
    bench.runner = bench.make_runner(bench.config)


async def test_a_step_has_one_budget_for_all_its_attempts(bench: Bench, write: Write) -> None:
    schema = "{type: object, required: [a]}"
    write("steps:\n" + looking("one", retries=5, retry_delay=0, output_schema=schema))
    limit(bench, turns=3)
    bench.server.answers("Look at one", "{}")
    result = await bench.run("flow")
    assert (result.ok, result.error_code) == (False, "BudgetReached")
    assert len(bench.server.requests) == 3, "not three for each attempt"
    assert "limits.turns (3) is reached: the step 'one' has used it up" in str(result.error)


async def test_the_steps_of_a_run_have_one_budget(bench: Bench, write: Write) -> None:
    write("steps:\n" + looking("one") + looking("two", dependencies="[one]"))
    limit(bench, run_turns=2)
    bench.server.calls("Look at one", "list_files", {}, times=1)
    bench.server.answers("Look at one", "seen", times=1)
    result = await bench.run("flow")
    assert (result.ok, result.error_code) == (False, "BudgetReached")
    assert "limits.run_turns (2) is reached: the run has used it up" in str(result.error)
    assert result.results["one"] == "seen"
    assert [data["step"] for data in bench.front.data(EventName.STEP_FAILED)] == ["two"]


async def test_a_budget_that_an_earlier_process_used_up_is_used_up(bench: Bench, write: Write) -> None:
    nested = "  - id: one\n    workflow: inner\n"
    write("steps:\n" + looking("inner"), "inner")
    waits = "  - id: stop\n    dependencies: [one]\n"
    write("steps:\n" + nested + waits + looking("two", dependencies="[stop]"), stop=Stop(bench))
    limit(bench, run_turns=2)
    bench.server.calls("Look at inner", "list_files", {}, times=1)
    bench.server.answers("Look at inner", "seen", times=1)
    result = await taken_up(bench, await bench.run("flow"))
    assert (result.error_code, result.results["one"]) == ("BudgetReached", "seen")
    assert "limits.run_turns (2) is reached" in str(result.error)
    assert len(bench.server.requests) == 2


@pytest.mark.parametrize(("of_run", "of_agent", "left_out"), [(None, 4_000, True), (4_000, 400_000, False)])
async def test_an_agents_own_adapter_is_measured_by_its_own_window(
    bench: Bench, write: Write, of_run: int | None, of_agent: int, left_out: bool
) -> None:
    fake = bench.config.adapters["fake"].model_copy(update={"context_tokens": of_run})
    own = fake.model_copy(update={"context_tokens": of_agent})
    bench.config = bench.config.model_copy(update={"adapters": {"fake": fake, "own": own}})
    bench.pool = AdapterPool(bench.config)
    bench.runner = bench.make_runner(bench.config)
    text = "---\nadapter: own\ntools: [read_file]\n---\nYou count.\n"
    trust_file(bench.write(".tideate/agents/counter.md", text))
    write("steps: [{id: count, agent: counter, task: Count them}]")
    for number in range(5):
        bench.write(f"{number}.txt", f"file {number}\n" + "word\n" * 800)
        bench.server.calls("Count them", "read_file", {"path": f"{number}.txt"}, times=1)
    bench.server.answers("Count them", "five")
    result = await bench.run("flow")
    assert result.response == "five", (result.error, bench.server.unmatched)
    last = str(bench.server.requests[-1]["messages"])
    assert ("was left out to save room" in last) == left_out
    assert ("file 0" not in last) == left_out
