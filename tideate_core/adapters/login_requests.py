"""HTTP client for token servers, limit on the size of their answers, and library errors without secrets."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters.network_settings import check_network_settings
from tideate_core.adapters.translate import Origin
from tideate_core.errors import AdapterUnavailable, AuthenticationFailed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    import httpx2

LARGEST: Final = 256 * 1024
"""Bytes of the largest answer."""
TIMEOUT: Final = 30.0
TOKEN_PATHS: Final = ("/oauth/", "/login/")
"""Path parts of token servers; models' answers are not limited."""


async def bound_answer(response: httpx2.Response) -> None:
    """Limit the size of a token server's answer; a hook, because a transport would lose proxies."""
    if any(part in response.request.url.path for part in TOKEN_PATHS):
        response.stream = _bounded(response.stream)


def _bounded(stream: Any) -> Any:
    import httpx2

    class BoundedStream(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            total = 0
            async for piece in stream:
                total += len(piece)
                if total > LARGEST:
                    raise httpx2.ReadError(f"the answer has more than {LARGEST // 1024} KiB")
                yield piece

        async def aclose(self) -> None:
            await stream.aclose()

    return BoundedStream()


def token_client() -> httpx2.AsyncClient:
    """Return a client for token requests, which follows no redirect."""
    import httpx2

    check_network_settings("the login")
    return httpx2.AsyncClient(
        event_hooks={"response": [bound_answer]},
        timeout=httpx2.Timeout(TIMEOUT, connect=5),
        follow_redirects=False,
    )


@contextmanager
def plain_errors(provider: str, secrets: Iterable[str]) -> Iterator[None]:
    """Translate the libraries' errors, without secrets.

    :raises AuthenticationFailed: the provider refused.
    :raises AdapterUnavailable: the provider could not be reached.
    """
    import httpx2
    from pydantic_ai.exceptions import ModelAPIError, UserError

    origin = Origin(provider, more_secrets=tuple(secrets))
    try:
        yield
    except (UserError, ModelAPIError) as error:
        raise AuthenticationFailed(f"{provider}: {_words(error, origin)}") from None
    except httpx2.HTTPError as error:
        raise AdapterUnavailable(f"{provider} cannot be reached: {_words(error, origin)}") from None


def _words(error: Exception, origin: Origin) -> str:
    said = origin.cut(str(error) or type(error).__name__)
    return " ".join(said.split())[:500]
