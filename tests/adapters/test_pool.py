"""Adapter names, and the adapters they create."""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from tests.harness.model_server import ModelServer
from tideate_core.adapters import AdapterPool, Prompt
from tideate_core.adapters.known_providers import known_providers
from tideate_core.config import Config
from tideate_core.errors import AdapterError, AuthenticationFailed, UnknownAdapter

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def pool(server: ModelServer) -> AdapterPool:
    fake = {"base_url": server.base_url, "model": "scripted", "context_tokens": 8000}
    return AdapterPool(Config.model_validate({"adapters": {"fake": fake}}))


async def test_a_name_of_the_configuration_means_its_server(server: ModelServer, pool: AdapterPool) -> None:
    server.answers("greet", "hello")
    adapter = pool.get("fake")
    assert (await adapter.ask(Prompt("greet"))).text == "hello"
    assert (adapter.name, adapter.demonstration, adapter.context_tokens) == ("fake", False, 8000)
    await pool.aclose()


def test_one_name_means_one_adapter(pool: AdapterPool) -> None:
    assert pool.get("fake") is pool.get("fake")


def test_only_the_bundled_model_is_a_demonstration(pool: AdapterPool) -> None:
    assert pool.get("local").demonstration
    assert not pool.get("openai:gpt-5").demonstration


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fakee", "did you mean 'fake'"),
        ("locl", "did you mean 'local'"),
        ("opnai:gpt-5", "no provider is called 'opnai'; did you mean 'openai'"),
        ("openai:", "PROVIDER:MODEL"),
        ("", "unknown adapter ''"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(pool: AdapterPool, name: str, said: str) -> None:
    with pytest.raises(UnknownAdapter, match=said):
        pool.get(name)


@pytest.mark.parametrize("provider", known_providers())
def test_every_provider_that_the_library_knows_can_be_named(pool: AdapterPool, provider: str) -> None:
    assert pool.get(f"{provider}:some-model").name == f"{provider}:some-model"


def test_the_gateway_to_a_provider_can_be_named(pool: AdapterPool) -> None:
    assert not pool.get("gateway/openai:gpt-5").demonstration


async def test_a_providers_model_is_asked(
    server: ModelServer, pool: AdapterPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    server.answers("greet", "hello")
    reply = await pool.get("openai-chat:gpt-4o-mini").ask(Prompt("greet"))
    assert reply.text == "hello"
    assert server.headers[0]["authorization"] == "Bearer sk-mine"
    await pool.aclose()


async def test_a_providers_refused_key_names_its_variable(
    pool: AdapterPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    with ModelServer(api_key="sk-right") as locked:
        monkeypatch.setenv("OPENAI_BASE_URL", locked.base_url)
        with pytest.raises(AuthenticationFailed, match=r"\$OPENAI_API_KEY"):
            await pool.get("openai-chat:gpt-4o-mini").ask(Prompt("greet"))
        await pool.aclose()


async def test_a_providers_missing_key_names_its_variable(
    pool: AdapterPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(AuthenticationFailed, match=r"\$OPENAI_API_KEY is not set"):
        await pool.get("openai:gpt-5").ask(Prompt("greet"))


@pytest.mark.parametrize("key", ["sk-mine\n", "  sk-mine  "])
async def test_white_space_around_a_providers_key_is_not_sent(
    server: ModelServer, pool: AdapterPool, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    server.answers("greet", "hello")
    await pool.get("openai-chat:gpt-4o-mini").ask(Prompt("greet"))
    assert server.headers[0]["authorization"] == "Bearer sk-mine"
    await pool.aclose()


@pytest.mark.parametrize(
    ("name", "variable", "address"),
    [
        ("openai-chat:gpt-4o-mini", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
        ("ollama:qwen3", "OLLAMA_API_KEY", "OLLAMA_BASE_URL"),
    ],
)
@pytest.mark.parametrize("key", ["sk-secret\nsecond", "sk-sécret"])
async def test_a_providers_key_that_no_header_can_carry_is_refused(
    server: ModelServer,
    pool: AdapterPool,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    variable: str,
    address: str,
    key: str,
) -> None:
    monkeypatch.setenv(variable, key)
    monkeypatch.setenv(address, server.base_url)
    with pytest.raises(AuthenticationFailed, match=rf"\${variable} .*printable ASCII") as caught:
        await pool.get(name).ask(Prompt("greet"))
    assert "cret" not in str(caught.value)
    assert server.requests == []


async def test_a_check_of_a_provider_sends_nothing(
    server: ModelServer, pool: AdapterPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    assert "nothing was sent" in await pool.get("openai-chat:gpt-4o-mini").check()
    assert server.requests == []
    await pool.aclose()


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("local", None),
        ("fake", None),
        ("keyed", r"\$ABSENT_KEY is not set"),
        ("openai:gpt-5", r"\$OPENAI_API_KEY is not set"),
        ("replay:absent.jsonl", "absent.jsonl cannot be read"),
    ],
)
@pytest.mark.parametrize("recorded", [False, True])
async def test_an_adapter_says_itself_what_it_needs_to_answer(
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    missing: str | None,
    recorded: bool,
) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ABSENT_KEY"):
        monkeypatch.delenv(variable, raising=False)
    started = Mock(side_effect=AssertionError("the bundled model was started"))
    monkeypatch.setattr("tideate_core.adapters.local_process.acquire_process", started)
    fake = {"base_url": server.base_url, "model": "scripted"}
    config = {"adapters": {"fake": fake, "keyed": {**fake, "api_key_env": "ABSENT_KEY"}}}
    record = tmp_path / "recording.jsonl" if recorded else None
    adapter = AdapterPool(Config.model_validate(config), record=record).get(name)
    with pytest.raises(AdapterError, match=missing) if missing else nullcontext():
        await adapter.check_key()
    assert server.requests == []


async def test_a_providers_missing_library_is_named(
    pool: AdapterPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "groq", None)
    monkeypatch.delitem(sys.modules, "pydantic_ai.providers.groq", raising=False)
    monkeypatch.setenv("GROQ_API_KEY", "sk-mine")
    with pytest.raises(AdapterError, match=r"pip install 'pydantic-ai-slim\[groq\]'"):
        await pool.get("groq:llama").ask(Prompt("greet"))


@pytest.mark.slow
def test_naming_adapters_imports_no_model_library() -> None:
    program = (
        "import sys\n"
        "from tideate_core.adapters import AdapterPool\n"
        "from tideate_core.config import Config, load_config\n"
        "pool = AdapterPool(Config())\n"
        "for name in ('local', 'openai:gpt-5', 'replay:x'): pool.get(name)\n"
        "print(sorted({'pydantic_ai', 'openai', 'anthropic', 'httpx', 'httpx2'} & sys.modules.keys()))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
