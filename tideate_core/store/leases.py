"""Leases: the process that owns a run, identified beyond its id, and signs that it is alive."""

from __future__ import annotations

import functools
import os
import secrets
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tideate_core.store.records import Lease

__all__ = ["HEARTBEAT", "TAKEOVER_AFTER", "Owner", "is_alive", "lease_of", "now_ms", "this_process"]

HEARTBEAT: Final = 2.0
"""Seconds between two signs of life of an owner."""

TAKEOVER_AFTER: Final = 10.0
"""Seconds without a heartbeat after which another machine's run may be taken over, unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Owner:
    """One open store of one process."""

    id: str
    pid: int
    host: str
    process_started: str


def now_ms() -> int:
    """Return milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def this_process() -> Owner:
    """Return a new owner in this process."""
    pid = os.getpid()
    return Owner(secrets.token_hex(16), pid, _host(), process_started(pid) or "")


def lease_of(
    row: tuple[str, int, str, str, int], *, takeover_after: float = TAKEOVER_AFTER, now: int | None = None
) -> Lease:
    """Return a lease as it stands.

    :param row: owner, pid, host, process_started, heartbeat_at.
    :param takeover_after: as of `is_alive`.
    :param now: milliseconds since the epoch, None for the clock's.
    """
    owner, pid, host, started, heartbeat = row
    alive = is_alive(pid, host, started, heartbeat, takeover_after=takeover_after, now=now)
    return Lease(owner, pid, host, started, heartbeat, alive)


def is_alive(
    pid: int, host: str, started: str, heartbeat: int, *, takeover_after: float, now: int | None = None
) -> bool:
    """Tell whether an owner lives, as far as can be told from here.

    A process of this machine lives if it is there and the same one: a clock that was set, or a machine that
    slept, make heartbeats old. Another machine's process lives if its heartbeat is young; one from the future
    is that of a clock that jumped back, and a living process would have written a new one since.

    :param takeover_after: seconds; a negative number gives up every owner.
    """
    if takeover_after < 0:
        return False
    if _is_here(host, started):
        return process_started(pid) == started
    age = (now_ms() if now is None else now) - heartbeat
    return abs(age) <= takeover_after * 1000


def _is_here(host: str, started: str) -> bool:
    """Tell whether a process is one of this machine, which may have got another name since."""
    if host == _host():
        return True
    boot, _, since = started.rpartition(":")
    return (
        bool(since) and sys.platform == "linux" and (host.split()[1:], boot) == (_host().split()[1:], _boot())
    )


def process_started(pid: int) -> str | None:
    """Return what tells a process from others with its id, None if there is none.

    With the boot in it: after a restart of the machine, ids and times since boot come again.
    """
    if sys.platform != "linux":
        return _started_by_ps(pid)
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # after the name, which may have spaces and parentheses: state is field 3, starttime field 22
    fields = stat[stat.rindex(b")") + 2 :].split()
    return None if fields[0] in (b"Z", b"X") else f"{_boot()}:{fields[19].decode()}"


def _started_by_ps(pid: int) -> str | None:
    command = ["ps", "-o", "lstart=", "-p", str(pid)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 a fixed program
    return " ".join(shown.stdout.split()) or None


@functools.cache
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@functools.cache
def _host() -> str:
    """Return what machine this is; a container with process ids of its own is another one."""
    name = os.uname().nodename
    try:
        return f"{name} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return name
