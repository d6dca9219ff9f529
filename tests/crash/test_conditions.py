"""Full or read-only disks, a locked database, a clock that jumps: reported, and the run can continue."""

from __future__ import annotations

import asyncio
import ctypes
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.crash.kills import Kill
from tests.crash.site import RUN, Site, told
from tests.harness.front import LIMIT
from tideate_core.store import writer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crash.site import Unkilled
    from tests.harness.bench import Bench
    from tideate_core.workflows import StepContext

pytestmark = [pytest.mark.crash, pytest.mark.slow]

DROP_CAPABILITY, OVERRIDE_PERMISSIONS = 24, 1


def obey_permissions() -> None:
    """Make permissions apply to the superuser, too."""
    ctypes.CDLL(None).prctl(DROP_CAPABILITY, OVERRIDE_PERMISSIONS, 0, 0, 0)


def as_if_nothing_had_been(site: Site, unkilled: Unkilled) -> None:
    """Continue the run and compare its result with the reference run."""
    ended = site.go()
    assert ended is not None
    assert told(ended.result) == unkilled.result
    assert site.outcome() == unkilled.outcome
    assert site.fingerprint() == unkilled.files
    assert site.query("PRAGMA integrity_check") == [[("ok",)]]


def half_done(site: Site, unkilled: Unkilled) -> set[tuple[str, str]]:
    """Kill the run in the middle; return the durable steps."""
    assert site.go(Kill("statement", unkilled.totals.statement // 2)) is None
    ended = set(site.durable().ended)
    assert ended
    return ended


def test_a_run_on_a_full_disk_says_so_and_goes_on_when_there_is_room(
    tmp_path: Path, unkilled: Unkilled
) -> None:
    site = Site(tmp_path / "site")
    ended = site.go(file_limit=250_000)
    assert ended is not None
    assert ended.result["error_code"] == "StoreError", ended.result
    assert "disk" in ended.result["error"]
    durable, lines = site.durable(), len(site.effects())
    assert durable.ended
    as_if_nothing_had_been(site, unkilled)
    later = [(line.run, line.step) for line in site.effects()[lines:] if line.what == "ran"]
    assert not set(later) & durable.ended


def test_a_run_in_a_read_only_directory_says_so_and_goes_on_when_it_may_write(
    tmp_path: Path, unkilled: Unkilled
) -> None:
    site = Site(tmp_path / "site")
    durable = half_done(site, unkilled)
    effects = site.effects()
    paths = [site.private, *site.private.glob("tideate.db*")]
    modes = [path.stat().st_mode for path in paths]
    for path in paths:
        path.chmod(0o500 if path.is_dir() else 0o400)
    ended = site.go(before=obey_permissions)
    for path, mode in zip(paths, modes, strict=True):
        path.chmod(mode)
    assert ended is not None
    assert ended.result["error_code"] == "StoreError", ended.result
    assert "writ" in ended.result["error"]
    assert site.effects() == effects
    assert site.durable().ended == durable
    as_if_nothing_had_been(site, unkilled)


async def test_a_run_whose_database_another_locks_says_so_and_goes_on_when_it_is_free(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LOCKED", 0.2)
    monkeypatch.setattr(writer, "PATIENCE", 0)
    ran: list[str] = []

    async def works(step: StepContext) -> str:
        ran.append(step.step)
        if step.step == "b" and ran.count("b") == 1:
            other.execute("BEGIN IMMEDIATE")
        return step.step

    bench.register("three", dict.fromkeys(("a", "b", "c"), works))
    await bench.runner.store()
    with closing(sqlite3.connect(bench.private / "tideate.db", isolation_level=None)) as other:
        result = await bench.run("three", execution_id=RUN)
        assert (result.ok, result.error_code) == (False, "StoreError")
        assert "locked" in str(result.error)
        other.execute("ROLLBACK")
    result = await resumed_elsewhere(bench)
    assert result.ok, result.error
    assert ran == ["a", "b", "b", "c"]


async def test_a_run_whose_clock_jumps_back_ends_and_can_be_resumed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    real = time.time_ns

    async def works(step: StepContext) -> str:
        ran.append(step.step)
        if step.step == "b" and ran.count("b") == 1:
            monkeypatch.setattr(time, "time_ns", lambda: real() - 3_600_000_000_000)
            bench.runner.leave()
            await asyncio.Event().wait()
        return step.step

    bench.register("three", dict.fromkeys(("a", "b", "c"), works))
    left = await bench.run("three", execution_id=RUN)
    assert (left.cancelled, left.reason) == (True, "interrupted")
    result = await resumed_elsewhere(bench)
    assert result.ok, result.error
    assert ran == ["a", "b", "b", "c"]
    assert 0 <= result.duration_ms < LIMIT * 1000
    reader = (await bench.runner.store()).reader()
    run, events = await asyncio.to_thread(lambda: (reader.run(RUN), reader.events(RUN)))
    assert (run.status, run.completed_steps) == ("completed", 3)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert events[-1].at < events[0].at  # the clock jumped, and the order is that of the events


async def resumed_elsewhere(bench: Bench) -> Any:
    """Resume with another runner, like another process."""
    await bench.runner.aclose()
    bench.runner = bench.make_runner(bench.config)
    return await asyncio.wait_for(bench.runner.resume_run(RUN), LIMIT)
