"""Runs of the `tideate` command without a terminal and without a start of Python each."""

from __future__ import annotations

import io
import os
import select
import selectors
import subprocess
import sys
import time
from typing import IO, TYPE_CHECKING, Final

from tests.harness.fork_server import ask_for_child, needs_interpreter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["MODULE", "run_command"]

MODULE: Final = "tideate_core.cli.main"
"""Its `main` is the command."""
NUMBER: Final = 16
"""Bytes of a child's number, which comes before its status."""


def run_command(
    arguments: tuple[str, ...], *, environment: Mapping[str, str], cwd: Path, stdin: str, timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run the command without a terminal to its end, like `subprocess.run`.

    :param timeout: seconds.
    :raises subprocess.TimeoutExpired: it took longer, and was killed.
    """
    if needs_interpreter(dict(environment)):
        command = [sys.executable, "-m", MODULE, *arguments]
        return subprocess.run(
            command, env=environment, cwd=cwd, input=stdin, capture_output=True, text=True, timeout=timeout
        )
    return _run(arguments, environment, cwd, stdin.encode(), timeout)


def _run(
    arguments: tuple[str, ...], environment: Mapping[str, str], cwd: Path, stdin: bytes, timeout: float
) -> subprocess.CompletedProcess[str]:
    (in_child, in_ours), *outputs = [os.pipe() for _ in range(3)]
    theirs = (in_child, outputs[0][1], outputs[1][1])
    ours = [os.fdopen(in_ours, "wb", 0), *(os.fdopen(read, "rb", 0) for read, _ in outputs)]
    with ours[0], ours[1], ours[2]:
        try:
            child = ask_for_child(["-m", MODULE, *arguments], dict(environment), cwd, theirs)
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        with child, os.fdopen(os.dup(child.fileno()), "rb", 0) as told:
            out, err, ended = _communicate([*ours, told], stdin, arguments, timeout)
    status = ended[NUMBER:]
    assert status, "the process that forks commands has ended"
    return subprocess.CompletedProcess(arguments, int(status), _text(out), _text(err))


def _text(said: bytes) -> str:
    return io.TextIOWrapper(io.BytesIO(said), encoding="utf-8").read()


def _communicate(
    streams: Sequence[IO[bytes]], stdin: bytes, arguments: tuple[str, ...], timeout: float
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
                raise subprocess.TimeoutExpired(arguments, timeout, bytes(got[0]), bytes(got[1]))
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
    """Write a part of the data; return the rest, empty if there is no reader."""
    try:
        return data[os.write(descriptor, data[: select.PIPE_BUF]) :]
    except BrokenPipeError:
        return b""
