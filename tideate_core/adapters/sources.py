"""Interface of sources that open pydantic-ai models; source of OpenAI-compatible servers."""

from __future__ import annotations

import ssl
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, cast

from tideate_core.adapters.credentials import KeySource
from tideate_core.adapters.libraries import load_libraries
from tideate_core.adapters.model_options import secret_values
from tideate_core.adapters.network_settings import check_network_settings
from tideate_core.adapters.prices import is_loopback
from tideate_core.adapters.translate import Origin, missing_version
from tideate_core.errors import AdapterError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from openai import AsyncOpenAI
    from pydantic_ai.models import Model
    from pydantic_ai.profiles import ModelProfile
    from pydantic_ai.providers import Provider

    from tideate_core.config import AdapterConfig

CONNECT_TIMEOUT = 5.0
CHECK_TIMEOUT = 10.0
NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class OpenModel:
    """An open model."""

    model: Model
    origin: Origin
    timeout: float
    close: Callable[[], Awaitable[None]]
    typed: Literal["auto", "native", "prompted"] = "auto"
    """Form of a schema: chosen by pydantic-ai, the server's native JSON schema, or prompt text."""
    alive: Callable[[], bool] = lambda: True
    """Returns False if the model's process has ended and it must be opened again."""
    in_use: Callable[[], AbstractContextManager[None]] = nullcontext
    """Context entered for each request."""


class ModelSource(Protocol):
    """Factory of a model; libraries, keys and processes are used only when it opens."""

    @property
    def needs_key(self) -> bool:
        """False for a model without a key, which starts a process when it is opened."""
        ...

    async def open(self) -> OpenModel:
        """Return an open model.

        :raises AdapterError: a key, a library or a process is missing.
        """
        ...

    async def check(self, opened: OpenModel) -> str:
        """Return one line about the answering model.

        :raises Exception: no model would answer; the caller translates the library's error.
        """
        ...

    async def models(self, opened: OpenModel) -> list[str] | None:
        """Return the models available from this source, None without a list.

        :raises Exception: the caller translates the library's error.
        """
        ...


def open_server(
    origin: Origin, *, base_url: str, model: str, key: str | None, timeout: float, profile: ModelProfile
) -> OpenModel:
    """Return an open model of an OpenAI-compatible server, without a request."""
    import httpx2
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    from tideate_core.adapters.event_stream import repair_stream

    local = is_loopback(base_url)
    plain = local and base_url.startswith("http:")
    if not plain:
        check_network_settings(f"adapter {origin.name!r}", proxies=not local)
    client = httpx2.AsyncClient(
        timeout=httpx2.Timeout(timeout, connect=CONNECT_TIMEOUT),
        trust_env=not local,  # a proxy cannot reach this machine's ports
        verify=_context_without_authorities() if plain else httpx2.create_ssl_context(),
        event_hooks={"response": [repair_stream]},
    )
    provider = OpenAICompatibleProvider(
        origin.name, base_url=base_url, api_key=key, http_client=client, profile=profile
    )
    chat = OpenAIChatModel(model, provider=provider)
    return OpenModel(chat, origin, timeout, client.aclose, typed="native")


def _context_without_authorities() -> ssl.SSLContext:
    """Return a context without authorities, for a server that does not use TLS.

    Loading the authorities takes longer than a request. A redirect to an address with TLS would be
    refused.
    """
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class ServerSource:
    """Source of a model configured by address in `[adapters.NAME]`."""

    needs_key = True

    def __init__(self, name: str, config: AdapterConfig) -> None:
        self._name = name
        self._config = config
        self._base_url = config.base_url or ""
        self._keys = KeySource(name, config.api_key_env, tuple(config.api_key_command or ()))

    async def open(self) -> OpenModel:
        key = await self._keys.key()
        await load_libraries(openai=True)
        more = secret_values(self._config.headers)
        return open_server(
            Origin(self._name, self._base_url, str(self._keys), key or "", more),
            base_url=self._base_url,
            model=self._config.model,
            key=key,
            timeout=self._config.timeout,
            profile=self._profile(),
        )

    async def check(self, opened: OpenModel) -> str:
        known = await self.models(opened)
        if known is None:
            hint = missing_version(self._base_url)
            return f"{self._base_url} answers; it does not list its models{hint}"
        if known and self._config.model not in known:
            raise AdapterError(
                f"adapter {self._name!r} ({self._base_url}) answers but does not list the model "
                f"{self._config.model!r} (it lists: {opened.origin.cut(', '.join(known[:8]))})"
            )
        return f"{self._base_url} answers; model {self._config.model!r}"

    async def models(self, opened: OpenModel) -> list[str] | None:
        return await listed_models(opened, self._config.headers)

    def _profile(self) -> ModelProfile:
        # servers differ in support: the schema is sent natively and in words
        profile: ModelProfile = {
            "supports_json_schema_output": True,
            "native_output_requires_schema_in_instructions": True,
            "openai_chat_streaming_requires_finish_reason": True,  # type: ignore[typeddict-unknown-key]
        }
        if self._config.thinking is not None:
            profile["supports_thinking"] = True  # the configuration says so
        return profile


async def listed_models(opened: OpenModel, headers: Mapping[str, str]) -> list[str] | None:
    """Return the models listed by an OpenAI client, None without a list.

    :raises Exception: the caller translates the library's error.
    """
    provider = cast("Provider[AsyncOpenAI]", opened.model.provider)
    client = provider.client.with_options(max_retries=0, timeout=CHECK_TIMEOUT)
    try:
        return [entry.id for entry in (await client.models.list(extra_headers=dict(headers))).data]
    except Exception as error:
        if getattr(error, "status_code", None) == NOT_FOUND:
            return None
        raise
