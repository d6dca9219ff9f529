"""Measurements of one engine, each in a process of its own: time, bytes written, syncs."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY: Final = Path(__file__).parents[1]
DISK: Final = REPOSITORY / ".cache"
"""On the same disk as a project; `/tmp` may be memory."""
MEMORY: Final = Path("/dev/shm")
"""A tmpfs: syncing costs nothing, so what is left is software."""
LIMIT: Final = 600.0
"""Seconds that one process may take."""
SYNCS: Final = "fsync,fdatasync,sync_file_range,msync"


@dataclass(frozen=True, slots=True)
class Run:
    """Figures of one process."""

    spawned: float
    """By the machine's monotonic clock, as `at`."""
    seconds: float
    worked: float
    """Seconds of the processor, of all its threads."""
    results: int
    commits: int
    written: int
    """Bytes that it handed to the system to write, its database closed."""
    peak: int
    """Bytes of memory."""
    at: list[float]
    """When each step ran."""
    stored: int
    """Bytes of the files that it left."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """How a run went on."""

    seconds: float
    """From the start of the process to its first step."""
    again: int
    """Steps that had ended before the kill and ran again."""


@contextmanager
def place_in(parent: Path) -> Iterator[Path]:
    """Give an empty directory."""
    parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tideate-bench-", dir=parent) as name:
        yield Path(name)


def environment() -> dict[str, str]:
    """Return ours for other processes; with this variable our modules would be compiled anew in each."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


def run(
    engine: str,
    shape: str,
    steps: int,
    *,
    parent: Path = DISK,
    commits: bool = False,
    tries: int = 1,
    **rest: Any,
) -> Run:
    """Measure a task.

    :param rest: of `Task`.
    :param tries: how often it is done; the fastest counts.
    :raises RuntimeError: it failed, or has not all the results.
    """
    done = []
    for _ in range(tries):
        with place_in(parent) as place:
            done.append(_in(place, engine, shape, steps, more=("--commits",) if commits else (), **rest))
    return min(done, key=lambda each: each.seconds)


def cold(engine: str) -> float:
    """Return seconds from the start of a process to its first step."""
    done = run(engine, "chain", 10)
    return done.at[0] - done.spawned


def resumed(engine: str) -> Resumed:
    """Resume a chain after its process was killed in the middle."""
    steps, kill_at = 40, 20
    with place_in(DISK) as place:
        command = _command(place, engine, "chain", steps, kill_at=kill_at)
        killed = subprocess.run(
            command, cwd=REPOSITORY, env=environment(), capture_output=True, check=False, timeout=LIMIT
        )
        if killed.returncode != -signal.SIGKILL:
            raise RuntimeError(f"{engine} was not killed: {killed.stderr.decode()[-2000:]}")
        done = _in(place, engine, "chain", steps, resume=True)
    return Resumed(done.at[0] - done.spawned, len(done.at) - (steps - kill_at))


def synced(engine: str, short: int = 50, long: int = 150) -> float:
    """Return the syncs of a chained step, counted by strace on chains of two lengths.

    :raises RuntimeError: strace is missing or may not trace.
    """
    strace = shutil.which("strace")
    if strace is None:
        raise RuntimeError("strace is missing, with which syncs are counted; install it (apt install strace)")
    counts = []
    for steps in (short, long):
        with place_in(DISK) as place:
            report = place / "strace.txt"
            before = (strace, "-f", "-c", "-e", f"trace={SYNCS}", "-o", str(report))
            _in(place, engine, "chain", steps, before=before)
            counts.append(_total(report.read_text()))
    return (counts[1] - counts[0]) / (long - short)


def _total(report: str) -> int:
    """Return the calls in a table of `strace -c`."""
    rows = [line.split() for line in report.splitlines() if re.search(r"sync\S*$", line)]
    return sum(int(row[3]) for row in rows)


def _command(place: Path, engine: str, shape: str, steps: int, **rest: Any) -> list[str]:
    task = {"shape": shape, "steps": steps, "place": str(place), **rest}
    return [sys.executable, "-m", "benchmarks.engine_work", engine, json.dumps(task)]


def _in(
    place: Path,
    engine: str,
    shape: str,
    steps: int,
    *,
    before: tuple[str, ...] = (),
    more: tuple[str, ...] = (),
    **rest: Any,
) -> Run:
    command = [*before, *_command(place, engine, shape, steps, **rest), *more]
    spawned = time.monotonic()
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment(), capture_output=True, text=True, check=False, timeout=LIMIT
    )
    if done.returncode != 0:
        raise RuntimeError(f"{engine}, {shape} of {steps}: {(done.stderr or done.stdout)[-2000:]}")
    stored = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    made = Run(spawned, stored=stored, **json.loads(done.stdout.splitlines()[-1]))
    wanted = steps if shape == "chain" or "sqlite3" in engine else steps + 2
    if made.results != wanted:
        raise RuntimeError(f"{engine}, {shape} of {steps}: {made.results} results instead of {wanted}")
    return made
