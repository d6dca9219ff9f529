"""Translation of an agent's protocol errors to tideate's errors, with the agent's own message."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters.acp.updates import cleaned
from tideate_core.adapters.translate import LONGEST_WORDS, words_of
from tideate_core.errors import AdapterError, AuthenticationFailed, ContextTooLong, RateLimited
from tideate_core.mentions import hide_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acp.exceptions import RequestError

AUTH_REQUIRED: Final = -32000
METHOD_NOT_FOUND: Final = -32601

_KINDS: Final[tuple[tuple[re.Pattern[str], type[AdapterError]], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)
    for pattern, kind in (
        (r"context (?:length|window)|prompt is too long|too many tokens", ContextTooLong),
        (r"\b429\b|rate.?limit|too many requests|overloaded", RateLimited),
        (
            r"\b401\b|unauthori[sz]ed|invalid.{0,10}api.?key|authenticat|not logged in|log ?in",
            AuthenticationFailed,
        ),
    )
)
"""Patterns of an agent's message and tideate's errors: the protocol only has a code for a missing login."""


def agent_error(name: str, doing: str, error: RequestError, logins: Sequence[str] = ()) -> AdapterError:
    """Return tideate's error for an agent's protocol error.

    :param doing: the request that failed, as `start a session`.
    :param logins: the agent's ways to log in, in words.
    """
    words = said_by(error)
    kind = next((kind for pattern, kind in _KINDS if pattern.search(words)), AdapterError)
    if error.code == AUTH_REQUIRED:
        kind = AuthenticationFailed
    message = f"the agent {name!r} could not {doing}: {words}"
    if kind is AuthenticationFailed:
        ways = f" ({'; '.join(logins)})" if logins else ""
        advice = f"Log in with the agent's own program in a terminal{ways}, then run this again"
        message = f"{message.rstrip('.')}. {advice}"
    return kind(message)


def said_by(error: RequestError) -> str:
    """Return the message of an agent's error on one line, without secrets."""
    parts = [str(error), words_of(_details(error.data))]
    parts = list(dict.fromkeys(" ".join(cleaned(part).split()) for part in parts))
    said = hide_secrets(": ".join(filter(None, parts)) or f"error {error.code}", set())
    return said if len(said) <= LONGEST_WORDS else f"{said[:LONGEST_WORDS]}…"


def _details(data: Any) -> Any:
    return next(iter(data.values()), None) if isinstance(data, dict) and len(data) == 1 else data
