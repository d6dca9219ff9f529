"""Requests to a step's model: tools only if it can call them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from tests.engine.test_loop import graph, step
from tests.engine.test_pauses import Looking
from tests.engine.test_resumed_runs import Stop, taken_up
from tideate_core.adapters import Conversation, OfferedTool, Prompt, UserMessage
from tideate_core.agents.loop import Submission, WorkLoop
from tideate_core.engine import EventName

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.workflows import StepContext


async def test_tools_are_not_offered_to_a_model_that_cannot_call_them(bench: Bench) -> None:
    graph(bench, {"a": Looking(bench)}, step("a"))
    result = await bench.run("g")
    assert (result.ok, result.error_code) == (False, "ConfigError")
    assert result.error == "the adapter 'fake' cannot use tools (look are wanted)"
    assert bench.server.requests == []


class Plan(BaseModel):
    files: list[str]


async def test_a_structured_answer_streams_as_what_a_person_reads(bench: Bench) -> None:
    async def ask(step: StepContext) -> Any:
        reply = await step.ask(Prompt("plan it"), schema=Plan)
        return [reply.text, (await step.ask(Prompt("say it"))).text]

    bench.server.answers("plan it", {"files": ["a.py", "b.py"]})
    bench.server.answers("say it", '{"files": []}')
    graph(bench, {"a": ask}, step("a"))
    result = await bench.run("g")
    assert result.results["a"] == ['{"files": ["a.py", "b.py"]}', '{"files": []}']
    shown = "".join(event["text"] for event in bench.front.data(EventName.TOKEN))
    assert shown == 'files:\n- `a.py`\n- `b.py`\n{"files": []}'


@pytest.mark.parametrize(
    ("refused", "shown"),
    [
        ('{"files": ["a.py", "b', "files:\n- `a.py`\n- `b"),
        ('{"files": [', '{"files": ['),
        ("So:\n{ x\nor not", "So:\n{ x\nor not"),
        ('{"files": 3}', "files: 3\n"),
    ],
    ids=["cut in a text", "cut in a list", "prose", "wrong shape"],
)
async def test_an_answer_after_a_refused_one_is_read_by_itself(
    bench: Bench, refused: str, shown: str
) -> None:
    async def ask(step: StepContext) -> Any:
        return (await step.ask(Prompt("plan it"), schema=Plan)).text

    bench.server.answers("plan it", refused, times=1)
    bench.server.answers("plan it", {"files": ["c.py"]})
    graph(bench, {"a": ask}, step("a"))
    assert (await bench.run("g")).results["a"] == '{"files": ["c.py"]}'
    found = "".join(event["text"] for event in bench.front.data(EventName.TOKEN))
    assert found == f"{shown}\n\nfiles:\n- `c.py`\n"


@pytest.mark.parametrize("tools", [True])
async def test_an_answer_that_is_handed_in_streams_too(bench: Bench) -> None:
    async def ask(step: StepContext) -> Any:
        async def take(value: Plan) -> str:
            return "" if value.files else "it names no file"

        submission = Submission(Plan, "Hand it in.", take, is_answer=True)
        done = await WorkLoop(step, "plan", [], submission=submission).run(Prompt("plan it"))
        return done.value.files if done.value else None

    bench.server.calls("plan it", "submit", {"files": ["a.py"]})
    graph(bench, {"a": ask}, step("a"))
    assert (await bench.run("g")).results["a"] == ["a.py"]
    shown = "".join(event["text"] for event in bench.front.data(EventName.TOKEN))
    assert shown == "files:\n- `a.py`\n"


@pytest.mark.parametrize("tools", [True])
async def test_what_is_handed_in_after_code_is_read_by_itself(bench: Bench) -> None:
    stop, code = Stop(bench), "So:\nint main()\n{\n  run();\n}"
    tool = OfferedTool("submit", "Hand it in.", {"type": "object"}, handed_in, is_answer=True)

    async def take(step: StepContext) -> Any:
        await step.take_turn(Conversation("s", (UserMessage("plan it"),)), [tool], key="1")
        return await stop(step)

    bench.server.calls("plan it", "submit", {"files": ["a.py"]}, text=code)
    graph(bench, {"a": take}, step("a"))
    left = await bench.run("g")
    shown = "".join(event["text"] for event in bench.front.data(EventName.TOKEN))
    assert shown == f"{code}\n\nfiles:\n- `a.py`\n"
    assert (await taken_up(bench, left)).ok
    (again,) = bench.front.data(EventName.TOKEN)
    assert again["text"] == f"{shown}\n"


async def handed_in(_arguments: dict[str, Any], _key: str) -> str:
    raise AssertionError("no turn is carried out here")
