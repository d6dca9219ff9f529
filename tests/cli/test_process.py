"""Process of a command: missing directories, and repeated Ctrl-C."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.harness.shell import COMMAND
from tideate_core.cli.process import log_to_file
from tideate_core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.harness.shell import Shell


def test_a_log_is_not_kept_where_no_directory_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").write_text("a file")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with pytest.raises(ConfigError, match=r"state/tideate cannot be used .*TIDEATE_STATE or"):
        log_to_file()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["list", "doctor", "history", "run ask hi", "trust", "schema", "mcp serve git --root ."]
)
def test_a_deleted_working_directory_is_named(shell: Shell, command: str) -> None:
    gone = shell.home / "gone"
    gone.mkdir()
    script = f"cd {shlex.quote(str(gone))}; rmdir ../gone; exec {shlex.join(COMMAND)} {command}"
    done = subprocess.run(
        ["sh", "-c", script],
        env=shell.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "error: the working directory was deleted; change to another one\n"


PROGRAM = """
import asyncio, os, sys
from tideate_core.cli import interruption
from tideate_core.cli.render.output import messages

interruption.PATIENCE = float(sys.argv[1])

class Said(interruption.Interruption):
    def cancel(self):
        print("cancel", flush=True)

async def main():
    # called by the second signal, in the middle of any other output: not by `print`
    with Said(messages(), lambda: os.write(1, b"restored\\n")):
        print("ready", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


WRITER = """
import asyncio
from tideate_core.cli.process import finish, run_async

async def write(begin):
    begin()
    print("ready", flush=True)
    print(await asyncio.to_thread(input))

run_async(finish(write, lambda words: print(words, flush=True)))
"""


@contextmanager
def started(program: str, patience: float = 0.0) -> Iterator[subprocess.Popen[str]]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored here
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(patience)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()  # otherwise a failed test would wait for its end


def interrupted(process: subprocess.Popen[str], lines: int) -> list[str]:
    assert process.stdout is not None
    process.send_signal(signal.SIGINT)
    return [process.stdout.readline().strip() for _ in range(lines)]


def test_each_cancels_again_and_the_second_says_so() -> None:
    with started(PROGRAM, 3600) as process:
        assert process.stderr is not None
        assert interrupted(process, 1) == ["cancel"]
        assert interrupted(process, 1) == ["cancel"]
        assert "already stopping" in process.stderr.readline()
        assert interrupted(process, 1) == ["cancel"]
        process.kill()
        assert process.stderr.read() == ""


@pytest.mark.slow
def test_one_that_comes_after_a_while_leaves_it_at_once() -> None:
    with started(PROGRAM, 0) as process:
        assert interrupted(process, 1) == ["cancel"]
        assert interrupted(process, 1) == ["restored"]
        assert process.stderr is not None
        told = "\nquit before the run was stopped\n"
        assert (process.wait(60), process.stderr.read()) == (130, told)


@pytest.mark.parametrize(
    ("second", "status", "said"), [(signal.SIGINT, 130, ""), (signal.SIGTERM, 0, "written\n")]
)
def test_only_a_second_ctrl_c_quits_in_the_middle_of_writes(
    second: signal.Signals, status: int, said: str
) -> None:
    with started(WRITER) as process:
        assert process.stdout is not None
        process.send_signal(signal.SIGTERM)
        assert "finishes writing first" in process.stdout.readline()
        process.send_signal(second)
        if status:
            assert process.wait(60) == status
        assert (process.communicate("written\n", 60)[0], process.returncode) == (said, status)
