"""What tells a process from others with its id, also where there is no `/proc`."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tideate_core.store import leases

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=["linux", "darwin"])
def process(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that lives until its standard input ends, on a machine that is called so."""
    started = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    monkeypatch.setattr(sys, "platform", request.param)
    yield started
    started.communicate()


def test_a_living_process_is_the_same_each_time(process: subprocess.Popen[bytes]) -> None:
    first = leases.process_started(process.pid)
    assert first
    assert leases.process_started(process.pid) == first


def test_a_process_that_ended_is_none(process: subprocess.Popen[bytes]) -> None:
    process.communicate()
    assert leases.process_started(process.pid) is None
