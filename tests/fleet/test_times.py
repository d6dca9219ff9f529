"""Times of schedules."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tideate_core.errors import InvalidInput
from tideate_core.fleet.times import check_name, first_time

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_the_first_time_is_in_the_zone_of_the_schedule() -> None:
    assert first_time("0 3 * * *", "Europe/Berlin", NOW).isoformat() == "2026-12-01T03:00:00+01:00"
    assert first_time("0 3 29 2 *", None, NOW).isoformat() == "2028-02-29T03:00:00+00:00"


def times(cron: str, now: datetime) -> list[str]:
    """Return the next two times in Berlin, as the guide describes them."""
    first = first_time(cron, "Europe/Berlin", now)
    return [first.isoformat(), first_time(cron, "Europe/Berlin", first).isoformat()]


def test_a_time_in_the_skipped_hour_comes_after_it_and_one_in_the_repeated_hour_twice() -> None:
    spring, autumn = datetime(2027, 3, 27, 12, tzinfo=UTC), datetime(2027, 10, 30, 12, tzinfo=UTC)
    assert times("30 2 * * *", spring) == ["2027-03-28T03:00:00+02:00", "2027-03-29T02:30:00+02:00"]
    assert times("30 2 * * *", autumn) == ["2027-10-31T02:30:00+02:00", "2027-10-31T02:30:00+01:00"]


@pytest.mark.parametrize(
    ("cron", "zone", "why"),
    [
        ("0 3 31 2 *", None, "ever comes"),
        ("0 0 0 1 1 * 2020", None, "ever comes"),
        ("99 * * * *", None, "invalid"),
        ("", None, "invalid"),
        ("@daily", "Europe/Berln", "time zone"),
        ("@daily", "../etc/passwd", "time zone"),
        ("@daily", "", "time zone"),
    ],
)
def test_times_that_never_come_are_rejected(cron: str, zone: str | None, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        first_time(cron, zone, NOW)


@pytest.mark.parametrize("name", ["", "a b", "x" * 101, "a\n"])
def test_a_schedule_needs_a_plain_name(name: str) -> None:
    with pytest.raises(InvalidInput, match="letters, digits"):
        check_name(name)
