"""tideate commands in forked children, which need not import tideate again."""

from __future__ import annotations

import ctypes
import importlib
import os
import pkgutil
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.harness.forked import become, check_threads, import_all

MOST_OUTPUT: Final = 4 * 1024 * 1024
LEFT_WITHIN: Final = 2.0
"""Seconds for a command's own processes to end after it."""
_SUBREAPER: Final = 36

Talk = Sequence[bytes]
"""Lines for standard input; it is closed after as many lines of output."""


@dataclass(frozen=True, slots=True)
class Ended:
    """End of a command."""

    status: int | None
    """None if it was killed for taking too long."""
    seconds: float
    mib: int
    """Largest memory of it and of its waited-for children."""
    out: bytes
    err: bytes
    left: tuple[str, ...]
    """Commands of processes that survived it."""


def import_tideate() -> None:
    """Import all modules of tideate in advance."""
    import tideate_core

    for module in pkgutil.walk_packages(tideate_core.__path__, "tideate_core."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    importlib.import_module("tideate_core.cli.__main__")
    from tideate_core.mcp.servers import SERVERS

    assert SERVERS
    check_threads()


def note_modules(place: Path) -> None:
    """Record a child's imports when it ends."""
    place.write_text("\n".join(sorted(sys.modules)))


def import_noted(place: Path) -> None:
    """Import recorded modules in advance."""
    import_all(place.read_text().split("\n"))


def adopt_orphans() -> None:
    """Become the parent of orphaned processes, to detect them."""
    ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)


def run_forked(
    work: Callable[[], object],
    scratch: Path,
    environment: Mapping[str, str],
    directory: Path,
    *,
    within: float,
    talk: Talk | None = None,
    interrupt: float = 0,
) -> Ended:
    """Call a function in a child with its own environment and directory.

    :param within: seconds; then it is killed with its process group.
    :param talk: lines for its standard input; None for none.
    :param interrupt: seconds after which it gets Ctrl-C's signal; 0 for never.
    """
    outputs = [os.open(scratch / name, os.O_RDWR | os.O_CREAT | os.O_TRUNC) for name in ("out", "err")]
    to_child, from_child = (os.pipe(), os.pipe()) if talk is not None else (None, None)
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        stdin = to_child[0] if to_child else os.open(os.devnull, os.O_RDONLY)
        become(work, environment, directory, (stdin, from_child[1] if from_child else outputs[0], outputs[1]))
    said = b""
    if to_child and from_child and talk is not None:
        os.close(to_child[0])
        os.close(from_child[1])
        said = _talk(talk, to_child[1], from_child[0], started + within)
    if interrupt and not _has_ended(child, started + interrupt):
        os.kill(child, signal.SIGINT)
    status, mib = _wait(child, started + within)
    seconds = time.monotonic() - started
    left = _left()
    texts = []
    for descriptor in outputs:
        os.lseek(descriptor, 0, os.SEEK_SET)
        texts.append(os.read(descriptor, MOST_OUTPUT))
        os.close(descriptor)
    return Ended(status, seconds, mib, said or texts[0], texts[1], left)


def _talk(talk: Talk, to_child: int, from_child: int, end: float) -> bytes:
    """Send all lines, read an answer for each request, and close the input."""
    said = b""
    wanted = sum(b'"id"' in line for line in talk)
    with suppress(BrokenPipeError):
        os.write(to_child, b"".join(line + b"\n" for line in talk))
    while said.count(b'"id"') < wanted and (left := end - time.monotonic()) > 0:
        if not select.select([from_child], [], [], left)[0]:
            break
        got = os.read(from_child, 65536)
        if not got:
            break
        said += got
    os.close(to_child)
    while len(said) < MOST_OUTPUT and select.select([from_child], [], [], max(end - time.monotonic(), 0))[0]:
        got = os.read(from_child, 65536)
        if not got:
            break
        said += got
    os.close(from_child)
    return said


def _has_ended(child: int, end: float) -> bool:
    """Wait for a child until it ends or a time is reached."""
    descriptor = os.pidfd_open(child)
    try:
        return bool(select.select([descriptor], [], [], max(end - time.monotonic(), 0))[0])
    finally:
        os.close(descriptor)


def _wait(child: int, end: float) -> tuple[int | None, int]:
    ended = _has_ended(child, end)
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    return (os.waitstatus_to_exitcode(status) if ended else None), usage.ru_maxrss // 1024


def _left() -> tuple[str, ...]:
    """Wait for remaining processes, kill them and return their commands."""
    end = time.monotonic() + LEFT_WITHIN
    while _reap() and time.monotonic() < end:
        time.sleep(0.005)
    stayed = _children()
    told = tuple(_command(pid) for pid in stayed)
    while stayed:
        for pid in stayed:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        stayed = _children()
    return told


def _reap() -> bool:
    """Reap ended processes; return whether a child is left."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    return False


def _children() -> list[int]:
    tasks = Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split()
    return [int(pid) for pid in tasks]


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return str(pid)
