"""Process with the product's imports, which forks a child for each command or host of a test.

Most of what a short test costs are imports. In the place of the interpreter a test starts `interpreter()`:
a small process that has a child forked with its streams, environment and directory, passes on signals,
ends as it does, and takes it along when it is killed itself.
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, NoReturn

from tests.harness.forked import become, import_all
from tests.harness.processes import MEASURING

__all__ = ["COMMANDS", "ask_for_child", "interpreter", "needs_interpreter"]

COMMANDS: Final = {
    "tideate_core.cli": "tideate_core.entry",
    "tideate_core.cli.main": "tideate_core.cli.main",
}
"""What `python -m` is given for the `tideate` command, and the module whose `main` it runs."""
HOST: Final = "tideate_core.editor.main"
ROOT: Final = Path(__file__).resolve().parents[2]
KEPT: Final = ("PATH", "LANG", "TERM")
AT_START: Final = ("PYTHON", "LD_", "COVERAGE_")
"""Beginnings of variables that count when an interpreter starts."""
NOTES: Final = 300
"""Descriptor that a child writes the names of its modules to."""

_STAND_IN: Final = """#!{python} -ISu
import fcntl, json, os, signal, socket, sys, termios
arguments, environment = sys.argv[1:], dict(os.environ)
at_start = {{name: value for name, value in environment.items() if name.startswith({at_start!r})}}
host = arguments[:3] == ["-I", "-u", "-c"]
command = arguments[:1] == ["-m"] and arguments[1] in {commands!r} and at_start == {usual!r}
if not host and not command:
    os.execv({python!r}, [{python!r}, *arguments])
terminal = False
if os.getsid(0) == os.getpid():
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        fcntl.ioctl(0, termios.TIOCNOTTY)
        terminal = True
    except OSError:
        pass
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
asked = json.dumps([arguments, environment, os.getcwd(), terminal]).encode()
socket.send_fds(server, [b"%10d" % len(asked)], [0, 1, 2])
server.sendall(asked)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, lambda number, _: server.sendall(bytes([number])))
for descriptor in range(3):
    os.close(descriptor)
