"""Number and delay of retries."""

from __future__ import annotations

import pytest

from tideate_core.adapters.retry import Backoff, retrying
from tideate_core.errors import AdapterUnavailable, AuthenticationFailed, RateLimited

AWAY = AdapterUnavailable("away")


def test_the_waits_grow_and_then_end() -> None:
    backoff = Backoff(tries=3, first=0.5)
    first, second = backoff.delay(1, AWAY), backoff.delay(2, AWAY)
    assert first is not None
    assert second is not None
    assert 0.5 <= first <= 0.625
    assert 1.0 <= second <= 1.25
    assert backoff.delay(3, AWAY) is None


def test_a_provider_that_names_a_time_is_waited_for_that_long() -> None:
    assert Backoff().delay(1, RateLimited("busy", 7.0)) == 7.0
    assert Backoff().delay(1, RateLimited("busy", 60.0)) == 60.0


def test_a_provider_that_asks_for_more_than_a_minute_is_not_waited_for() -> None:
    assert Backoff().delay(1, RateLimited("busy", 60.5)) is None


async def test_nothing_is_tried_again_once_something_was_shown() -> None:
    tried: list[int] = []

    async def attempt() -> None:
        tried.append(1)
        raise AWAY

    with pytest.raises(AdapterUnavailable):
        await retrying(attempt, may_retry=lambda: False, backoff=Backoff(first=0.0))
    assert len(tried) == 1


async def test_an_error_that_waiting_does_not_help_is_not_tried_again() -> None:
    tried: list[int] = []

    async def attempt() -> None:
        tried.append(1)
        raise AuthenticationFailed("no")

    with pytest.raises(AuthenticationFailed):
        await retrying(attempt, may_retry=lambda: True, backoff=Backoff(first=0.0))
    assert len(tried) == 1
