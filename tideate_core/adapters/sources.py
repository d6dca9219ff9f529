"""Sources of pydantic-ai models: a server of the configuration, or a provider by name."""

from __future__ import annotations

import ipaddress
import os
import ssl
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast
from urllib.parse import urlsplit

from tideate_core.adapters.credentials import KeySource
from tideate_core.adapters.translate import Origin
from tideate_core.errors import AdapterError, AdapterUnavailable, AuthenticationFailed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openai import AsyncOpenAI
    from pydantic_ai.models import Model
    from pydantic_ai.profiles import ModelProfile
    from pydantic_ai.providers import Provider

    from tideate_core.config import AdapterConfig

__all__ = ["PROVIDERS", "ModelSource", "OpenModel", "ProviderSource", "ServerSource", "open_server"]

CONNECT_TIMEOUT = 5.0
CHECK_TIMEOUT = 10.0
PROVIDER_TIMEOUT = 120.0
"""Seconds, the last without a byte from the provider."""


PROVIDERS: dict[str, str] = {
    "anthropic": "ANTHROPIC_API_KEY",
    "azure": "AZURE_OPENAI_API_KEY",
    "bedrock": "",
    "cerebras": "CEREBRAS_API_KEY",
    "cohere": "CO_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "fireworks": "FIREWORKS_API_KEY",
    "google": "GOOGLE_API_KEY",
    "google-cloud": "",
    "groq": "GROQ_API_KEY",
    "huggingface": "HF_TOKEN",
    "mistral": "MISTRAL_API_KEY",
    "moonshotai": "MOONSHOTAI_API_KEY",
    "ollama": "",
    "openai": "OPENAI_API_KEY",
    "openai-chat": "OPENAI_API_KEY",
    "openai-responses": "OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "together": "TOGETHER_API_KEY",
    "vercel": "VERCEL_AI_GATEWAY_API_KEY",
    "xai": "XAI_API_KEY",
}
"""Providers that may stand before the colon, and the variable with their key (empty: none, or several)."""

ALSO_KEYS: dict[str, str] = {
    "bedrock": "AWS_BEARER_TOKEN_BEDROCK",
    "google": "GEMINI_API_KEY",
    "ollama": "OLLAMA_API_KEY",
    "vercel": "VERCEL_OIDC_TOKEN",
}
"""The variable that a provider's key is taken from where the first is empty."""


@dataclass(frozen=True, slots=True)
class OpenModel:
    """A model that can be asked, until it is closed."""

    model: Model
    origin: Origin
    timeout: float
    close: Callable[[], Awaitable[None]]
    typed: Literal["auto", "native", "prompted"] = "auto"
    """A schema is sent as pydantic-ai knows best, as the server's own JSON schema, or in words only."""
    alive: Callable[[], bool] = lambda: True
    """False when what the model runs in has ended and it must be opened again."""
    in_use: Callable[[], AbstractContextManager[None]] = nullcontext
    """Entered for as long as a prompt is answered."""


class ModelSource(Protocol):
    """Makes a model, late: libraries, keys and processes are touched only here."""

    async def open(self) -> OpenModel:
        """Return a model that can be asked.

        :raises AdapterError: a key, a library or a process is missing.
        """
        ...

    async def check(self, opened: OpenModel) -> str:
        """Return one line on what would answer.

        :raises Exception: nothing would; what the model's library raises is the caller's to translate.
        """
        ...


def open_server(
    origin: Origin, *, base_url: str, model: str, key: str | None, timeout: float, profile: ModelProfile
) -> OpenModel:
    """Make a model of an OpenAI-compatible server; nothing is sent yet."""
    import httpx2
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    local = _is_loopback(base_url)
    client = httpx2.AsyncClient(
        timeout=httpx2.Timeout(timeout, connect=CONNECT_TIMEOUT),
        trust_env=not local,  # a proxy cannot reach this machine's own ports
        verify=_trusting_nobody() if local and base_url.startswith("http:") else True,
    )
    provider = OpenAICompatibleProvider(
        origin.name, base_url=base_url, api_key=key, http_client=client, profile=profile
    )
    chat = OpenAIChatModel(model, provider=provider)
    return OpenModel(chat, origin, timeout, client.aclose, typed="native")


