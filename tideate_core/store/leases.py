"""Leases: ownership of runs by processes, with heartbeats and identity checks beyond the pid."""

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

HEARTBEAT: Final = 2.0
"""Seconds between two heartbeats of an owner."""

TAKEOVER_AFTER: Final = 10.0
"""Default seconds without a heartbeat after which a run of another machine may be taken over."""


@dataclass(frozen=True, slots=True)
class Owner:
    """One open store of one process."""

    id: str
    pid: int
    host: str
    process_started: str


def now_ms() -> int:
    """Return the time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def this_process() -> Owner:
    """Return a new owner for this process."""
    pid = os.getpid()
    return Owner(secrets.token_hex(16), pid, _host(), process_started(pid) or "")


def lease_of(
    row: tuple[str, int, str, str, int], *, takeover_after: float = TAKEOVER_AFTER, now: int | None = None
) -> Lease:
    """Return the lease in a row, with the current state of its owner.

    :param row: owner, pid, host, process_started, heartbeat_at.
    :param takeover_after: see `is_alive`.
    :param now: milliseconds since the epoch; None: the current time.
    """
    owner, pid, host, started, heartbeat = row
    alive = is_alive(pid, host, started, heartbeat, takeover_after=takeover_after, now=now)
    return Lease(owner, pid, host, started, heartbeat, alive)


def is_alive(
    pid: int, host: str, started: str, heartbeat: int, *, takeover_after: float, now: int | None = None
) -> bool:
    """Return whether an owner is alive, as far as this machine can tell.

    A process of this machine is alive if it exists and is the same one: clock changes and a sleeping machine
    make heartbeats old. A process of another machine is alive if its heartbeat is recent; a heartbeat in the
    future comes from a clock that was set back, and a living process would have written a new one since.

    :param takeover_after: seconds; negative: every owner counts as dead.
    """
    if takeover_after < 0:
        return False
    if _is_here(host, started):
        return process_started(pid) == started
    age = (now_ms() if now is None else now) - heartbeat
    return abs(age) <= takeover_after * 1000


def _is_here(host: str, started: str) -> bool:
    """Return whether a process belongs to this machine, which may have been renamed."""
    if host == _host():
        return True
    boot, _, since = started.rpartition(":")
    return (
        bool(since) and sys.platform == "linux" and (host.split()[1:], boot) == (_host().split()[1:], _boot())
    )


def process_started(pid: int) -> str | None:
    """Return an identity of the process with this pid, None if there is none.

    It includes the boot id: after a restart, pids and times since boot repeat.
    """
    if sys.platform != "linux":
        return _started_by_ps(pid)
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # after the name, which may contain spaces and parentheses: state is field 3, starttime field 22
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
    """Return this machine's identity; a container with its own pid namespace has another one."""
    name = os.uname().nodename
    try:
        return f"{name} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return name
