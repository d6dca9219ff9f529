"""Runs of programs within limits, without leftovers."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING

import pytest

from tests.process.long_running import GUARDED, Told, cancelled
from tideate_core.process import CommandResult, OutputLine, ProcessLimits, run_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.process.conftest import Running


@GUARDED
async def test_output_status_and_streams_are_told_apart(running: Running, guarded: bool) -> None:
    text = "import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(3)"
    result = await running(text, "argument", guarded=guarded)
    assert (result.stdout.text, result.stderr.text) == ("out\n", "err\n")
    assert (result.exit_code, result.signal, result.ok, result.timed_out) == (3, None, False, False)
    assert result.ending == "ended with status 3"
    assert result.argv[2:] == ("argument",)
    assert not result.left_behind


@GUARDED
async def test_a_signal_that_ended_the_program_is_named(running: Running, guarded: bool) -> None:
    result = await running("import os, signal; os.kill(os.getpid(), signal.SIGUSR1)", guarded=guarded)
    assert (result.exit_code, result.signal, result.ending) == (None, "SIGUSR1", "was ended by SIGUSR1")


@contextlib.contextmanager
def standing_on_our_input(data: bytes) -> Iterator[None]:
    ours = os.dup(0)
    here, there = os.pipe()
    os.write(there, data)
    os.close(there)
    os.dup2(here, 0)
    os.close(here)
    try:
        yield
    finally:
        os.dup2(ours, 0)
        os.close(ours)


@GUARDED
async def test_nothing_stands_on_its_input_and_signals_are_as_usual(running: Running, guarded: bool) -> None:
    text = (
        "import signal, sys\n"
        "lines = open('/proc/self/status').read().splitlines()\n"
        "ignored = int(next(l for l in lines if l.startswith('SigIgn')).split()[1], 16)\n"
        "ours = 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1  # Python's own doing\n"
        "print(repr(sys.stdin.read()), ignored & ~ours & 0x7FFFFFFF)"  # above are the C library's own
    )
    with standing_on_our_input(b"for us"):
        result = await running(text, guarded=guarded)
    assert result.stdout.text == "'' 0\n"


async def test_it_runs_in_its_directory_as_a_session_of_its_own(running: Running, tmp_path: Path) -> None:
    result = await running("import os; print(os.getcwd(), os.getsid(0))")
    directory, session = result.stdout.text.split()
    assert directory == str(tmp_path)
    assert int(session) != os.getsid(0)


async def test_an_argument_is_never_read_by_a_shell(running: Running, tmp_path: Path) -> None:
    hostile = ["; touch p", "$(touch p)", "`touch p`", "a\nb", "*", "-x", "", "\udcff"]
    result = await running("import sys; print(ascii(sys.argv[1:]))", *hostile)
    assert result.stdout.text == ascii(hostile) + "\n"
    assert not (tmp_path / "p").exists()


async def test_lines_are_told_as_they_come(running: Running) -> None:
    told = Told("second")
    text = "import signal, sys\nprint('first')\nprint('second', file=sys.stderr, flush=True)\nsignal.pause()"
    await cancelled(running(text, on_lines=told), told)
    assert told.texts("stdout") == ["first"]
    assert told.texts("stderr") == ["second"]


async def test_a_last_line_without_an_end_is_told_live(running: Running) -> None:
    told = Told()
    await running("print('no end', end='')", on_lines=told)
    assert told.texts("stdout") == ["no end"]


@pytest.mark.slow
async def test_a_hundred_megabytes_keep_their_beginning_and_their_end(running: Running) -> None:
    text = (
        "import sys\nblock = b'x' * 99 + b'\\n'\nsys.stdout.write('first\\n')\nsys.stdout.flush()\n"
        "for _ in range(1000): sys.stdout.buffer.write(block * 1000)\n"
        "sys.stdout.buffer.write(b'last\\n')"
    )
    last: list[OutputLine] = []
    limits = ProcessLimits(output_bytes=10_000)
    result = await running(text, limits=limits, on_lines=lambda lines: last.extend(lines[-1:]))
    size = 100_000_000 + len("first\nlast\n")
    assert (result.stdout.size, result.ok) == (size, True)
    assert last[-1].text == "last"
    first, *_, end = result.stdout.text.splitlines()
    assert (first, end) == ("first", "last")
    assert len(result.stdout.text) <= 10_100
    assert f"[… {result.stdout.cut:,} bytes left out …]" in result.stdout.text
    assert size - 10_000 <= result.stdout.cut <= size - 9_000


async def test_a_listener_that_raises_does_not_end_the_program(running: Running) -> None:
    asyncio.get_running_loop().set_exception_handler(
        lambda _loop, context: raised.append(context["exception"])
    )
    raised: list[object] = []

    def listen(_lines: Sequence[OutputLine]) -> None:
        raise KeyError("mine")

    result = await running("print('a')", on_lines=listen)
    assert (result.ok, result.stdout.text) == (True, "a\n")
    assert [str(error) for error in raised] == ["'mine'"]


async def test_a_programs_own_status_127_is_its_own(tmp_path: Path) -> None:
    result = await run_program(["sh", "-c", "exit 127"], cwd=tmp_path)
    assert result.exit_code == 127


@pytest.mark.slow
async def test_many_programs_run_side_by_side(tmp_path: Path) -> None:
    async def one(number: int) -> CommandResult:
        return await run_program(["sh", "-c", f"echo {number}; exit {number}"], cwd=tmp_path)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(number)) for number in range(24)]
    assert [task.result().exit_code for task in tasks] == list(range(24))
    assert [task.result().stdout.text for task in tasks] == [f"{number}\n" for number in range(24)]
