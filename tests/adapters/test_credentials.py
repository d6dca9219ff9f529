"""Keys that cannot be sent are rejected, and a key command never outlives its caller."""

from __future__ import annotations

import asyncio
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.conftest import LIMIT
from tideate_core.adapters import credentials
from tideate_core.adapters.credentials import KeySource
from tideate_core.errors import AuthenticationFailed

ROOT = Path(__file__).parents[2]


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


def hanging(fifo: Path) -> tuple[str, ...]:
    """Return a command that hangs with a child, after printing both process ids."""
    return ("sh", "-c", f"sleep 1000 & echo $$ $! > '{fifo}'; wait")


def ended(watches: list[int]) -> bool:
    """Tell whether these processes end in time."""
    waiting = set(watches)
    while waiting and (found := select.select(list(waiting), [], [], LIMIT)[0]):
        waiting -= set(found)
    for watch in watches:
        os.close(watch)
    return not waiting


@pytest.mark.parametrize("key", ["sk-secret\nsecond", "sk-secret\x1b[0m", "sk-sécret"])
async def test_a_variable_that_no_header_can_carry_is_refused(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("FAKE_KEY", key)
    with pytest.raises(AuthenticationFailed, match=r"\$FAKE_KEY .*printable ASCII") as caught:
        await KeySource("fake", "FAKE_KEY").key()
    assert "cret" not in str(caught.value)


async def test_white_space_around_a_variable_is_no_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_KEY", " sk-right\r\n")
    assert await KeySource("fake", "FAKE_KEY").key() == "sk-right"


@pytest.mark.parametrize("key", ["sk-sécret".encode(), b"sk-\xff"], ids=["letters", "bytes"])
async def test_what_a_command_prints_is_refused_likewise(tmp_path: Path, key: bytes) -> None:
    file = tmp_path / "key"
    await asyncio.to_thread(file.write_bytes, key)
    with pytest.raises(AuthenticationFailed, match=r"`cat .*printable ASCII") as caught:
        await KeySource("fake", command=("cat", str(file))).key()
    assert "cret" not in str(caught.value)


async def test_a_command_is_in_the_group_of_whoever_asked_it() -> None:
    command = (sys.executable, "-c", "import os; print(os.getpgrp(), os.getsid(0))")
    assert await KeySource("fake", command=command).key() == f"{os.getpgrp()} {os.getsid(0)}"


async def test_a_command_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "COMMAND_TIMEOUT", 0.05)
    async with asyncio.timeout(LIMIT):
        with pytest.raises(AuthenticationFailed, match="took longer"):
            await KeySource("fake", command=("sleep", "1000")).key()


async def test_a_command_that_is_given_up_is_killed_with_what_it_started(fifo: Path) -> None:
    async with asyncio.timeout(LIMIT):
        task = asyncio.create_task(KeySource("fake", command=hanging(fifo)).key())
        said = await asyncio.to_thread(fifo.read_text)
        watches = [os.pidfd_open(int(process)) for process in said.split()]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await asyncio.to_thread(ended, watches)


def test_a_command_ends_when_whoever_asked_it_is_killed(fifo: Path) -> None:
    command = ("sh", "-c", f"echo $$ > '{fifo}'; exec sleep 1000")
    program = (
        "import asyncio\n"
        "from tideate_core.adapters.credentials import KeySource\n"
        f"asyncio.run(KeySource('fake', command={command!r}).key())\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT)
    watch = os.pidfd_open(int(fifo.read_text()))
    parent.kill()
    parent.wait()
    assert ended([watch])
