"""Windows and prices of models, as far as genai-prices knows them; nothing is fetched."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

__all__ = ["ModelPrice", "ModelReference", "PricedAdapter", "is_loopback", "known_names"]

SAMPLE: Final = 1000
"""Tokens that the price of a million is worked out from: long prompts are dearer."""
MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """Price of a million tokens in US dollars."""

    input: float
    output: float


@runtime_checkable
class PricedAdapter(Protocol):
    """An adapter that can tell the price of a request before it is sent."""

    @property
    def max_tokens(self) -> int | None:
        """Tokens of the longest answer, None where nobody set a limit."""
        ...

    def price_of(self, input_tokens: int, output_tokens: int) -> float | None:
        """Return US dollars for so many tokens, none of them cached; None where the price is not known."""
        ...


@dataclass(frozen=True, slots=True)
class ModelReference:
    """A model as price lists name it."""

    model: str
    provider: str = ""
    """Of `PROVIDER:MODEL`."""
    address: str = ""
    """Of an OpenAI-compatible server; it may be a provider's."""

    def context_tokens(self) -> int | None:
        """Return the tokens that prompt and answer share, None where nobody knows."""
        found = _find(self)
        return found[1].context_window if found else None

    def price(self) -> ModelPrice | None:
        """Return the price of a million tokens of a short prompt, None where nobody knows."""
        read, written = self.price_of(SAMPLE, 0), self.price_of(0, SAMPLE)
        if read is None or written is None:
            return None
        return ModelPrice(round(read * MILLION / SAMPLE, 6), round(written * MILLION / SAMPLE, 6))

    def price_of(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float | None:
        """Return US dollars for so many tokens, None where the price is not known.

        :param cached_tokens: of the input, those that the provider had in its cache.
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
            return None  # a list that does not price tokens


def known_names(provider: str) -> tuple[str, ...]:
    """Return the models of a provider that the price list has and that are not retired."""
    from genai_prices.data_snapshot import get_snapshot

    try:
        found = get_snapshot().find_provider(None, provider, None)
    except LookupError:
        return ()
    return tuple(model.id for model in found.models if not model.deprecated)


@cache
def _find(reference: ModelReference) -> tuple[Provider, ModelInfo] | None:
    if not reference.provider and (not reference.address or is_loopback(reference.address)):
        return None  # a server of one's own may call its model what it likes
    from genai_prices.data_snapshot import get_snapshot

    try:
        return get_snapshot().find_provider_model(
            reference.model, None, reference.provider or None, reference.address or None
        )
    except LookupError:
        return None


def is_loopback(address: str) -> bool:
    """Tell whether an address is this machine's own."""
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
