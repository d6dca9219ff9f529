"""List of available models: configured adapters, and models of providers with a key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tideate_core.adapters.known_providers import known_models, known_providers, provider_named
from tideate_core.adapters.libraries import load_libraries
from tideate_core.adapters.local import ALIAS, CONTEXT_TOKENS
from tideate_core.adapters.login_store import LoginStore
from tideate_core.adapters.pool import source_of
from tideate_core.adapters.prices import ModelReference, known_names
from tideate_core.adapters.translate import translated
from tideate_core.errors import UnknownAdapter, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tideate_core.adapters.prices import ModelPrice
    from tideate_core.adapters.sources import OpenModel
    from tideate_core.config import Config


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model that the user can choose."""

    adapter: str
    """Adapter name; empty for a server's model without an adapter in the configuration."""
    model: str
    source: Literal["configuration", "known", "live"]
    """Origin: the configuration, the libraries' lists, or the provider's answer."""
    context_tokens: int | None = None
    price: ModelPrice | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form, without unknown values; prices are US dollars per million tokens."""
        shape: dict[str, Any] = {"adapter": self.adapter, "model": self.model, "source": self.source}
        if self.context_tokens is not None:
            shape["context_tokens"] = self.context_tokens
        if self.price is not None:
            shape |= {"input_price": self.price.input, "output_price": self.price.output}
        return shape


@dataclass(frozen=True, slots=True)
class ModelList:
    """Available models, with remarks for the user."""

    default: str
    """The configured default adapter."""
    models: tuple[ListedModel, ...]
    notes: tuple[str, ...] = field(default=())

    def as_json(self) -> dict[str, Any]:
        models = [one.as_json() for one in self.models]
        return {"ok": True, "default": self.default, "models": models, "notes": list(self.notes)}


async def list_models(config: Config, name: str | None = None) -> ModelList:
    """Return the models of an adapter or a provider, requesting its list if possible.

    Without a name no request is made: the list has all adapters, and the known models of providers with a
    key.

    :raises UnknownAdapter: no adapter or provider has this name.
    :raises AdapterError: the request failed.
    """
    if name is None:
        models = [*_configured(config), *(one for each in _with_key() for one in _known(each))]
        return ModelList(config.adapter, tuple(models))
    if name in config.adapters:
        own = [one for one in _configured(config) if one.adapter == name]
        address = config.adapters[name].base_url or ""
        provider = "" if address else config.adapters[name].model.partition(":")[0]
    elif provider_named(name) is not None:
        own, address, provider = [], "", name
    else:
        known = [*config.adapters, *known_providers()]
        raise UnknownAdapter(f"no adapter and no provider is called {name!r}{did_you_mean(name, known)}")
    return await _models_of(config, name, own, address, provider)


async def _models_of(
    config: Config, name: str, own: Sequence[ListedModel], address: str, provider: str
) -> ModelList:
    known = provider_named(provider) if provider else None
    if known and known.keys and not known.key_variable() and not own and known.name not in LoginStore().all():
        note = f"${known.keys[0]} is not set: these are models that are known, {provider} was not asked"
        return ModelList(config.adapter, tuple(_known(provider)), (note,))
    listed = await _live(config, name if own else f"{provider}:{_any_model(provider)}")
    if listed is None:
        note = f"{name} does not list its models" + (": these are known" if provider else "")
        return ModelList(config.adapter, (*own, *(_known(provider) if provider else ())), (note,))
    live = [_listed(model, provider, address, "live") for model in listed]
    have = {one.model for one in own}
    return ModelList(config.adapter, (*own, *(one for one in live if one.model not in have)))


async def _live(config: Config, adapter: str) -> list[str] | None:
    """Return the model names that a provider or a server lists, None without a list."""
    await load_libraries()
    source = source_of(config, adapter)
    opened: OpenModel = await source.open()
    try:
        with translated(opened.origin):
            listed = await source.models(opened)
        return None if listed is None else sorted(opened.origin.cut(one) for one in listed)
    finally:
        await opened.close()


def _configured(config: Config) -> Iterator[ListedModel]:
    yield ListedModel("local", ALIAS, "configuration", CONTEXT_TOKENS)
    for name, adapter in config.adapters.items():
        if adapter.acp:
            yield ListedModel(name, str(adapter.options.get("model", "")), "configuration", None, None)
            continue
        provider, _, model = ("", "", adapter.model) if adapter.base_url else adapter.model.partition(":")
        reference = ModelReference(model, provider, adapter.base_url or "")
        window = adapter.context_tokens or reference.context_tokens()
        yield ListedModel(name, model, "configuration", window, reference.price())


def _with_key() -> Iterator[str]:
    """Yield the providers with a key, each service once."""
    seen: set[tuple[str, tuple[str, ...]]] = set()
    logins = LoginStore().all()
    for provider in known_providers().values():
        service = (provider.module, provider.keys)
        if (provider.key_variable() or provider.name in logins) and service not in seen:
            seen.add(service)
            yield provider.name


def _known(provider: str) -> Iterator[ListedModel]:
    names = known_models().get(provider) or known_names(provider)
    yield from (_listed(name, provider, "", "known") for name in names)


def _any_model(provider: str) -> str:
    return next(iter((*known_models().get(provider, ()), *known_names(provider), "any")))


def _listed(model: str, provider: str, address: str, source: Literal["known", "live"]) -> ListedModel:
    reference = ModelReference(model, provider, address)
    adapter = f"{provider}:{model}" if provider else ""
    return ListedModel(adapter, model, source, reference.context_tokens(), reference.price())
