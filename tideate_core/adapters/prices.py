"""Context windows and prices of models from genai-prices' data, without network access."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

SAMPLE: Final = 1000
"""Prompt size for the price per million tokens, because long prompts cost more."""
MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """Price of a million tokens in US dollars."""

    input: float
    output: float


@runtime_checkable
class PricedAdapter(Protocol):
    """Adapter that knows the price of a request before it is sent."""

    @property
    def max_tokens(self) -> int | None:
        """Limit of an answer in tokens, None without a limit."""
        ...

    def price_of(self, input_tokens: int, output_tokens: int) -> float | None:
        """Return the price in US dollars of uncached tokens; None if unknown."""
        ...


@dataclass(frozen=True, slots=True)
class ModelReference:
    """A model as named by price lists."""

    model: str
    provider: str = ""
    """Provider of `PROVIDER:MODEL`."""
    address: str = ""
    """Address of an OpenAI-compatible server, which may be a provider's."""

    def context_tokens(self) -> int | None:
        """Return the context window in tokens, None if unknown."""
        found = _find(self)
        return found[1].context_window if found else None

    def price(self) -> ModelPrice | None:
        """Return the price of a million tokens in a short prompt, None if unknown."""
        read, written = self.price_of(SAMPLE, 0), self.price_of(0, SAMPLE)
        if read is None or written is None:
            return None
        return ModelPrice(round(read * MILLION / SAMPLE, 6), round(written * MILLION / SAMPLE, 6))

    def price_of(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float | None:
        """Return the price of tokens in US dollars, None if unknown.

        :param cached_tokens: input tokens that were in the provider's cache.
        """
        found = _find(self)
        if found is None:
            return None
        from genai_prices import Usage

        provider, model = found
        usage = Usage(
            input_tokens=input_tokens, output_tokens=output_tokens, cache_read_tokens=cached_tokens or None
        )
        try:
            return float(model.calc_price(usage, provider).total_price)
        except ValueError:
            return None  # a model that is not priced by tokens


def known_names(provider: str) -> tuple[str, ...]:
    """Return a provider's models in the price list that are not retired."""
    from genai_prices.data_snapshot import get_snapshot

    try:
        found = get_snapshot().find_provider(None, provider, None)
    except LookupError:
        return ()
    return tuple(model.id for model in found.models if not model.deprecated)


@cache
def _find(reference: ModelReference) -> tuple[Provider, ModelInfo] | None:
    if not reference.provider and (not reference.address or is_loopback(reference.address)):
        return None  # a private server may use any model name
    from genai_prices.data_snapshot import get_snapshot

    try:
        return get_snapshot().find_provider_model(
            reference.model, None, reference.provider or None, reference.address or None
        )
    except LookupError:
        return None


def is_loopback(address: str) -> bool:
    """Tell whether an address is on the loopback interface."""
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
