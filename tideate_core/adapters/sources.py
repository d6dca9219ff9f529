"""Sources of pydantic-ai models, and the one that is a server of the configuration."""

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

__all__ = ["ModelSource", "OpenModel", "ServerSource", "open_server"]

CONNECT_TIMEOUT = 5.0
CHECK_TIMEOUT = 10.0
NOT_FOUND = 404


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

    @property
    def needs_key(self) -> bool:
        """False for a model without a key, which starts a process when it is opened."""
        ...

    async def open(self) -> OpenModel:
        """Return a model that can be asked.

        :raises AdapterError: a key, a library or a process is missing.
        """
        ...

    async def check(self, opened: OpenModel) -> str:
        """Return one line about the model that would answer.

        :raises Exception: nothing would; what the model's library raises is the caller's to translate.
        """
        ...

    async def models(self, opened: OpenModel) -> list[str] | None:
        """Return the models that can be asked in the same way, None where nobody lists them.

        :raises Exception: what the model's library raises is the caller's to translate.
        """
        ...


def open_server(
    origin: Origin, *, base_url: str, model: str, key: str | None, timeout: float, profile: ModelProfile
) -> OpenModel:
    """Make a model of an OpenAI-compatible server; nothing is sent yet."""
    import httpx2
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    from tideate_core.adapters.event_stream import mend_stream

    local = is_loopback(base_url)
    plain = local and base_url.startswith("http:")
    if not plain:
        check_network_settings(f"adapter {origin.name!r}", proxies=not local)
    client = httpx2.AsyncClient(
        timeout=httpx2.Timeout(timeout, connect=CONNECT_TIMEOUT),
        trust_env=not local,  # a proxy cannot reach this machine's own ports
        verify=_trusting_nobody() if plain else httpx2.create_ssl_context(),
        event_hooks={"response": [mend_stream]},
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


class ServerSource:
    """`[adapters.NAME]` of the configuration that has an address."""

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
        # such servers differ in what they support: the schema is sent as one and said in words
        profile: ModelProfile = {
            "supports_json_schema_output": True,
            "native_output_requires_schema_in_instructions": True,
            "openai_chat_streaming_requires_finish_reason": True,  # type: ignore[typeddict-unknown-key]
        }
        if self._config.thinking is not None:
            profile["supports_thinking"] = True  # the person says so
        return profile


async def listed_models(opened: OpenModel, headers: Mapping[str, str]) -> list[str] | None:
    """Return the models that a client of OpenAI's kind is told of, None if there is no such list.

    :raises Exception: what the model's library raises is the caller's to translate.
    """
    provider = cast("Provider[AsyncOpenAI]", opened.model.provider)
    client = provider.client.with_options(max_retries=0, timeout=CHECK_TIMEOUT)
    try:
        return [entry.id for entry in (await client.models.list(extra_headers=dict(headers))).data]
    except Exception as error:
        if getattr(error, "status_code", None) == NOT_FOUND:
            return None
        raise
