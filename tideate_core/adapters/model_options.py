"""Request settings of `[adapters.NAME]`, in the model library's form."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_ai.settings import ModelSettings, ThinkingLevel

    from tideate_core.config import AdapterConfig

SECRET_NAME: Final = re.compile(r"key|token|auth|secret|cookie|password|credential", re.IGNORECASE)
SECRET_VALUE: Final = re.compile(r"[A-Za-z0-9+/=_.~-]{20,}")


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Settings of every request to a model; None uses the provider's default."""

    temperature: float | None = None
    max_tokens: int | None = None
    """Longest answer, unless the prompt sets it."""
    thinking: ThinkingLevel | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    cache: bool = True
    """Cache the beginning of prompts, at providers that need to be told."""

    @classmethod
    def of(cls, config: AdapterConfig) -> Self:
        """Return the settings of a configured adapter."""
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
        :param max_tokens: the prompt's limit.
        """
        # the libraries' own retries would hide a Retry-After from the user
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
    """Return the secret parts of headers, detected by name or form, to remove from messages."""
    found: list[str] = []
    for name, value in headers.items():
        words = value.split()
        if words and SECRET_NAME.search(name):
            found += [value.strip(), words[-1]]
        found += filter(SECRET_VALUE.fullmatch, words)
    return tuple(dict.fromkeys(sorted(found, key=len, reverse=True)))
