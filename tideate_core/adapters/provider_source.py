"""Source that opens pydantic-ai's model `PROVIDER:MODEL` with the provider's key or stored login."""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, cast

from tideate_core.adapters.credentials import KeySource
from tideate_core.adapters.known_providers import provider_named
from tideate_core.adapters.libraries import IN_NEOVIM, PIP, import_aside
from tideate_core.adapters.login_store import LoginStore
from tideate_core.adapters.model_options import secret_values
from tideate_core.adapters.network_settings import check_network_settings
from tideate_core.adapters.sources import OpenModel, listed_models
from tideate_core.adapters.stored_logins import SUBSCRIPTIONS, login_provider, stored_key
from tideate_core.adapters.translate import Origin
from tideate_core.errors import AdapterError, AdapterUnavailable, AuthenticationFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

    from tideate_core.adapters.login_store import Login
    from tideate_core.adapters.stored_logins import LoginSecrets
    from tideate_core.config import AdapterConfig

PROVIDER_TIMEOUT: Final = 120.0
"""Seconds without a byte from the provider."""
EXTRA: Final = re.compile(r"pydantic-ai-slim\[([\w-]+)\]")
TO_SET: Final = re.compile(r"Set the `([A-Z]\w+)`")
OWN_WAYS: Final = frozenset({"google-cloud"})
"""Providers whose library chooses among several kinds of credentials."""


class ProviderSource:
    """Source of a provider's model.

    :param name: adapter name, for messages.
    :param model: `PROVIDER:MODEL`.
    :param config: the adapter's configuration, if any.
    """

    needs_key = True

    def __init__(self, name: str, model: str, config: AdapterConfig | None = None) -> None:
        self._name = name
        self._model = model
        self._provider = model.partition(":")[0]
        self._timeout = config.timeout if config else PROVIDER_TIMEOUT
        self._headers = config.headers if config else {}
        given = config and (config.api_key_env or config.api_key_command)
        self._keys = (
            KeySource(name, config.api_key_env, tuple(config.api_key_command or ()))
            if config and given
            else None
        )

    async def open(self) -> OpenModel:
        check_network_settings(f"adapter {self._name!r}")
        key, key_source = await self._key()
        store = LoginStore()
        login = None if key or self._keys else await store.in_thread(store.get, self._provider)
        if login and login.get("kind") == "oauth" and self._provider in SUBSCRIPTIONS:
            return await self._open_login(login)
        try:
            model = await import_aside(lambda: self._infer(self._factory(key)))
        except ImportError as error:
            raise self._not_installed(error) from error
        stack = AsyncExitStack()
        await stack.enter_async_context(model)
        more = secret_values(self._headers)
        origin = Origin(self._name, _address(model), key_source or "the environment", key, more)
        return OpenModel(model, origin, self._timeout, stack.aclose)

    async def _open_login(self, login: Login) -> OpenModel:
        def infer() -> tuple[Model, LoginSecrets]:
            provider, secrets = login_provider(self._provider, login)
            return self._infer(lambda _name: provider), secrets

        model, secrets = await import_aside(infer)
        secrets.add_words(secret_values(self._headers))
        stack = AsyncExitStack()
        await stack.enter_async_context(model)
        # the library closes only clients that it made
        stack.push_async_callback(model.provider.client.close)  # type: ignore[union-attr]
        origin = Origin(
            self._name,
            _address(model),
            f"the login of `tideate login {self._provider}`",
            more_secrets=secrets,
        )
        return OpenModel(model, origin, self._timeout, stack.aclose)

    async def check(self, opened: OpenModel) -> str:
        return f"{self._model}: library and key are there; nothing was sent to {opened.origin.address}"

    async def models(self, opened: OpenModel) -> list[str] | None:
        provider = opened.model.provider
        # clients generated like OpenAI's have this interface
        if provider is None or not hasattr(provider.client, "with_options"):
            return None
        if not hasattr(getattr(provider.client, "models", None), "list"):
            return None
        return await listed_models(opened, self._headers)

    async def _key(self) -> tuple[str, str]:
        """Return the key and its source; both empty if the library finds credentials itself."""
        if self._keys is not None:
            return await self._keys.key() or "", str(self._keys)
        known = provider_named(self._provider)
        variable = known.key_variable() if known else ""
        if self._provider in OWN_WAYS:
            return "", ""
        if not variable:
            kept = await asyncio.to_thread(stored_key, self._provider)
            return kept, f"`tideate login {self._provider}`" if kept else ""
        return await KeySource(self._name, variable).key() or "", f"${variable}"

    def _infer(self, factory: Callable[[str], Provider[Any]]) -> Model:
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model

        try:
            return infer_model(self._model, factory)
        except UserError as error:
            raise self._unusable(str(error)) from error

    def _factory(self, key: str) -> Callable[[str], Provider[Any]]:
        import inspect

        from pydantic_ai.providers import infer_provider, infer_provider_class
        from pydantic_ai.providers.gateway import gateway_provider

        def with_key(name: str) -> Provider[Any]:
            # the checked key: the variable may end with a line break
            if name.startswith("gateway/"):
                return gateway_provider(name.removeprefix("gateway/"), api_key=key)
            make = cast("Callable[..., Provider[Any]]", infer_provider_class(name))
            taken = inspect.signature(make).parameters
            called = next((one for one in ("api_key", "token") if one in taken), None)
            return make(**{called: key}) if called else infer_provider(name)

        return with_key if key else infer_provider

    def _not_installed(self, error: ImportError) -> AdapterUnavailable:
        named = EXTRA.search(str(error))
        extra = named[1] if named else self._provider
        return AdapterUnavailable(
            f"adapter {self._name!r} needs a library that is not installed: "
            f"{PIP} install 'pydantic-ai-slim[{extra}]'"
            + (IN_NEOVIM.format(extra=extra) if extra in ("anthropic", "google") else "")
        )

    def _unusable(self, said: str) -> AdapterError:
        known = provider_named(self._provider)
        named = TO_SET.search(said)
        if named is None and self._provider in SUBSCRIPTIONS:
            return AuthenticationFailed(
                f"adapter {self._name!r}: there is no login; `tideate login {self._provider}`"
            )
        if named is None:
            return AdapterError(f"adapter {self._name!r}: {said}")
        keys = known.keys if known else ()
        kind = AuthenticationFailed if named[1] in keys else AdapterError
        others = f" (nor ${', $'.join(keys[1:])})" if named[1] in keys and len(keys) > 1 else ""
        return kind(
            f"adapter {self._name!r}: ${named[1]} is not set{others}; "
            f"export it before you start the editor or the shell, or `tideate login {self._provider}`"
        )


def _address(model: Model) -> str:
    return str(model.base_url or "")
