"""Programs are run within their limits, and nothing of them goes on afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.errors import InvalidCommand, ProgramMissing, ProgramNotExecutable
from tideate_core.process import CommandResult, OutputLine, ProcessLimits, run_program

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence

    from tests.process.conftest import Running
    from tests.support.processes import Brood

ROOT = Path(__file__).parents[2]
FOREVER = "import signal; print('ready', flush=True); signal.pause()"
STUBBORN = (
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True)\n"
    "while True: signal.pause()"
)


class Told:
    """The lines that came, and an event for a word among them."""

    def __init__(self, word: str = "ready") -> None:
        self.lines: list[OutputLine] = []
        self.heard = asyncio.Event()
        self._word = word

    def __call__(self, lines: Sequence[OutputLine]) -> None:
        self.lines += lines
        if any(self._word in line.text for line in lines):
            self.heard.set()

    def texts(self, stream: str) -> list[str]:
        return [line.text for line in self.lines if line.stream == stream and line.ended]


GUARDED = pytest.mark.parametrize("guarded", [True, False])


async def cancelled(going: Coroutine[Any, Any, CommandResult], told: Told, times: int = 1) -> None:
    """Cancel a program once it said its word, the second time while it is asked to end."""
    task = asyncio.create_task(going)
    async with asyncio.timeout(20):
        await told.heard.wait()
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)  # it is asking then
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task


@GUARDED
async def test_output_status_and_streams_are_told_apart(running: Running, guarded: bool) -> None:
    text = "import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(3)"
    result = await running(text, "argument", guarded=guarded)
    assert (result.stdout.text, result.stderr.text) == ("out\n", "err\n")
    assert (result.exit_code, result.signal, result.ok, result.timed_out) == (3, None, False, False)
    assert result.ending == "ended with status 3"
    assert result.argv[2:] == ("argument",)


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
    assert brood.gone(5), brood.commands()


@pytest.mark.slow
async def test_a_program_is_asked_once_to_end(running: Running) -> None:
    text = (
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
        "print('ready', flush=True)\n"
        "signal.sigwait([signal.SIGTERM])\nprint(signal.sigtimedwait([signal.SIGTERM], 0.5))"
    )
    result = await running(text, limits=ProcessLimits(timeout_ms=1000, grace_ms=10_000), guarded=False)
    assert result.stdout.text == "ready\nNone\n"


async def test_a_last_line_without_an_end_is_told_live(running: Running) -> None:
    told = Told()
    await running("print('no end', end='')", on_lines=told)
    assert told.texts("stdout") == ["no end"]


@pytest.mark.slow
async def test_one_that_does_not_listen_is_killed(running: Running, brood: Brood) -> None:
    result = await running(STUBBORN, limits=ProcessLimits(timeout_ms=1000, grace_ms=100))
    assert (result.timed_out, result.signal, result.left_behind) == (True, "SIGKILL", False)
    assert brood.gone(5), brood.commands()


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
    assert brood.gone(5), brood.commands()


async def test_a_second_cancellation_kills_at_once(running: Running, brood: Brood) -> None:
    told = Told()
    await cancelled(running(STUBBORN, limits=ProcessLimits(grace_ms=100_000), on_lines=told), told, times=2)
    assert brood.gone(5), brood.commands()


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
    assert brood.gone(5), brood.commands()


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
        found = Path("/proc", (folder / "pid").read_text(), "stat").read_text()
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


async def test_a_program_that_leaves_nothing_behind_is_not_accused_of_it(running: Running) -> None:
    result = await running("print('done')")
    assert not result.left_behind


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
    assert brood.gone(10), brood.commands()
    assert not runs(tmp_path)


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


@pytest.mark.parametrize(
    ("command", "error", "said"),
    [
        ([], InvalidCommand, "needs a program"),
        ([""], InvalidCommand, "needs a program"),
        (["true", "a\0b"], InvalidCommand, "argument 1 of 'true' has a NUL"),
        (["no-such-program-here"], ProgramMissing, "is not installed: no directory of PATH has it; get it"),
        (["./none"], ProgramMissing, "none does not exist; get it"),
        (["./folder"], ProgramNotExecutable, "a directory"),
        (["./plain"], ProgramNotExecutable, "chmod [+]x"),
        (["./nowhere"], ProgramNotExecutable, "a link that leads nowhere"),
    ],
)
async def test_a_program_that_cannot_be_run_is_told_with_what_to_do(
    tmp_path: Path, command: list[str], error: type[Exception], said: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_text("x")
    (tmp_path / "nowhere").symlink_to("nothing")
    with pytest.raises(error, match=said):
        await run_program(command, cwd=tmp_path, hint="get it")


@GUARDED
@pytest.mark.parametrize(
    ("content", "said"),
    [(b"hello", "with `#!` at its top"), (b"#!/no/such/shell\n", "an interpreter that is missing")],
)
async def test_a_file_that_is_no_program_is_told(
    tmp_path: Path, content: bytes, said: str, guarded: bool
) -> None:
    (tmp_path / "it").write_bytes(content)
    (tmp_path / "it").chmod(0o755)
    with pytest.raises(ProgramNotExecutable, match=said):
        await run_program(["./it"], cwd=tmp_path, guarded=guarded)


async def test_a_programs_own_status_127_is_its_own(tmp_path: Path) -> None:
    result = await run_program(["sh", "-c", "exit 127"], cwd=tmp_path)
    assert result.exit_code == 127


async def test_a_relative_directory_of_the_path_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tool").write_text("#!/bin/sh\ntouch ran\n")
    (tmp_path / "tool").chmod(0o755)
    with pytest.raises(ProgramMissing):
        await run_program(["tool"], cwd=tmp_path, environment={"PATH": ".::"})
    assert not (tmp_path / "ran").exists()


async def test_many_programs_run_side_by_side(tmp_path: Path) -> None:
    async def one(number: int) -> CommandResult:
        return await run_program(["sh", "-c", f"echo {number}; exit {number}"], cwd=tmp_path)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(number)) for number in range(24)]
    assert [task.result().exit_code for task in tasks] == list(range(24))
    assert [task.result().stdout.text for task in tasks] == [f"{number}\n" for number in range(24)]


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
