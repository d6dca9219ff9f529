"""The guard ends processes that leave the group or outlive its parent."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.process.long_running import FOREVER, STUBBORN, Told, cancelled
from tideate_core.process import ProcessLimits

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness.processes import Brood
    from tests.process.conftest import Running


ROOT = Path(__file__).parents[2]


def gets_away(folder: Path, then: str) -> str:
    """A program that starts another in a session of its own, twice removed and without its environment."""
    inner = (
        "import os, signal, subprocess, sys\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"open({str(folder / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "signal.pause()"
    )
    outer = (
        "import subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', {inner!r}], env={{}}, start_new_session=True,"
        " stdin=-3, stdout=-3, stderr=-3)"
    )
    return (
        f"import os, subprocess, sys, time\nsubprocess.run([sys.executable, '-c', {outer!r}])\n"
        f"while not os.path.exists({str(folder / 'pid')!r}): time.sleep(0.01)\n{then}"
    )


def runs(folder: Path) -> bool:
    try:
        found = Path("/proc", (folder / "pid").read_text().strip() or "none", "stat").read_text()
    except FileNotFoundError:
        return False
    return found.rpartition(") ")[2][0] != "Z"


@pytest.mark.slow
async def test_what_leaves_the_group_and_its_environment_is_ended_too(
    running: Running, tmp_path: Path
) -> None:
    result = await running(gets_away(tmp_path, "print('done'); sys.exit(3)"))
    assert (result.exit_code, result.stdout.text, result.left_behind) == (3, "done\n", True)
    assert not runs(tmp_path)


async def test_what_left_the_group_is_ended_when_the_program_is_cancelled(
    running: Running, tmp_path: Path
) -> None:
    told = Told("parent")
    text = gets_away(tmp_path, STUBBORN.replace("ready", "parent"))
    await cancelled(running(text, limits=ProcessLimits(grace_ms=100), on_lines=told), told)
    assert not runs(tmp_path)


async def test_orphans_that_end_are_not_taken_for_the_program(running: Running) -> None:
    text = (
        "import os, sys, time\n"
        "for _ in range(20):\n    if not os.fork():\n        os.fork(); os._exit(7)\n"
        "while True:\n    try: os.wait()\n    except ChildProcessError: break\n"
        "time.sleep(0.2); print('done'); sys.exit(3)"
    )
    result = await running(text)
    assert (result.exit_code, result.stdout.text) == (3, "done\n")


@pytest.mark.slow
@pytest.mark.crash
def test_a_program_does_not_outlive_the_process_that_wanted_its_result(
    program: Callable[[str], list[str]], brood: Brood, tmp_path: Path
) -> None:
    child = FOREVER.replace("ready", "child")
    command = program(
        f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {child!r}])\n"
        + gets_away(tmp_path, STUBBORN)
    )
    code = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from tideate_core.process import make_environment, run_program\n"
        f"environment = make_environment({brood.environment()!r})\n"
        "say = lambda lines: [print('ready', flush=True) for line in lines if line.text == 'ready']\n"
        f"asyncio.run(run_program({command!r}, cwd=Path('/'), environment=environment, on_lines=say))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"ready\n"
        assert len(brood.pids()) >= 2
        assert runs(tmp_path)
        host.send_signal(signal.SIGKILL)
    assert brood.gone(60), brood.commands()
    assert not runs(tmp_path)
