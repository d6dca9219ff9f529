"""Options of a model that `[adapters.NAME]` gives, as the model library takes them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_ai.settings import ModelSettings, ThinkingLevel

    from tideate_core.config import AdapterConfig

__all__ = ["ModelOptions", "secret_values"]

SECRET_NAME: Final = re.compile(r"key|token|auth|secret|cookie|password|credential", re.IGNORECASE)
SECRET_VALUE: Final = re.compile(r"[A-Za-z0-9+/=_.~-]{20,}")


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Settings of every request to a model; None leaves one to the provider."""

    temperature: float | None = None
    max_tokens: int | None = None
    """The longest answer where the prompt does not say."""
    thinking: ThinkingLevel | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    cache: bool = True
    """Have what prompts begin with cached, where the provider wants to be told."""

    @classmethod
    def of(cls, config: AdapterConfig) -> Self:
        """Return those of an adapter of the configuration."""
        return cls(
            config.temperature,
            config.max_tokens,
            config.thinking,
            config.headers,
            config.extra_body,
            config.cache,
        )

    def settings(self, timeout: float, max_tokens: int | None = None) -> ModelSettings:
        """Return the settings of a request.

        :param timeout: seconds without a byte from the provider.
        :param max_tokens: what the prompt asks for.
        """
        # retries are ours: the libraries' own would hide a Retry-After from the person
        settings: ModelSettings = {"timeout": timeout, "max_retries": 0, "cache": self.cache}
        if (longest := max_tokens or self.max_tokens) is not None:
            settings["max_tokens"] = longest
        if self.temperature is not None:
            settings["temperature"] = self.temperature
        if self.thinking is not None:
            settings["thinking"] = self.thinking
        if self.headers:
            settings["extra_headers"] = dict(self.headers)
        if self.extra_body:
            settings["extra_body"] = dict(self.extra_body)
        return settings


def secret_values(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the parts of headers that must not stand in a message: keys, by their name or their look."""
    found: list[str] = []
    for name, value in headers.items():
        words = value.split()
        if words and SECRET_NAME.search(name):
            found += [value.strip(), words[-1]]
        found += filter(SECRET_VALUE.fullmatch, words)
    return tuple(dict.fromkeys(sorted(found, key=len, reverse=True)))
