"""Programs that try to outlive their scratch copy: without guard, in nested namespaces, ignoring signals."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.snapshots.trees import REPOSITORY
from tideate_core.snapshots import open_scratch

if TYPE_CHECKING:
    from collections.abc import Callable

    from tideate_core.snapshots import Scratch

pytestmark = pytest.mark.attack

ESCAPE: Final = """
import ctypes, fcntl, os, signal, sys
lock, flags, guard = sys.argv[1], int(sys.argv[2]), sys.argv[3]
held, tell = os.pipe()
if not os.fork():
    os.setsid()
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_IGN)
    if os.fork():
        os._exit(0)
    for flag in (0x10000000, 0x00020000, 0x20000000):
        if flags & flag and ctypes.CDLL(None).unshare(flag):
            os._exit(1)
    if flags and os.fork():
        os._exit(0)
    file = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(file, fcntl.LOCK_EX)
    os.write(tell, b"x")
    os.closerange(0, 3)
    wait = "import signal\\nwhile True: signal.pause()"
    os.set_inheritable(file, True)
    os.execve(sys.executable, [sys.executable, "-c", wait], {})
os.close(tell)
assert os.read(held, 1) == b"x"
print("escaped", flush=True)
if guard == "kill":
    os.kill(os.getppid(), signal.SIGKILL)
signal.pause()
"""
"""Arguments: a file that it locks while it lives, flags of `unshare`, and `kill` or `keep`."""
PYTHON: Final = str(Path(sys.executable).resolve())
FLAGS: Final = {"session": 0, "user and mounts": 0x10020000, "pids too": 0x30020000}


def is_held(lock: Path) -> bool:
    """Return whether the escaped process lives."""
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


async def escaped(scratch: Scratch, lock: Path, flags: int) -> None:
    argv = [PYTHON, "-I", "-c", ESCAPE, str(lock), str(flags), "kill"]
    assert (await scratch.run(argv)).stdout.text == "escaped\n"
    assert is_held(lock), "the program did not get away from its guard: this test shows nothing"


def stop_holder(scratch: Scratch) -> None:
    os.kill(int(scratch.view.parts[2]), signal.SIGSTOP)


def stop_its_parent(scratch: Scratch) -> None:
    status = Path("/proc", scratch.view.parts[2], "stat").read_text()
    os.kill(int(status.rpartition(") ")[2].split()[1]), signal.SIGSTOP)


@pytest.mark.slow
@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
async def test_nothing_outlives_the_scratch_copy(
    root: Path, private: Path, tmp_path: Path, flags: int
) -> None:
    async with open_scratch(root, private, kind="overlay") as scratch:
        await escaped(scratch, tmp_path / "lock", flags)
    assert not is_held(tmp_path / "lock")
    assert not os.path.lexists(private)  # noqa: ASYNC240 it takes no time


@pytest.mark.slow
@pytest.mark.parametrize("stop", [stop_holder, stop_its_parent])
async def test_a_holder_that_is_stopped_ends_all_the_same(
    root: Path,
    private: Path,
    tmp_path: Path,
    stop: Callable[[Scratch], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tideate_core.process.namespaces._END_WITHIN", 1.0)
    async with open_scratch(root, private, kind="overlay") as scratch:
        await escaped(scratch, tmp_path / "lock", FLAGS["pids too"])
        stop(scratch)
    assert not is_held(tmp_path / "lock")
    assert not os.path.lexists(private)  # noqa: ASYNC240 it takes no time


@pytest.mark.slow
async def test_the_holder_cannot_be_ended_from_within(root: Path, private: Path) -> None:
    async with open_scratch(root, private, kind="overlay") as scratch:
        for name in ("STOP", "KILL", "TERM"):
            await scratch.run(["sh", "-c", f"kill -{name} 1"])
        assert (await scratch.run(["sh", "-c", "echo still here"])).stdout.text == "still here\n"


OWNER: Final = """
import asyncio, sys
from pathlib import Path
from tideate_core.snapshots import open_scratch

async def main():
    root, private, kind, *argv = sys.argv[1:]
    async with open_scratch(Path(root), Path(private), kind=kind) as scratch:
        say = lambda lines: [print(line.text, flush=True) for line in lines]
        await scratch.run(argv, on_lines=say)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.parametrize(("kind", "guard"), [("overlay", "keep"), ("overlay", "kill"), ("copy", "keep")])
def test_nothing_outlives_an_owner_that_is_killed(
    root: Path, private: Path, tmp_path: Path, kind: str, guard: str
) -> None:
    """In a copy, a process that kills the guard survives; see docs/contribute/attacks.md."""
    lock = tmp_path / "lock"
    escape = [PYTHON, "-I", "-c", ESCAPE, str(lock), str(FLAGS["pids too"]), guard]
    command = [sys.executable, "-c", OWNER, str(root), str(private), kind, *escape]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=REPOSITORY) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"escaped\n"
        assert is_held(lock)
        owner.send_signal(signal.SIGKILL)
    with lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # waits for the owner's end, or the test's time limit
