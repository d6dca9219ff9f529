"""Identity and liveness of processes, with and without `/proc`."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.store.conftest import line
from tests.store.making import DAY, new_run, outcome, query
from tideate_core.errors import RunIsOwned
from tideate_core.store import Store, leases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Child = Callable[..., subprocess.Popen[str]]


@pytest.fixture(params=["linux", "darwin"])
def process(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs until its input ends, on a simulated platform."""
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


pytestmark = pytest.mark.concurrency

RUN = "a" * 32


@pytest.mark.parametrize("jump", [-3_600_000, 3_600_000, 30 * DAY], ids=["back", "ahead", "a month"])
async def test_a_clock_that_jumps_costs_no_living_process_its_run(
    open_store: Callable[[], Store], private: Path, monkeypatch: pytest.MonkeyPatch, jump: int
) -> None:
    """The same happens after the machine slept."""
    first, second = open_store(), open_store()
    log = await first.begin(new_run(RUN))
    await log.finish(outcome("a")).future
    then = leases.now_ms() + jump
    for module in ("leases", "writer"):
        monkeypatch.setattr(f"tideate_core.store.{module}.now_ms", lambda: then)
    with pytest.raises(RunIsOwned):
        await second.adopt(RUN)
    await log.finish(outcome("b")).future
    assert query(private, "SELECT max(ordinal) FROM workflow_steps") == [(2,)]


@pytest.mark.parametrize(
    ("pid", "started", "host", "age", "alive"),
    [
        ("mine", "mine", "mine", 0, True),
        ("mine", "mine", "mine", 9_000, True),
        ("mine", "mine", "mine", 11_000, True),
        ("mine", "mine", "mine", 30 * DAY, True),
        ("mine", "mine", "renamed", 30 * DAY, True),
        ("gone", "mine", "renamed", 0, False),
        ("mine", "another", "renamed", 11_000, False),
        ("mine", "mine", "mine", -3_600_000, True),
        ("mine", "another", "mine", 0, False),
        ("gone", "mine", "mine", 0, False),
        ("gone", "mine", "other", 0, True),
        ("gone", "mine", "other", 11_000, False),
        ("gone", "mine", "other", -3_600_000, False),
    ],
)
def test_who_lives(pid: str, started: str, host: str, age: int, alive: bool) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    me = leases.this_process()
    assert (
        leases.is_alive(
            me.pid if pid == "mine" else gone.pid,
            {"mine": me.host, "renamed": f"renamed {me.host.split()[1]}", "other": "elsewhere"}[host],
            me.process_started if started == "mine" else "boot:1",
            DAY - age,
            takeover_after=10,
            now=DAY,
        )
        is alive
    )


@pytest.mark.slow
def test_a_process_that_ended_and_was_not_asked_for_is_dead(child: Child) -> None:
    process = child("open")
    assert line(process) == "opened"
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert leases.process_started(process.pid) is None
