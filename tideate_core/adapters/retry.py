"""Retry of requests when a provider asks to wait or is briefly away."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from tideate_core.errors import AdapterUnavailable, RateLimited

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["Backoff", "retrying"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Backoff:
    """Number of tries, and the seconds between them."""

    tries: int = 3
    first: float = 0.5
    """Seconds before the second try; doubled for each later one, plus up to a quarter at random."""
    longest: float = 60.0
    """A provider that asks to wait for more seconds than this is not waited for."""

    def delay(self, failed: int, error: AdapterUnavailable | RateLimited) -> float | None:
        """Return the seconds to wait after so many failed tries, None to give up."""
        if failed >= self.tries:
            return None
        asked = error.retry_after if isinstance(error, RateLimited) else None
        if asked is not None:
            return asked if asked <= self.longest else None
        # jitter, so that files asked for in parallel do not come back in step
        return self.first * 2.0 ** (failed - 1) * random.uniform(1.0, 1.25)  # noqa: S311


async def retrying(
    attempt: Callable[[], Awaitable[T]], *, may_retry: Callable[[], bool], backoff: Backoff
) -> T:
    """Await `attempt` until it succeeds or there is no more use in trying.

    :param may_retry: False once something was shown to the person, who must not see an answer begin twice.
    :raises AdapterError: the last attempt's error.
    """
    failed = 0
    while True:
        try:
            return await attempt()
        except (AdapterUnavailable, RateLimited) as error:
            failed += 1
            delay = backoff.delay(failed, error) if may_retry() else None
            if delay is None:
                raise
        await asyncio.sleep(delay)
