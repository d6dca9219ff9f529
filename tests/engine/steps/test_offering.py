"""Tools that a model calls while it answers, with the permissions and events of a step's call."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.steps.test_tool import READ, WRITE, Tools, use, writing
from tideate_core.adapters import Prompt
from tideate_core.agents import WorkLoop
from tideate_core.engine import EventName
from tideate_core.engine.tools import LONGEST_DESCRIPTION
from tideate_core.errors import ToolFailed
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.workflows import StepContext


@pytest.fixture
def tools() -> bool:
    return True


def asking(bench: Bench, *names: str) -> None:
    async def ask(step: StepContext) -> Any:
        loop = WorkLoop[Any](step, "ask", await step.find_tools(names))
        return (await loop.run(Prompt("what is there?"))).text

    bench.register("flow", {"one": ask})


async def test_a_model_calls_a_tool_and_answers_with_what_it_gave(bench: Bench) -> None:
    tools = Tools(READ, answers=[{"size": 41}])
    use(bench, tools)
    bench.server.calls("what", "files__read", {"path": "a.py"})
    bench.server.answers('{"size": 41}', "There are 41 bytes.")
    asking(bench, "files/read")
    result = await bench.run("flow")
    assert result.response == "There are 41 bytes.", result.error
    assert tools.calls == [("files", "read", {"path": "a.py"})]
    (called,) = bench.front.data(EventName.TOOL_CALLED)
    assert (called["step"], called["arguments"]) == ("one", {"path": "a.py"})
    assert "".join(token["text"] for token in bench.front.data(EventName.TOKEN)) == "There are 41 bytes."
    assert bench.server.requests[0]["tools"][0]["function"]["name"] == "files__read"


@pytest.mark.parametrize(
    ("accepted", "error", "told"),
    [
        (True, None, "written"),
        (True, ToolFailed("the disk is full"), "error: the disk is full"),
        (False, None, "error: the person did not allow this call"),
    ],
)
async def test_what_writes_is_asked_about_and_the_model_is_told_what_came_of_it(
    bench: Bench, accepted: bool, error: Exception | None, told: str
) -> None:
    tools = writing(error or "written")
    use(bench, tools)
    bench.front.answer = lambda _request: Decision(accepted, reason="not now")
    bench.server.calls("what", "files__write", {"to": "a"})
    bench.server.answers(told, "So be it.")
    asking(bench, "files")
    result = await bench.run("flow")
    assert result.response == "So be it.", (result.error, bench.server.unmatched)
    assert [request.kind for request in bench.front.requests] == ["tool"]
    assert len(tools.calls) == int(accepted)


async def test_an_offered_tool_that_is_not_there_fails_before_the_model_is_asked(bench: Bench) -> None:
    use(bench, Tools(READ))
    asking(bench, "files/raed")
    assert (await bench.run("flow")).error_code == "UnknownTool"
    assert bench.server.requests == []


async def test_without_servers_tools_cannot_be_offered(bench: Bench) -> None:
    asking(bench, "files/read")
    result = await bench.run("flow")
    assert (result.error_code, "files/read" in str(result.error)) == ("ConfigError", True)


async def test_a_question_shows_all_arguments_and_the_beginning_of_a_long_description(bench: Bench) -> None:
    use(bench, Tools(replace(WRITE, description="word " * LONGEST_DESCRIPTION), answers=["written"]))
    bench.front.answer = lambda _request: Decision(True)
    bench.server.calls("what", "files__write", {"text": "x" * 10_000})
    bench.server.answers("written", "Done.")
    asking(bench, "files")
    assert (await bench.run("flow")).response == "Done."
    (request,) = bench.front.requests
    assert f'"text": "{"x" * 10_000}"' in request.details
    assert len(request.details) < 10_000 + LONGEST_DESCRIPTION + 300
    assert f"word  … ({4 * LONGEST_DESCRIPTION - 1} more characters" in request.details


async def test_a_model_that_calls_on_and_on_is_told_to_answer(bench: Bench) -> None:
    limits = bench.config.limits.model_copy(update={"tool_calls": 1})
    bench.config = bench.config.model_copy(update={"limits": limits})
    tools = Tools(READ, answers=[{"size": 41}])
    use(bench, tools)
    bench.server.calls("what", "files__read", {"path": "a.py"}, times=1)
    bench.server.answers("This is your last turn", "I do not know.")
    asking(bench, "files/read")
    assert (await bench.run("flow")).response == "I do not know."
    assert len(tools.calls) == 1
    assert "tools" not in bench.server.requests[-1]