server.recv(16)
status = int(server.recv(16) or 70)
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
"""


def needs_interpreter(environment: dict[str, str]) -> bool:
    """Whether variables are set that only a new interpreter obeys, or all processes are measured."""
    at_start = {name: value for name, value in environment.items() if name.startswith(AT_START)}
    return at_start != {"PYTHONPATH": str(ROOT)} or MEASURING in os.environ


@functools.cache
def _started() -> Path:
    """Start it, for as long as this process lives; returns the directory with its socket and the stand-in."""
    folder = tempfile.TemporaryDirectory(prefix="tideate-forks-")
    address = Path(folder.name, "socket")
    python = Path(folder.name, "python")
    python.write_text(
        _STAND_IN.format(
            python=sys.executable,
            address=str(address),
            at_start=AT_START,
            usual={"PYTHONPATH": str(ROOT)},
            commands=set(COMMANDS),
        )
    )
    python.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(address))
        listening.listen(64)
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        theirs, ours = os.pipe()
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.harness.fork_server", str(listening.fileno()), str(theirs)],
            pass_fds=[listening.fileno(), theirs],
            cwd=ROOT,
            env=environment | {"LANG": "C.UTF-8", "HOME": "/nonexistent", "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    os.close(theirs)

    def end() -> None:
        os.close(ours)
        process.wait(60)
        folder.cleanup()

    atexit.register(end)
    return Path(folder.name)


def interpreter() -> str:
    """The program for hosts and commands: the stand-in, or the interpreter under `make coverage`."""
    return sys.executable if MEASURING in os.environ else str(_started() / "python")


def ask_for_child(
    arguments: list[str], environment: dict[str, str], directory: Path, streams: tuple[int, int, int]
) -> socket.socket:
    """Have a child forked for arguments of Python.

    The socket gives its number, then its status, each as text. A byte that is sent is a signal to it. It is
    killed when the socket is closed.
    """
    server = socket.socket(socket.AF_UNIX)
    server.connect(str(_started() / "socket"))
    asked = json.dumps([arguments, environment, str(directory), False]).encode()
    socket.send_fds(server, [b"%10d" % len(asked)], streams)
    server.sendall(asked)
    return server


# in the process that forks


class _Server:
    """Forks until the pipe's other end is closed: with the process of the tests, however that ends."""

    def __init__(self, descriptor: int, pipe: int) -> None:
        self._listening = socket.socket(fileno=descriptor)
        self._pipe = pipe
        self._ended, woken = os.pipe()
        os.set_blocking(woken, False)
        signal.set_wakeup_fd(woken)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._running: dict[int, tuple[socket.socket, IO[str]]] = {}

    def serve(self) -> None:
        import_all([*COMMANDS.values(), HOST, "pynvim.plugin.host"])
        while True:
            open_ones = {
                one.fileno(): child for child, (one, _) in self._running.items() if one.fileno() >= 0
            }
            ready = select.select([self._pipe, self._listening.fileno(), self._ended, *open_ones], [], [])[0]
            if self._pipe in ready:
                return
            for descriptor in ready:
                if descriptor in open_ones:
                    self._pass_on(open_ones[descriptor])
            if self._ended in ready:
                os.read(self._ended, 4096)
                self._reap()
            if self._listening.fileno() in ready:
                self._accept()

    def _accept(self) -> None:
        asking = self._listening.accept()[0]
        head, streams, _, _ = socket.recv_fds(asking, 10, 3)
        text = b""
        while head and len(text) < int(head):
            text += asking.recv(int(head) - len(text))
        noted = tempfile.TemporaryFile("w+")  # noqa: SIM115 closed when the child has ended
        child = os.fork()
        if child == 0:
            arguments, environment, directory, terminal = json.loads(text)
            _be_child(arguments, environment, directory, terminal, streams, noted)
        for descriptor in streams:
            os.close(descriptor)
        self._running[child] = asking, noted
        with suppress(BrokenPipeError):
            asking.sendall(b"%15d " % child)

    def _pass_on(self, child: int) -> None:
        """Send it a signal that its stand-in got; without a stand-in it is killed."""
        asking, _ = self._running[child]
        try:
            number = asking.recv(1)
        except ConnectionResetError:
            number = b""
        with suppress(ProcessLookupError):
            os.kill(child, number[0] if number else signal.SIGKILL)
        if not number:
            asking.close()

    def _reap(self) -> None:
        while self._running:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                return
            asking, noted = self._running.pop(child)
            with noted, asking:
                if asking.fileno() >= 0:
                    with suppress(BrokenPipeError):
                        asking.sendall(str(os.waitstatus_to_exitcode(status)).encode())
                noted.seek(0)
                import_all(noted.read().splitlines())


def _be_child(
    arguments: list[str],
    environment: dict[str, str],
    directory: str,
    terminal: bool,
    streams: list[int],
    noted: IO[str],
) -> NoReturn:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    notes = os.dup2(noted.fileno(), NOTES)
    before, leave = set(sys.modules), os._exit

    def noting(status: int) -> NoReturn:
        # in their order: `_asyncio` before `asyncio` would be another module
        os.write(notes, "\n".join(name for name in list(sys.modules) if name not in before).encode())
        leave(status)

    os._exit = noting

    def work() -> None:
        if terminal:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        if arguments[0] == "-m":
            sys.argv = ["tideate", *arguments[2:]]
            importlib.import_module(COMMANDS[arguments[1]]).main()
            return
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(write_through=True)  # type: ignore[union-attr]  # as with -u
        root = arguments[4]
        sys.path[:] = [root, *(entry for entry in sys.path if entry not in {"", str(ROOT)})]
        importlib.import_module(HOST).main(root)

    become(work, environment, Path(directory), (streams[0], streams[1], streams[2]))


if __name__ == "__main__":
    _Server(int(sys.argv[1]), int(sys.argv[2])).serve()
