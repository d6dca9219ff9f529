"""A provider's model over the wire: key, address and configured settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.adapters import (
    AdapterPool,
    Conversation,
    PricedAdapter,
    Prompt,
    TurnAdapter,
    UserMessage,
)
from tideate_core.config import Config
from tideate_core.errors import AdapterError, AuthenticationFailed, UnknownAdapter

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer


@pytest.fixture(autouse=True)
def openai(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)


def pool_of(**adapter: Any) -> AdapterPool:
    return AdapterPool(Config.model_validate({"adapters": {"mine": adapter}}))


async def ask(pool: AdapterPool, name: str = "mine") -> str:
    try:
        return (await pool.get(name).ask(Prompt("greet"))).text
    finally:
        await pool.aclose()


async def test_settings_are_given_for_a_providers_model(server: ModelServer) -> None:
    server.answers("greet", "hello")
    settings = {
        "temperature": 0.3,
        "max_tokens": 99,
        "headers": {"X-Team": "blue"},
        "extra_body": {"seed": 7},
    }
    assert await ask(pool_of(model="openai-chat:gpt-4o-mini", **settings)) == "hello"
    (body,) = server.requests
    assert (body["model"], body["temperature"], body["seed"]) == ("gpt-4o-mini", 0.3, 7)
    assert body.get("max_completion_tokens", body.get("max_tokens")) == 99
    assert server.headers[0]["x-team"] == "blue"
    assert server.headers[0]["authorization"] == "Bearer sk-mine"


@pytest.mark.parametrize(("thinking", "effort"), [("low", "low"), ("high", "high")])
async def test_a_model_that_can_think_is_told_how_much(
    server: ModelServer, thinking: str, effort: str
) -> None:
    server.answers("greet", "hello")
    await ask(pool_of(model="openai-chat:gpt-5-mini", thinking=thinking))
    assert server.requests[0]["reasoning_effort"] == effort


async def test_a_key_of_the_configuration_comes_before_the_providers(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAM_KEY", "sk-team")
    server.answers("greet", "hello")
    await ask(pool_of(model="openai-chat:gpt-4o-mini", api_key_env="TEAM_KEY"))
    assert server.headers[0]["authorization"] == "Bearer sk-team"


async def test_an_error_names_the_adapter_and_no_header_that_holds_a_key(server: ModelServer) -> None:
    secret = "hdr-0123456789abcdef-0123"
    server.fails("greet", 400, body={"error": {"message": f"bad header {secret} and short-one"}})
    headers = {"X-Trace": secret, "X-Api-Key": "short-one"}
    with pytest.raises(AdapterError, match=r"'mine'.*bad header \[key\] and \[key\]"):
        await ask(pool_of(model="openai-chat:gpt-4o-mini", headers=headers))


async def test_an_unknown_model_is_answered_with_the_nearest(server: ModelServer) -> None:
    server.fails("greet", 404, body={"error": {"message": "no such model", "code": "model_not_found"}})
    with pytest.raises(AdapterError, match=r"does not know this model .* did you mean 'openai:gpt-6-luna'"):
        await ask(pool_of(model="openai-chat:gpt-6-lunaa"))


async def test_an_unknown_provider_in_the_configuration_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownAdapter, match="no provider is called 'antropic'; did you mean 'anthropic'"):
        pool_of(model="antropic:claude").get("mine")


@pytest.mark.parametrize(
    "variable", ["GITHUB_COPILOT_API_KEY", "GITHUB_COPILOT_API_TOKEN", "COPILOT_GITHUB_TOKEN"]
)
async def test_copilot_is_asked_with_its_own_variables(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "gho_mine")
    monkeypatch.setenv("GITHUB_COPILOT_BASE_URL", server.base_url)
    server.answers("greet", "hello")
    assert await ask(pool_of(model="openai:x"), "github-copilot:gpt-5") == "hello"
    assert server.headers[0]["authorization"] == "Bearer gho_mine"
    assert "copilot-integration-id" in server.headers[0]


async def test_a_missing_key_names_every_variable_that_is_looked_at() -> None:
    pool = pool_of(model="openai:x")
    with pytest.raises(AuthenticationFailed, match=r"\$GITHUB_COPILOT_API_KEY is not set \(nor .*TOKEN\)"):
        await ask(pool, "github-copilot:gpt-5")


async def test_a_missing_address_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLLAMA_BASE_URL", raising=False)
    with pytest.raises(AdapterError, match=r"\$OLLAMA_BASE_URL is not set"):
        await ask(pool_of(model="openai:x"), "ollama:qwen3")


async def test_cached_tokens_are_read(server: ModelServer) -> None:
    server.answers("greet", "hello")
    server.cached_tokens = 1
    pool = pool_of(model="openai-chat:gpt-4o-mini")
    usage = (await pool.get("mine").ask(Prompt("greet"))).usage
    assert (usage.input_tokens, usage.cached_tokens) == (1, 1)
    await pool.aclose()


def test_what_is_known_of_a_model_is_its_window_and_price() -> None:
    known = pool_of(model="openai:gpt-4o-mini").get("mine")
    assert known.context_tokens == 128_000
    given = pool_of(model="openai:gpt-4o-mini", context_tokens=9000).get("mine")
    assert given.context_tokens == 9000
    unknown = pool_of(base_url="http://127.0.0.1:1/v1", model="gpt-4o-mini").get("mine")
    assert unknown.context_tokens is None


@pytest.mark.parametrize("cache", [True, False])
async def test_what_prompts_begin_with_is_cached_unless_it_is_turned_off(
    server: ModelServer, cache: bool
) -> None:
    server.answers("greet", "hello")
    pool = pool_of(model="openai-chat:gpt-5.6-luna", **({} if cache else {"cache": False}))
    await pool.get("mine").ask(Prompt("greet", system="be brief"))
    await pool.aclose()
    (body,) = server.requests
    assert ("prompt_cache_options" in body) is cache
    assert ("prompt_cache_breakpoint" in str(body["messages"][0])) is cache


def test_a_price_is_known_before_a_request() -> None:
    known = pool_of(model="openai:gpt-4o-mini", max_tokens=500).get("mine")
    assert isinstance(known, PricedAdapter)
    assert known.price_of(1_000_000, 0) == pytest.approx(0.15)
    assert known.max_tokens == 500
    unknown = pool_of(base_url="http://127.0.0.1:1/v1", model="gpt-4o-mini").get("mine")
    assert isinstance(unknown, PricedAdapter)
    assert unknown.price_of(1, 1) is None


async def test_cached_tokens_of_a_turn_are_read(server: ModelServer) -> None:
    server.answers("greet", "hello")
    server.cached_tokens = 1
    pool = pool_of(model="openai-chat:gpt-5.6-luna")
    adapter = pool.get("mine")
    assert isinstance(adapter, TurnAdapter)
    turn = await adapter.take_turn(Conversation("be brief", (UserMessage("greet"),)), [])
    await pool.aclose()
    assert (turn.text, turn.usage.cached_tokens) == ("hello", 1)
    assert turn.usage.cost is not None
    assert "prompt_cache_options" in server.requests[0]
