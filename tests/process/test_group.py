"""Ending of process groups with all descendants."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.process.long_running import FOREVER, GUARDED, STUBBORN, Told, cancelled
from tideate_core.errors import ProgramNotExecutable
from tideate_core.process import ProcessLimits, run_program

if TYPE_CHECKING:
    from tests.harness.processes import Brood
    from tests.process.conftest import Running


@pytest.mark.slow
@GUARDED
async def test_one_that_takes_too_long_is_asked_to_end_and_may_say_something(
    running: Running, brood: Brood, guarded: bool
) -> None:
    text = (
        "import signal, sys\n"
        "def bye(*_):\n    print('bye', flush=True); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, bye)\nprint('ready', flush=True)\nsignal.pause()"
    )
    result = await running(text, limits=ProcessLimits(timeout_ms=1500, grace_ms=10_000), guarded=guarded)
    assert result.timed_out
    assert not result.ok
    assert result.exit_code == 0
    assert result.stdout.text == "ready\nbye\n"
    assert "did not end within its time" in result.ending
    assert brood.gone(60), brood.commands()


@pytest.mark.slow
async def test_a_program_is_asked_once_to_end(running: Running) -> None:
    text = (
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
        "print('ready', flush=True)\n"
        "signal.sigwait([signal.SIGTERM])\nprint(signal.sigtimedwait([signal.SIGTERM], 0.5))"
    )
    result = await running(text, limits=ProcessLimits(timeout_ms=1000, grace_ms=10_000), guarded=False)
    assert result.stdout.text == "ready\nNone\n"


@pytest.mark.slow
async def test_one_that_does_not_listen_is_killed(running: Running, brood: Brood) -> None:
    result = await running(STUBBORN, limits=ProcessLimits(timeout_ms=1000, grace_ms=100))
    assert (result.timed_out, result.signal, result.left_behind) == (True, "SIGKILL", False)
    assert brood.gone(60), brood.commands()


@GUARDED
@pytest.mark.parametrize("own_session", [True, False])
async def test_a_cancellation_ends_grandchildren_that_hold_the_pipes(
    running: Running, brood: Brood, guarded: bool, own_session: bool
) -> None:
    text = (
        "import subprocess, sys\n"
        f"for _ in range(3): subprocess.Popen([sys.executable, '-c', {STUBBORN!r}],"
        f" start_new_session={own_session})\n" + STUBBORN.replace("ready", "parent")
    )
    told = Told("parent")
    await cancelled(running(text, limits=ProcessLimits(grace_ms=100), guarded=guarded, on_lines=told), told)
    assert brood.gone(60), brood.commands()


async def test_a_second_cancellation_kills_at_once(running: Running, brood: Brood) -> None:
    told = Told()
    await cancelled(running(STUBBORN, limits=ProcessLimits(grace_ms=100_000), on_lines=told), told, times=2)
    assert brood.gone(60), brood.commands()


@pytest.mark.slow
@pytest.mark.parametrize("own_session", [True, False])
async def test_what_a_program_leaves_behind_is_ended_and_said(
    running: Running, brood: Brood, own_session: bool
) -> None:
    text = (
        "import subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', {FOREVER!r}], start_new_session={own_session})\n"
        "print('done')"
    )
    result = await running(text, limits=ProcessLimits(drain_ms=100))
    assert result.left_behind
    assert result.ok
    assert "done" in result.stdout.text
    assert brood.gone(60), brood.commands()


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    await run_program(["true"], cwd=tmp_path)
    before = descriptors()
    for _ in range(5):
        await run_program(["sh", "-c", "echo a"], cwd=tmp_path)
        with pytest.raises(ProgramNotExecutable):
            await run_program([str(tmp_path)], cwd=tmp_path)
    assert descriptors() == before
