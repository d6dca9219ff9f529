"""Available models: configured, known, and listed by providers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.model_server import ModelServer
from tideate_core.adapters.known_providers import known_models, known_providers
from tideate_core.adapters.model_list import ListedModel, list_models
from tideate_core.adapters.prices import ModelPrice
from tideate_core.config import Config
from tideate_core.errors import AdapterUnavailable, AuthenticationFailed, UnknownAdapter

if TYPE_CHECKING:
    from collections.abc import Iterable


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in known_providers().values():
        for variable in provider.keys:
            monkeypatch.delenv(variable, raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def config(server: ModelServer, **more: Any) -> Config:
    mine = {"base_url": server.base_url, "model": "scripted", "context_tokens": 9000, **more}
    deep = {"model": "openai:gpt-4o-mini"}
    return Config.model_validate({"adapter": "mine", "adapters": {"mine": mine, "deep": deep}})


def named(models: Iterable[ListedModel]) -> list[str]:
    return [one.adapter for one in models]


async def test_without_a_name_adapters_are_listed_and_nobody_is_asked(server: ModelServer) -> None:
    listed = await list_models(config(server))
    assert listed.default == "mine"
    assert named(listed.models) == ["local", "mine", "deep"]
    _, mine, deep = listed.models
    assert (mine.model, mine.context_tokens, mine.price) == ("scripted", 9000, None)
    assert (deep.context_tokens, deep.price) == (128_000, ModelPrice(0.15, 0.6))
    assert server.connections == 0


async def test_models_of_providers_with_a_key_are_those_that_are_known(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-mine")
    found = [one for one in (await list_models(config(server))).models if one.source == "known"]
    assert [one.model for one in found] == list(known_models()["anthropic"])
    assert found[0].adapter == f"anthropic:{found[0].model}"
    assert all(one.context_tokens and one.price for one in found)


async def test_one_service_with_several_names_is_listed_once(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    names = named((await list_models(config(server))).models)
    assert any(name.startswith("openai:") for name in names)
    assert not any(name.startswith(("openai-chat:", "openai-responses:")) for name in names)


async def test_a_provider_that_is_named_is_asked(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    server.models = ["zeta", "gpt-4o-mini"]
    listed = await list_models(config(server), "openai")
    assert named(listed.models) == ["openai:gpt-4o-mini", "openai:zeta"]
    assert [(one.source, one.context_tokens) for one in listed.models] == [("live", 128_000), ("live", None)]


async def test_a_server_of_the_configuration_is_asked(server: ModelServer) -> None:
    server.models = ["other", "scripted"]
    listed = await list_models(config(server, headers={"X-Team": "blue"}), "mine")
    assert [(one.adapter, one.model, one.source) for one in listed.models] == [
        ("mine", "scripted", "configuration"),
        ("", "other", "live"),
    ]


async def test_a_provider_without_a_key_is_not_asked_and_the_variable_is_named(server: ModelServer) -> None:
    listed = await list_models(config(server), "mistral")
    assert [one.source for one in listed.models] == ["known"] * len(known_models()["mistral"])
    assert "$MISTRAL_API_KEY is not set" in listed.notes[0]


async def test_a_refused_key_and_a_server_that_is_gone_are_said(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-one")
    with ModelServer(api_key="sk-right") as locked:
        monkeypatch.setenv("OPENAI_BASE_URL", locked.base_url)
        with pytest.raises(AuthenticationFailed, match="OPENAI_API_KEY") as caught:
            await list_models(config(server), "openai")
        assert "sk-wrong-one" not in str(caught.value)
    server.close()
    with pytest.raises(AdapterUnavailable, match="'mine'"):
        await list_models(config(server), "mine")


async def test_an_unknown_name_is_answered_with_the_nearest(server: ModelServer) -> None:
    with pytest.raises(UnknownAdapter, match=r"no adapter and no provider is called 'opnai'.*'openai'"):
        await list_models(config(server), "opnai")


def test_what_is_not_known_has_no_key() -> None:
    assert ListedModel("a", "m", "live").as_json() == {"adapter": "a", "model": "m", "source": "live"}
    priced = ListedModel("a", "m", "known", 5, ModelPrice(1.0, 2.0)).as_json()
    assert (priced["context_tokens"], priced["input_price"], priced["output_price"]) == (5, 1.0, 2.0)
