"""A deadline counts processor time of the current thread, not wall-clock time."""

from __future__ import annotations

import time

import pytest

from tideate_core.util.deadline import Deadline


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Successive values of the thread's processor time, in seconds."""
    seconds = [10.0]
    monkeypatch.setattr(time, "thread_time", lambda: seconds[-1])
    monkeypatch.setattr(time, "monotonic", lambda: pytest.fail("time that passes does not count"))
    return seconds


def test_it_is_over_once_its_seconds_are_used(used: list[float]) -> None:
    deadline = Deadline(3.0)
    assert not deadline.is_over
    used.append(13.0)
    assert not deadline.is_over
    used.append(13.1)
    assert deadline.is_over


def test_it_begins_when_it_is_made(used: list[float]) -> None:
    used.append(100.0)
    assert not Deadline(0.5).is_over
