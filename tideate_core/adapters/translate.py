"""Translation of providers' errors to tideate's, with the providers' words kept."""

from __future__ import annotations

import html
import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from tideate_core.errors import (
    AdapterError,
    AdapterUnavailable,
    AuthenticationFailed,
    ContextTooLong,
    InvalidReply,
    RateLimited,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

NOT_FOUND = 404
REDIRECTION = 3
VERSION = re.compile(r"/v\d", re.IGNORECASE)

LIBRARIES = ("pydantic_ai", "openai", "anthropic", "google", "httpx", "httpx2")
LONGEST_WORDS = 500
"""Characters kept of a provider's message; some send a whole page."""

_UNREACHABLE = (AdapterUnavailable, "cannot be reached")
_SILENT = (AdapterUnavailable, "did not answer in time")
_FAILING = (AdapterUnavailable, "failed on its side")
_BUSY = (RateLimited, "asks to wait")
_KEY = (AuthenticationFailed, "refused the key")
_REFUSED = (AdapterError, "refused the request")
_UNKNOWN_MODEL = (AdapterError, "does not know this model or address")
_UNUSABLE = (InvalidReply, "gave no usable answer")
_CUT_SHORT = (InvalidReply, "stopped at its length limit before the answer was complete")
_FILTERED = (InvalidReply, "withheld the answer (content filter)")
_MISUSED = (AdapterError, "cannot be used like this")

TABLE: dict[str, tuple[type[AdapterError], str]] = {
    # pydantic_ai.exceptions
    "AgentRunError": _UNUSABLE,
    "ConcurrencyLimitExceeded": _BUSY,
    "ContentFilterError": _FILTERED,
    "FallbackExceptionGroup": _FAILING,
    "IncompleteToolCall": _CUT_SHORT,
    "ModelAPIError": _FAILING,
    "ModelAuthenticationError": _KEY,
    "ModelConnectionError": _UNREACHABLE,
    "ModelContextWindowExceededError": (ContextTooLong, "cannot take a prompt this long"),
    "ModelHTTPError": _FAILING,
    "ModelNotFoundError": _UNKNOWN_MODEL,
    "ModelOverloadedError": _FAILING,
    "ModelQuotaExceededError": (AdapterError, "has no quota or credit left"),
    "ModelRateLimitError": _BUSY,
    "ModelRequestRejectedError": _REFUSED,
    "ModelRequestTimeout": _SILENT,
    "ModelServerError": _FAILING,
    "ModelTimeoutError": _SILENT,
    "ModelUnavailableError": _FAILING,
    "OutputTokenLimitExceeded": _CUT_SHORT,
    "RunTimedOut": _SILENT,
    "SuspendedResponseExpired": _FAILING,
    "UnexpectedModelBehavior": _UNUSABLE,
    "UsageLimitExceeded": _REFUSED,
    "UserError": _MISUSED,
    # openai
    "APIConnectionError": _UNREACHABLE,
    "APIError": _FAILING,
    "APIResponseValidationError": _UNUSABLE,
    "APIStatusError": _FAILING,
    "APITimeoutError": _SILENT,
    "AuthenticationError": _KEY,
    "BadRequestError": _REFUSED,
    "ConflictError": _FAILING,
    "ContentFilterFinishReasonError": _FILTERED,
    "InternalServerError": _FAILING,
    "LengthFinishReasonError": _CUT_SHORT,
    "NotFoundError": _UNKNOWN_MODEL,
    "OAuthError": _KEY,
    "OpenAIError": _MISUSED,
    "PermissionDeniedError": _KEY,
    "RateLimitError": _BUSY,
    "UnprocessableEntityError": _REFUSED,
    # httpx and httpx2, where a library lets them through
    "HTTPError": _UNREACHABLE,
    "TimeoutException": _SILENT,
}
"""tideate's error by the name of a library's exception class, looked up along the class's bases."""

CONTEXT_CODES = ("exceed_context_size", "context_length_exceeded")
"""Codes of a too long prompt in a plain 400 (llama.cpp)."""


NOISE = re.compile(r"\[type=[^\n]*\]|For further information visit \S+")
"""Parts of a pydantic validation error meant for developers."""

VALIDATION = re.compile(r"^\d+ validation errors? for [^\n]*\n", re.MULTILINE)
"""Heading of a validation error; locations and mistakes follow."""

_SIGNS = re.compile(r"\\+|\s+|.", re.DOTALL)
_BACKSLASHES = r"(?i:\\|%5c|&#92;|&#x5c;)++"
_BLANKS = r"(?i:\s|\\++[nrtfv]|%20|%0[9a-d]|\+|&#(?:9|1[0-3]|32|x[9a-d]|x20);)*+"

PLAIN_WORDS = {"Please return text.": "the answer was empty"}
"""Messages of the library to the model, in words for the user."""

_MESSAGE_KEYS: Final = (
    *("error", "message", "detail", "details", "errors", "msg", "error_message", "errorMessage"),
    *("error_description", "error_msg", "description", "reason", "title"),
)
_DEEPEST: Final = 8
_MOST_ERRORS: Final = 8
"""Errors of a list that are reported."""
_LONGEST_TEXT: Final = 4_000
_LONGEST_BODY: Final = 1 << 20
_PAGE: Final = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml)\b", re.IGNORECASE)
_UNSEEN: Final = re.compile(r"<(script|style)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Origin:
    """Source of an error, as named in its message."""

    name: str
    """Adapter name."""
    address: str = ""
    """Server or provider."""
    key_source: str = ""
    """Source of the key, never the key."""
    secret: str = ""
    """The key, removed from the provider's words."""
    more_secrets: Iterable[str] = ()
    """Further secrets to remove: header values, tokens of a login."""

    def cut(self, said: str) -> str:
        """Remove the secrets from text, in plain or encoded form."""
        for key in filter(str.strip, (self.secret, *self.more_secrets)):
            said = _forms(key).sub("[key]", said)
        return said


@lru_cache(maxsize=64)
def _forms(key: str) -> re.Pattern[str]:
    """Return a pattern for a key in any form: escaped, URL- or HTML-encoded, or broken up."""
    # possessive, so that a hostile text cannot cause backtracking
    return re.compile(r"\s*+".join(map(_forms_of, _SIGNS.findall(key))))


def _forms_of(sign: str) -> str:
    """Return a pattern for one character; each layer of quoting adds backslashes."""
    if sign.isspace():
        return _BLANKS
    if sign.startswith("\\"):
        return _BACKSLASHES
    coded = sign.encode("utf-8", "replace")
    forms = {
        *(repr(sign)[1:-1], repr(coded)[2:-1], json.dumps(sign)[1:-1]),
        *(quote(coded, safe=""), "".join(f"%{one:02x}" for one in coded)),
        *(html.escape(sign), f"&#{ord(sign)};", f"&#x{ord(sign):x};"),
    }
    others = (re.escape(form.lstrip("\\")).replace(r"\\", r"\\++") for form in sorted(forms - {sign}))
    return rf"\\*+(?:{'|'.join([re.escape(sign), *(f'(?i:{form})' for form in others)])})"


def translate(error: Exception, origin: Origin, *, streamed: int = 0) -> AdapterError | None:
    """Return tideate's error for a model library's, None for other errors.

    :param streamed: characters of the answer received so far.
    """
    if isinstance(error, AuthenticationFailed):
        return AuthenticationFailed(str(error))  # raised by a stored login, through the library's client
    entry = _redirection(error, origin) or _entry(error)
    if entry is None:
        return None
    kind, what = entry
    words = _words(error, origin)
    status = getattr(error, "status_code", None)
    answered = f" (HTTP {status})" if isinstance(status, int) else ""
    if kind is AdapterError and any(code in repr(getattr(error, "body", "")) for code in CONTEXT_CODES):
        kind, what = TABLE["ModelContextWindowExceededError"]
    if streamed and kind is AdapterUnavailable:
        what = f"was cut off after {streamed} characters"
    if suggested := getattr(error, "suggested_model_id", None):
        words = f"{words}; did you mean {suggested!r}?"
    message = _message(origin, what + answered, words + _hint(words, status, origin))
    if kind is RateLimited:
        return _rate_limited(error, message)
    if kind is AuthenticationFailed:
        used = (
            f"; the key comes from {origin.cut(origin.key_source)}"
            if origin.key_source
            else "; no key is configured"
        )
        return AuthenticationFailed(message + used)
    return kind(message)


@contextmanager
def translated(origin: Origin, streamed: Callable[[], int] = int) -> Iterator[None]:
    """Raise a model library's errors as tideate's.

    :param streamed: returns the characters of the answer received so far.
    """
    try:
        yield
    except Exception as error:
        ours = translate(error, origin, streamed=streamed())
        if ours is None:
            raise
        raise ours from error


def missing_version(address: str) -> str:
    """Return a hint at `/v1` for an address without a version; empty otherwise."""
    if not address or VERSION.search(address):
        return ""
    return f"; most servers answer below /v1: try {address.rstrip('/')}/v1"


def _hint(words: str, status: object, origin: Origin) -> str:
    """Return advice for the user; empty without any."""
    if status == NOT_FOUND and "model" not in words.lower():
        return missing_version(origin.address)
    if "CERTIFICATE_VERIFY_FAILED" in words:
        return "; $SSL_CERT_FILE can name a file with the authorities that you trust"
    return ""


def _redirection(error: Exception, origin: Origin) -> tuple[type[AdapterError], str] | None:
    """Return the table entry of a redirect, None without one."""
    for link in _chain(error):
        response: Any = getattr(link, "response", None)
        if (status := getattr(response, "status_code", None)) and status // 100 == REDIRECTION:
            target = origin.cut(str(response.headers.get("location", "another address")))[:LONGEST_WORDS]
            return AdapterError, f"redirects to {target}, use that address instead"
    return None


def _entry(error: Exception) -> tuple[type[AdapterError], str] | None:
    for base in type(error).__mro__:
        if base.__module__.partition(".")[0] in LIBRARIES and base.__name__ in TABLE:
            return TABLE[base.__name__]
    return None


def _message(origin: Origin, what: str, words: str) -> str:
    where = f" ({origin.address})" if origin.address else ""
    return f"adapter {origin.name!r}{where} {what}" + (f": {words}" if words else "")


def _rate_limited(error: Exception, message: str) -> RateLimited:
    seconds: float | None = getattr(error, "retry_after", None)
    hint = f" (try again in {seconds:.0f} s)" if seconds else ""
    return RateLimited(message + hint, seconds)


def _words(error: Exception, origin: Origin) -> str:
    """Return the provider's message, or the innermost reason of a failed connection."""
    said = words_of(getattr(error, "body", None))
    if not said:
        said = next((str(link) for link in reversed(_chain(error)) if str(link)), type(error).__name__)
    # before truncating or joining
    said = origin.cut(said)
    said = " ".join(_plain_mistakes(NOISE.sub("", PLAIN_WORDS.get(said, said))).split())
    return said if len(said) <= LONGEST_WORDS else said[:LONGEST_WORDS] + "…"


def words_of(body: Any, depth: int = 0) -> str:
    """Return the message in a body; empty without one."""
    if depth > _DEEPEST:
        return ""
    match body:
        case str():
            return _words_of_text(body[:_LONGEST_BODY], depth)
        case list():
            return "; ".join(filter(None, (words_of(one, depth + 1) for one in body[:_MOST_ERRORS])))
        case dict():
            return _words_of_object(body, depth)
        case _:
            return ""


def _words_of_text(text: str, depth: int) -> str:
    if text.lstrip().startswith(("{", "[")):
        try:
            if words := words_of(json.loads(text), depth + 1):
                return words
        except (ValueError, RecursionError):
            pass
    start = text[:_LONGEST_TEXT]
    if _PAGE.match(start):
        return " ".join(html.unescape(_UNSEEN.sub(" ", start)).split())
    return start.strip()


def _words_of_object(body: dict[str, Any], depth: int) -> str:
    said = next(filter(None, (words_of(body.get(key), depth + 1) for key in _MESSAGE_KEYS)), "")
    place = body.get("loc")
    if said and isinstance(place, list):
        said = f"{'.'.join(map(str, place))}: {said}"
    metadata = body.get("metadata")
    raw = words_of(metadata.get("raw"), depth + 1) if isinstance(metadata, dict) else ""
    return f"{said}: {raw}" if said and raw and raw not in said else said or raw


def _plain_mistakes(said: str) -> str:
    """Return a validation error in one line, without its heading."""
    head = VALIDATION.search(said)
    if head is None:
        return said
    place, mistakes = "", []
    for line in filter(str.strip, said[head.end() :].splitlines()):
        words = line.strip()
        if line == line.lstrip():
            place = words
        else:
            mistakes.append(f"{place}: {words}" if place else words)
    return said[: head.start()] + "; ".join(mistakes)


def _chain(error: Exception) -> list[Exception]:
    """Return an error with its causes, innermost last; a cancelled wait is no cause."""
    chain = [error]
    while isinstance(inner := chain[-1].__cause__ or chain[-1].__context__, Exception) and inner not in chain:
        chain.append(inner)
    return chain
