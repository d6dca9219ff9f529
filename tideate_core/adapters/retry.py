"""Retry of requests when a provider asks to wait or is briefly away."""

from __future__ import annotations

import asyncio
import random
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from tideate_core.errors import AdapterUnavailable, RateLimited

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

__all__ = ["Backoff", "report_retries", "report_retry", "retrying"]

T = TypeVar("T")

_report: ContextVar[Callable[[str], None] | None] = ContextVar("report_of_retries", default=None)


@contextmanager
def report_retries(report: Callable[[str], None]) -> Iterator[None]:
    """Have the requests that are made within told of, in words, when they are about to be made again."""
    token = _report.set(report)
    try:
        yield
    finally:
        _report.reset(token)


def report_retry(words: str) -> None:
    """Tell whoever listens that a request is made again."""
    if report := _report.get():
        report(words)


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
            report_retry(_words(delay, error, f"{failed + 1} of {backoff.tries}"))
        await asyncio.sleep(delay)


def _words(delay: float, error: AdapterUnavailable | RateLimited, which: str) -> str:
    if isinstance(error, RateLimited) and error.retry_after is not None:
        words, _, _ = str(error).partition(" (try again in ")
        return f"asked to wait {delay:.0f} s ({which}): {words}"
    return f"asking again in {delay:.1f} s ({which}): {error}"
