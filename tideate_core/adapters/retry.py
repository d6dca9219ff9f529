"""Retry of requests if a provider asks to wait or is temporarily unavailable."""

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

T = TypeVar("T")

_report: ContextVar[Callable[[str], None] | None] = ContextVar("report_of_retries", default=None)


@contextmanager
def report_retries(report: Callable[[str], None]) -> Iterator[None]:
    """Report the retries of requests made within this context."""
    token = _report.set(report)
    try:
        yield
    finally:
        _report.reset(token)


def report_retry(words: str) -> None:
    """Report a retry to the context's listener."""
    if report := _report.get():
        report(words)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Number of attempts, and the delays between them."""

    tries: int = 3
    first: float = 0.5
    """Seconds before the second attempt; doubled for each later one, plus up to 25 % at random."""
    longest: float = 60.0
    """Longest delay in seconds requested by a provider that is granted."""

    def delay(self, failed: int, error: AdapterUnavailable | RateLimited) -> float | None:
        """Return the delay in seconds after a number of failed attempts, None to give up."""
        if failed >= self.tries:
            return None
        asked = error.retry_after if isinstance(error, RateLimited) else None
        if asked is not None:
            return asked if asked <= self.longest else None
        # jitter, so that concurrent requests do not retry together
        return self.first * 2.0 ** (failed - 1) * random.uniform(1.0, 1.25)  # noqa: S311


async def retrying(
    attempt: Callable[[], Awaitable[T]], *, may_retry: Callable[[], bool], backoff: Backoff
) -> T:
    """Await `attempt` until it succeeds or retrying is useless.

    :param may_retry: returns False once text was shown, because an answer must not begin twice.
    :raises AdapterError: the error of the last attempt.
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
