"""The parsed provider list matches the library's behaviour."""

from __future__ import annotations

import re

import pytest

from tideate_core.adapters.known_providers import (
    NOT_FOR_TEXT,
    known_models,
    known_providers,
    provider_named,
)

ITS_OWN_WAY = {"bedrock", "bedrock-mantle", "google-cloud", "litellm", "openai-chatgpt", "openai-codex"}
"""Providers that need no key."""
MORE_THAN_A_KEY = {"azure", "azure-responses", "ollama", "snowflake", "system-one", "vllm"}
"""Providers that need an address first."""


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in known_providers().values():
        for variable in provider.keys:
            monkeypatch.delenv(variable, raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.mark.filterwarnings("ignore:.*GitHubProvider")
@pytest.mark.parametrize("name", known_providers())
@pytest.mark.usefixtures("no_keys")
def test_a_providers_name_and_keys_are_the_librarys(name: str) -> None:
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.providers import infer_provider

    try:
        infer_provider(name)
    except ImportError as error:
        assert "pip install" in str(error)  # known, its own library is an extra
    except UserError as error:
        wanted = re.findall(r"Set the `(\w+)`", str(error))
        keys = known_providers()[name].keys
        assert wanted[:1] == list(keys[:1]) or name in MORE_THAN_A_KEY | ITS_OWN_WAY, (wanted, keys)
    else:
        assert name in ITS_OWN_WAY


def test_no_provider_of_a_known_model_is_missing() -> None:
    plain = {name.removeprefix("gateway/") for name in known_models()}
    assert plain - NOT_FOR_TEXT <= known_providers().keys()


def test_every_known_model_is_read() -> None:
    from pydantic_ai.models import known_model_names

    read = {f"{provider}:{model}" for provider, models in known_models().items() for model in models}
    assert read == {name for name in known_model_names() if ":" in name}


def test_copilot_takes_the_variables_of_githubs_own_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    copilot = provider_named("github-copilot")
    assert copilot is not None
    for variable in copilot.keys:
        monkeypatch.delenv(variable, raising=False)
    assert copilot.key_variable() == ""
    monkeypatch.setenv("COPILOT_GITHUB_TOKEN", "gho_mine")
    assert copilot.key_variable() == "COPILOT_GITHUB_TOKEN"


def test_an_unknown_provider_is_none() -> None:
    assert provider_named("opnai") is None
