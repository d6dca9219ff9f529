"""Convert options of `[adapters.NAME]` to the model library's request settings; find their secrets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_ai.settings import ModelSettings

    from tideate_core.config import AdapterConfig

SECRET_NAME: Final = re.compile(r"key|token|auth|secret|cookie|password|credential", re.IGNORECASE)
SECRET_VALUE: Final = re.compile(r"[A-Za-z0-9+/=_.~-]{20,}")


def request_settings(config: AdapterConfig) -> ModelSettings:
    """Return the settings of every request to a configured model."""
    chosen = {
        "temperature": config.temperature,
        "max_tokens": config.max_tokens,
        "thinking": config.thinking,
        "extra_headers": dict(config.headers),
        "extra_body": dict(config.extra_body),
        "cache": config.cache,
    }
    return cast("ModelSettings", {name: value for name, value in chosen.items() if value not in (None, {})})


def secret_values(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the secret parts of headers, detected by name or form, to remove from messages."""
    found: list[str] = []
    for name, value in headers.items():
        words = value.split()
        if words and SECRET_NAME.search(name):
            found += [value.strip(), words[-1]]
        found += filter(SECRET_VALUE.fullmatch, words)
    return tuple(dict.fromkeys(sorted(found, key=len, reverse=True)))
