"""Programs on a terminal of their own that mirrors the person's."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.terminal import Terminal
from tideate_core.process import Enclosure, Namespaces, entering

RELAY: Final = """
import asyncio, os, sys
from pathlib import Path
from tideate_core.process import run_on_terminal
status = asyncio.run(run_on_terminal(sys.argv[1:], environment=os.environ, cwd=Path("/")))
print("ended with", status, flush=True)
sys.stdin.readline()
"""
ROOT: Final = Path(__file__).parents[2]


def relayed(*command: str) -> list[str]:
    """Return a command that relays its terminal to another one."""
    return [sys.executable, "-c", RELAY, *command]


def on_terminal(code: str, **options: Any) -> Terminal:
    return Terminal(relayed(sys.executable, "-c", code), env=os.environ, cwd=ROOT, **options)


def test_keys_and_the_screen_are_relayed_and_the_terminal_is_restored() -> None:
    code = (
        "import os, sys, termios, tty\n"
        "print(os.isatty(0), os.isatty(2), os.ttyname(0) == os.ttyname(1))\n"
        "tty.setraw(0); sys.stdout.write('ready\\r\\n'); sys.stdout.flush()\n"
        "keys = os.read(0, 10)\n"
        "sys.stdout.write(f'read {keys!r}\\r\\n'); sys.exit(3)"
    )
    with closing(on_terminal(code)) as terminal:
        terminal.wait_for("ready")
        terminal.type("\x03")
        terminal.wait_for("read b'\\x03'")
        terminal.wait_for("ended with 3")
        terminal.type("line\n")
        terminal.wait_for("line")  # echoed again
        assert terminal.wait_exit() == 0


def test_the_size_is_relayed() -> None:
    code = (
        "import os, signal\n"
        "def say(*_): print(*os.get_terminal_size(0), flush=True)\n"
        "signal.signal(signal.SIGWINCH, say); say()\n"
        "while True: signal.pause()"
    )
    with closing(on_terminal(code, columns=90, rows=20)) as terminal:
        terminal.wait_for("90 20")
        terminal.resize(70, 10)
        terminal.wait_for("70 10")


def test_signals_reach_the_program_and_end_it() -> None:
    code = "import signal\nprint('ready', flush=True)\nwhile True: signal.pause()"
    with closing(on_terminal(code)) as terminal:
        terminal.wait_for("ready")
        terminal.process.send_signal(signal.SIGTERM)
        terminal.wait_for("ended with -15")


def test_a_stopped_relay_leaves_the_terminal_to_the_shell() -> None:
    code = "import os, tty\ntty.setraw(0)\nos.write(1, b'ready')\nos.write(1, b'read %r' % os.read(0, 1))"
    with closing(on_terminal(code)) as terminal:
        terminal.wait_for("ready")
        assert not terminal.is_cooked
        terminal.process.send_signal(signal.SIGTSTP)
        _, status = os.waitpid(terminal.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        assert terminal.is_cooked
        terminal.process.send_signal(signal.SIGCONT)
        terminal.type("x")
        terminal.wait_for("read b'x'")


def test_without_a_terminal_it_has_the_streams() -> None:
    code = "import sys; print(sys.stdin.read()); print('error', file=sys.stderr); sys.exit(4)"
    done = subprocess.run(
        relayed(sys.executable, "-c", code),
        input="given",
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("given\nended with 4\n", "error\n")


@pytest.mark.slow
def test_nothing_that_left_its_session_lives_on_outside_of_namespaces(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    code = (
        "import fcntl, os, signal\n"
        "told, tell = os.pipe()\n"
        "if not os.fork():\n"
        "    os.setsid()\n"
        "    if os.fork(): os._exit(0)\n"
        f"    fcntl.flock(os.open({str(lock)!r}, os.O_CREAT | os.O_RDWR), fcntl.LOCK_EX)\n"
        "    os.write(tell, b'x'); os.closerange(0, 3)\n"
        "    while True: signal.pause()\n"
        "os.read(told, 1)"
    )
    done = subprocess.run(relayed(sys.executable, "-c", code), input="", text=True, cwd=ROOT, check=False)
    assert done.returncode == 0
    with lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


INJECT: Final = """
import fcntl, os, termios
for path in ("/dev/tty", "/proc/self/fd/0"):
    try:
        with open(path, "rb+", buffering=0) as file:
            for key in b"injected\\n":
                fcntl.ioctl(file, termios.TIOCSTI, bytes([key]))
    except OSError as error:
        print("refused", error.strerror)
print(os.ttyname(0), os.tcgetpgrp(0) - os.getpgrp())
print("tried", flush=True)
"""


@pytest.mark.attack
def test_keys_that_a_program_injects_do_not_reach_our_terminal(tmp_path: Path) -> None:
    inside = Enclosure(tmp_path)
    held = Namespaces.hold(inside.mounts([]), inside.rules)
    try:
        argv = relayed(*entering(held.pid, Path("/"), [sys.executable, "-c", INJECT]))
        with closing(Terminal(argv, env=os.environ, cwd=ROOT)) as terminal:
            terminal.wait_for("/dev/pts/0 0\r\ntried".replace("\r", ""))
            terminal.wait_for("ended with 0")
            terminal.type("typed\n")
            assert terminal.wait_exit() == 0
            assert "injected" not in terminal.text.partition("ended with 0")[2]
    finally:
        held.close()