def _trusting_nobody() -> ssl.SSLContext:
    """Return a context without authorities for a server that is not asked over TLS.

    To read all of them takes longer than to ask it. Were it to send us elsewhere, to an address with TLS,
    that would be refused.
    """
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _is_loopback(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class ServerSource:
    """`[adapters.NAME]` of the configuration."""

    def __init__(self, name: str, config: AdapterConfig) -> None:
        self._name = name
        self._config = config
        self._keys = KeySource(name, config.api_key_env, tuple(config.api_key_command or ()))

    async def open(self) -> OpenModel:
        key = await self._keys.key()
        return open_server(
            Origin(self._name, self._config.base_url, str(self._keys), key or ""),
            base_url=self._config.base_url,
            model=self._config.model,
            key=key,
            timeout=self._config.timeout,
            # such servers differ in what they support: the schema is sent as one and said in words
            profile={
                "supports_json_schema_output": True,
                "native_output_requires_schema_in_instructions": True,
                "openai_chat_streaming_requires_finish_reason": True,  # type: ignore[typeddict-unknown-key]
            },
        )

    async def check(self, opened: OpenModel) -> str:
        from openai import NotFoundError

        provider = cast("Provider[AsyncOpenAI]", opened.model.provider)
        client = provider.client.with_options(max_retries=0, timeout=CHECK_TIMEOUT)
        try:
            known = [entry.id for entry in (await client.models.list()).data]
        except NotFoundError:
            return f"{self._config.base_url} answers; it does not list its models"
        if known and self._config.model not in known:
            raise AdapterError(
                f"adapter {self._name!r} ({self._config.base_url}) answers but does not list the model "
                f"{self._config.model!r} (it lists: {opened.origin.cut(', '.join(known[:8]))})"
            )
        return f"{self._config.base_url} answers; model {self._config.model!r}"


class ProviderSource:
    """`PROVIDER:MODEL` of pydantic-ai, with the provider's own environment variables."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._provider, _, self._model = name.partition(":")

    async def open(self) -> OpenModel:
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model

        key, variable = await self._key()
        try:
            model = infer_model(self._name, self._factory(key))
        except ImportError as error:
            raise self._not_installed() from error
        except UserError as error:
            if PROVIDERS[self._provider] and not key:
                raise self._no_key(PROVIDERS[self._provider]) from error
            raise AdapterError(f"adapter {self._name!r}: {error}") from error
        key_source = f"${variable}" if variable else "the environment"
        stack = AsyncExitStack()
        await stack.enter_async_context(model)
        origin = Origin(self._name, str(model.base_url or ""), key_source, key)
        return OpenModel(model, origin, PROVIDER_TIMEOUT, stack.aclose)

    async def check(self, opened: OpenModel) -> str:
        return f"{self._name}: library and key are there; nothing was sent to {opened.origin.address}"

    async def _key(self) -> tuple[str, str]:
        """Return the key and its variable; both empty where the library finds its own way."""
        for variable in (PROVIDERS[self._provider], ALSO_KEYS.get(self._provider, "")):
            if os.environ.get(variable, "").strip():
                return await KeySource(self._name, variable).key() or "", variable
        return "", PROVIDERS[self._provider]

    def _factory(self, key: str) -> Callable[[str], Provider[Any]]:
        from pydantic_ai.providers import infer_provider, infer_provider_class

        def with_key(name: str) -> Provider[Any]:
            # the key as it was checked: the library would take the variable with a line break at its end
            make = cast("Callable[..., Provider[Any]]", infer_provider_class(name))
            return make(api_key=key)

        return with_key if key else infer_provider

    def _not_installed(self) -> AdapterUnavailable:
        return AdapterUnavailable(
            f"adapter {self._name!r} needs a library that is not installed: "
            f"in tideate's environment: pip install 'pydantic-ai-slim[{self._provider}]'"
        )

    def _no_key(self, variable: str) -> AuthenticationFailed:
        return AuthenticationFailed(
            f"adapter {self._name!r}: ${variable} is not set; "
            "export it before you start the editor or the shell"
        )
