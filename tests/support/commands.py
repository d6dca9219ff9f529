"""Runs of the `tideate` command without a start of Python each: children of a process that has imported it.

Most of a short command's time goes into imports. One process for each process of the tests imports what its
children had to import, and forks a child for each command, with its own environment, directory and streams.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import io
import json
import os
import select
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from tests.support.forked import become, import_all
from tests.support.processes import MEASURING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["MODULE", "run_command"]

MODULE: Final = "tideate_core.cli.main"
"""Its `main` is the command."""
ROOT: Final = Path(__file__).resolve().parents[2]
SIZE: Final = struct.Struct("!I")
KEPT: Final = ("PATH", "LANG", "TERM")
AT_START: Final = ("PYTHON", "LD_", "COVERAGE_")
"""Beginnings of variables that count when the interpreter starts."""


def run_command(
    arguments: tuple[str, ...], *, environment: Mapping[str, str], cwd: Path, stdin: str, timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run the command without a terminal to its end, like `subprocess.run`.

    :param timeout: seconds.
    :raises subprocess.TimeoutExpired: it took longer, and was killed.
    """
    usual = {"PYTHONPATH": str(ROOT)}
    at_start = {name: value for name, value in environment.items() if name.startswith(AT_START)}
    if at_start != usual or MEASURING in os.environ:
        command = [sys.executable, "-m", MODULE, *arguments]
        return subprocess.run(
            command, env=environment, cwd=cwd, input=stdin, capture_output=True, text=True, timeout=timeout
        )
    request = {"arguments": arguments, "environment": dict(environment), "cwd": str(cwd)}
    return _forker().run(request, stdin.encode(), timeout)


@functools.cache
def _forker() -> _Forker:
    return _Forker()


class _Forker:
    """The process whose children are commands, as the tests have it."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        environment = {name: os.environ[name] for name in KEPT if name in os.environ} | {
            "LANG": "C.UTF-8",
            "HOME": "/nonexistent",
            "PYTHONPATH": str(ROOT),
        }
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.commands", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        atexit.register(self.close)

    def run(self, request: dict[str, Any], stdin: bytes, timeout: float) -> subprocess.CompletedProcess[str]:
        pipes = [os.pipe() for _ in range(4)]
        (in_child, in_ours), *outputs = pipes
        theirs = [in_child, *(write for _, write in outputs)]
        ours = [os.fdopen(in_ours, "wb", 0), *(os.fdopen(read, "rb", 0) for read, _ in outputs)]
        try:
            text = json.dumps(request).encode()
            socket.send_fds(self._socket, [SIZE.pack(len(text))], theirs)
            self._socket.sendall(text)
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        with ours[0], ours[1], ours[2], ours[3]:
            out, err, told = _communicate(ours, stdin, request, timeout)
        lines = told.split()
        assert len(lines) == 2, "the process that forks commands has ended"
        return subprocess.CompletedProcess(request["arguments"], int(lines[1]), _text(out), _text(err))

    def close(self) -> None:
        self._socket.close()
        self._process.wait(60)


def _text(said: bytes) -> str:
    return io.TextIOWrapper(io.BytesIO(said), encoding="utf-8").read()


def _communicate(
    streams: Sequence[IO[bytes]], stdin: bytes, request: dict[str, Any], timeout: float
) -> list[bytes]:
    """Write the input, and read all outputs to their ends; the last one tells the child's pid and status."""
    end = time.monotonic() + timeout
    got = [bytearray() for _ in streams[1:]]
    with selectors.DefaultSelector() as selector:
        selector.register(streams[0], selectors.EVENT_WRITE)
        for stream, said in zip(streams[1:], got, strict=True):
            selector.register(stream, selectors.EVENT_READ, said)
        while selector.get_map():
            ready = selector.select(max(end - time.monotonic(), 0))
            if not ready and time.monotonic() > end:
                _kill(got[-1])
                raise subprocess.TimeoutExpired(request["arguments"], timeout, bytes(got[0]), bytes(got[1]))
            for key, _ in ready:
                if key.data is None:
                    stdin = _write(key.fd, stdin)
                    ended = not stdin
                else:
                    more = os.read(key.fd, 65536)
                    key.data.extend(more)
                    ended = not more
                if ended:
                    selector.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]
    return [bytes(said) for said in got]


def _write(descriptor: int, data: bytes) -> bytes:
    """Write a part of the data; returns the rest, nothing where nobody reads it."""
    try:
        return data[os.write(descriptor, data[: select.PIPE_BUF]) :]
    except BrokenPipeError:
        return b""


def _kill(told: bytearray) -> None:
    if told:
        with suppress(ProcessLookupError):
            os.killpg(int(told.split()[0]), signal.SIGKILL)


# in the process that forks


class _Server:
    """Forks a child for each request and tells how it ended."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._ended, woken = os.pipe()
        os.set_blocking(woken, False)
        signal.set_wakeup_fd(woken)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._running: dict[int, tuple[int, IO[str]]] = {}

    def serve(self) -> None:
        """Answer until the tests have ended."""
        import_all([MODULE])
        while True:
            ready = select.select([self._socket.fileno(), self._ended], [], [])[0]
            if self._ended in ready:
                os.read(self._ended, 4096)
                self._reap()
            if self._socket.fileno() in ready:
                head, descriptors, _, _ = socket.recv_fds(self._socket, SIZE.size, 4)
                if not head:
                    return
                self._fork(json.loads(self._read(*SIZE.unpack(head))), descriptors)

    def _read(self, size: int) -> bytes:
        text = b""
        while len(text) < size:
            text += self._socket.recv(size - len(text))
        return text

    def _fork(self, request: dict[str, Any], descriptors: list[int]) -> None:
        *streams, status = descriptors
        noted = tempfile.TemporaryFile("w+")  # noqa: SIM115 closed when the child has ended
        child = os.fork()
        if child == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            notes = os.dup2(noted.fileno(), 300)

            def work() -> None:
                sys.argv = ["tideate", *request["arguments"]]
                before = set(sys.modules)
                try:
                    importlib.import_module(MODULE).main()
                finally:
                    # in their order: `_asyncio` before `asyncio` would be another module
                    os.write(notes, "\n".join(name for name in sys.modules if name not in before).encode())

            become(work, request["environment"], Path(request["cwd"]), (streams[0], streams[1], streams[2]))
        for descriptor in streams:
            os.close(descriptor)
        os.write(status, f"{child} ".encode())
        self._running[child] = status, noted

    def _reap(self) -> None:
        while self._running:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                return
            descriptor, noted = self._running.pop(child)
            with noted, suppress(BrokenPipeError):
                os.write(descriptor, str(os.waitstatus_to_exitcode(status)).encode())
                os.close(descriptor)
                noted.seek(0)
                import_all(noted.read().splitlines())


if __name__ == "__main__":
    _Server(int(sys.argv[1])).serve()
