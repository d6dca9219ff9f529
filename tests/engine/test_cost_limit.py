"""Cost limit of a run: requests that could exceed it are not sent."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.front import LIMIT
from tideate_core.adapters import (
    AdapterPool,
    Conversation,
    ModelTurn,
    OfferedTool,
    Prompt,
    RequestedCall,
    ToolResult,
    Turn,
    UserMessage,
)
from tideate_core.config import Config
from tideate_core.engine import EventName, RunRequest
from tideate_core.engine.context.model import conversation_tokens, estimated_tokens
from tideate_core.workflows import StepContext, WorkflowDefinition, WorkflowStep
from tideate_core.workflows.step_definition import NestedWorkflow

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tests.harness.model_server import ModelServer

KNOWN = "openai-chat:gpt-4o-mini"
"""$0.15 for a million tokens in, $0.60 out: 4096 tokens of an answer are $0.0025."""
LONG = 20_000
"""Tokens of a prompt of $0.003."""


@pytest.fixture(autouse=True)
def openai(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)


async def asking(
    bench: Bench,
    limit: float | None,
    *prompts: Any,
    adapter: str = KNOWN,
    name: str = "asking",
    **more: Any,
) -> Any:
    """Run a step that asks each prompt; prompts in a list at the same time."""
    config = Config.model_validate(
        {
            "adapter": adapter,
            "adapters": {"own": {"base_url": bench.server.base_url, "model": "scripted"}},
            "limits": {"cost_usd": limit},
        }
    )

    async def step(context: StepContext) -> str:
        for one in prompts:
            together = one if isinstance(one, list) else [one]
            await asyncio.gather(*(context.ask(Prompt(text, **more)) for text in together))
        return "done"

    bench.pool = AdapterPool(config)
    bench.registry.register(
        WorkflowDefinition(name="asking", steps=(WorkflowStep(id="ask"),)), {"ask": step}, source="editor"
    )
    inner = WorkflowStep(id="inner", workflow=NestedWorkflow(name="asking"), dependencies=("ask",))
    bench.registry.register(
        WorkflowDefinition(name="outer", steps=(WorkflowStep(id="ask"), inner)),
        {"ask": step},
        source="editor",
    )
    async with asyncio.timeout(LIMIT):
        return await bench.make_runner(config).run(RunRequest(name=name))


async def test_a_request_that_could_pass_the_limit_is_not_sent(bench: Bench) -> None:
    result = await asking(bench, 0.002, "hello")
    assert (result.ok, result.error_code) == (False, "CostLimitReached")
    assert bench.server.requests == []
    assert "limits.cost_usd is $0.002: $0.0000 of it are spent" in result.error
    assert "may cost $0.0025" in result.error
    assert "Set a higher limits.cost_usd" in result.error


async def test_what_was_spent_counts(bench: Bench) -> None:
    bench.server.answers("hello", "hi")
    bench.server.prompt_tokens = LONG
    result = await asking(bench, 0.005, "hello", "hello again")
    assert result.error_code == "CostLimitReached"
    assert len(bench.server.requests) == 1
    assert result.usage.cost == pytest.approx(0.003, rel=0.01)
    assert "$0.0030 of it are spent" in result.error


async def test_requests_under_way_count(bench: Bench) -> None:
    bench.server.answers("hello", "hi")
    result = await asking(bench, 0.004, ["hello", "hello too"])
    assert result.error_code == "CostLimitReached"
    assert "$0.0025 of it are spent or under way" in result.error
    assert len(bench.server.requests) <= 1


async def test_what_was_spent_around_a_nested_run_counts_in_it(bench: Bench) -> None:
    bench.server.answers("hello", "hi")
    bench.server.prompt_tokens = LONG
    result = await asking(bench, 0.005, "hello", name="outer")
    assert (result.ok, len(bench.server.requests)) == (False, 1)
    assert "$0.0030 of it are spent" in result.error
    bench.server.requests.clear()
    assert (await asking(bench, 0.009, "hello", name="outer")).ok
    assert len(bench.server.requests) == 2


async def test_a_short_answer_may_be_asked_for_where_a_long_one_would_be_too_dear(bench: Bench) -> None:
    bench.server.answers("hello", "hi")
    assert (await asking(bench, 0.002, "hello", max_tokens=100)).ok


async def test_without_a_limit_all_is_sent(bench: Bench) -> None:
    bench.server.answers("hello", "hi")
    bench.server.prompt_tokens = 50_000_000
    assert (await asking(bench, None, "hello", "hello again")).ok


async def test_a_model_without_a_price_is_told_of_once_and_asked(bench: Bench) -> None:
    bench.server.answers("hello", "hi")
    assert (await asking(bench, 0.000001, "hello", "hello again", adapter="own")).ok
    (notice,) = bench.front.data(EventName.NOTICE)
    assert "the price of 'own' is unknown" in notice["message"]


def test_a_prompt_is_estimated_with_all_that_is_sent() -> None:
    prompt = Prompt("u" * 40, system="s" * 40, history=(Turn("t" * 40, "a" * 40),))
    assert estimated_tokens(prompt) == 41


async def test_a_turn_that_could_pass_the_limit_is_not_sent(bench: Bench) -> None:
    config = Config.model_validate({"adapter": KNOWN, "limits": {"cost_usd": 0.002}})

    async def step(context: StepContext) -> str:
        return (await context.take_turn(Conversation("s", (UserMessage("hello"),)), [], key="1")).text

    bench.pool = AdapterPool(config)
    turning = WorkflowDefinition(name="turning", steps=(WorkflowStep(id="ask"),))
    bench.registry.register(turning, {"ask": step}, source="editor")
    async with asyncio.timeout(LIMIT):
        result = await bench.make_runner(config).run(RunRequest(name="turning"))
    assert (result.error_code, bench.server.requests) == ("CostLimitReached", [])


async def nothing(_arguments: dict[str, Any], _call: str) -> str:
    return ""


def test_a_conversation_is_estimated_with_its_calls_and_tools() -> None:
    call = RequestedCall("1", "read", {"path": "p" * 40})
    messages = (UserMessage("u" * 40), ModelTurn("t" * 40, (call,), "m"), ToolResult(call, "r" * 40))
    bare = conversation_tokens(Conversation("s" * 40, messages), [])
    assert 50 <= bare <= 60
    tool = OfferedTool("read", "d" * 400, {"type": "object"}, nothing)
    assert conversation_tokens(Conversation("s" * 40, messages), [tool]) >= bare + 100
