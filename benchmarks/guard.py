"""Guarded copies beside `git worktree add`, `cp -a` and `cp --reflink`: time, disk use, difference, landing.

All take their turns on the same tree, with `node_modules` of 1 GB (sparse files). Nothing is removed before
the end: file systems are slow at creating files after many were deleted. ``--short`` leaves out the largest
tree. The exit code is 1 only if something could not be measured: figures of a busy machine are no verdict.
"""

from __future__ import annotations

import asyncio
import os
import pty
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.table import Table

from benchmarks.figures import Figure, console, number, ratios, spread, targets_table
from benchmarks.snapshots_trees import synthetic
from tideate_core.process import run_program
from tideate_core.snapshots import GuardedCopy
from tideate_core.util.garbage import collect_garbage_rarely

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZES: Final = (1_000, 10_000, 100_000)
MEASURED: Final = 10_000
"""Files of the tree with targets."""
MEAN: Final = 5_300
"""Bytes of a file."""
TURNS: Final = 5
DEPENDENCIES: Final = 4_000
"""Files in `node_modules`, 1 GB together."""
CHANGED: Final = 20
EDITED: Final = 50
"""Files of the landing, each with 10 hunks."""
LINES: Final = 200
EVERY: Final = 20
"""Distance of two edits."""
EDIT: Final = f"""
import pathlib
for path in pathlib.Path("edited").iterdir():
    lines = path.read_text().splitlines(keepends=True)
    lines[::{EVERY}] = [f"changed {{line}}" for line in lines[::{EVERY}]]
    path.write_text("".join(lines))
print("ready", flush=True)
"""
"""Program that makes the hunks."""


@dataclass(slots=True)
class Row:
    """Seconds until ready, and bytes on disk."""

    ready: list[float] = field(default_factory=list)
    disk: list[float] = field(default_factory=list)
    missing: str = ""


@dataclass(slots=True)
class Measured:
    """Figures of one tree, in seconds and bytes."""

    rows: dict[str, Row] = field(default_factory=dict)
    first: list[float] = field(default_factory=list)
    """First program in a warm copy, from its start to its end."""
    difference: list[float] = field(default_factory=list)
    update: list[float] = field(default_factory=list)
    later: list[float] = field(default_factory=list)
    """First output of a guarded program, after that of the same program alone."""
    landing: list[float] = field(default_factory=list)
    """500 hunks, from the last output of the program to the exit of `tideate guard --yes`."""
    merge: list[float] = field(default_factory=list)
    """The same hunks: commit in a worktree of git, and merge."""


def make_tree(root: Path, files: int) -> None:
    """Create a repository of synthetic files, with dependencies of 1 GiB."""
    synthetic(root, files, files * MEAN)
    (root / "edited").mkdir()
    for count in range(EDITED):
        text = "".join(f"line {line} of {count}\n" for line in range(LINES))
        (root / f"edited/{count}.txt").write_text(text)
    for command in (["add", "--all"], ["-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "all"]):
        # a background gc would delete loose objects while `cp` reads them
        subprocess.run(["git", "-c", "gc.auto=0", *command], cwd=root, check=True)
    for count in range(DEPENDENCIES):
        path = root / f"node_modules/package{count // 20}/file{count}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.truncate(path, (1 << 30) // DEPENDENCIES)
    os.sync()


def disk_use(*places: Path) -> float:
    """Return the bytes that directories take; hard links count once."""
    seen = {
        (status.st_dev, status.st_ino): status.st_blocks * 512.0
        for place in places
        for path in _below(place)
        for status in (os.lstat(path),)
    }
    return sum(seen.values())


def _below(place: Path) -> Iterator[str]:
    for directory, folders, names in os.walk(place):
        yield directory
        yield from (os.path.join(directory, name) for name in (*folders, *names))  # noqa: PTH118 there are many


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that work takes."""
    os.sync()  # so that none waits for what another left to be written
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


async def ours(root: Path, place: Path, found: Measured) -> None:
    """Measure a cold copy and a warm one of the same project."""
    cold, warm = found.rows.setdefault("cold", Row()), found.rows.setdefault("warm", Row())
    for row in (cold, warm):
        os.sync()
        before = disk_use(place)
        begun = time.perf_counter()
        copy = await GuardedCopy.prepare(root, private=place)
        await copy.open()
        row.ready.append(time.perf_counter() - begun)
        row.disk.append(disk_use(place) - before)
        begun = time.perf_counter()
        await run_program(copy.command(["true"]), cwd=copy.root, environment=dict(os.environ))
        if row is warm:
            found.first.append(time.perf_counter() - begun)
            await change_files(copy)
            begun = time.perf_counter()
            difference = await copy.difference()
            found.difference.append(time.perf_counter() - begun)
            if len(difference.files) != CHANGED:
                raise RuntimeError(f"{len(difference.files)} files differ instead of {CHANGED}")
            begun = time.perf_counter()
            await copy.update(landed=difference)
            found.update.append(time.perf_counter() - begun)
        await copy.close()


async def change_files(copy: GuardedCopy) -> None:
    """Change files as a program in the copy does."""
    script = f'for f in $(git ls-files | head -n {CHANGED}); do echo changed >> "$f"; done'
    done = await run_program(
        copy.command(["sh", "-c", script]),
        cwd=copy.root,
        environment=dict(copy.environment(dict(os.environ))),
    )
    if not done.ok:
        raise RuntimeError(done.printed)


def peers(root: Path, place: Path, found: Measured) -> None:
    """Measure the ways of others to copy the same project."""
    commands = {
        "git worktree add": ["git", "-C", str(root), "worktree", "add", "--quiet", "--detach"],
        "cp -a": ["cp", "-a", str(root)],
        "cp -a --reflink": ["cp", "-a", "--reflink=always", str(root)],
    }
    for name, command in commands.items():
        row = found.rows.setdefault(name, Row())
        if row.missing:
            continue
        target = place / name.replace(" ", "")
        done: list[subprocess.CompletedProcess[bytes]] = []

        def run(whole: tuple[str, ...] = (*command, str(target))) -> None:
            done.append(subprocess.run(whole, capture_output=True, check=False))  # noqa: B023

        taken = timed(run)
        if done[0].returncode:
            row.missing = done[0].stderr.decode().partition("\n")[0][-120:]  # later lines repeat it
            continue
        row.ready.append(taken)
        row.disk.append(disk_use(target))


def guarded(root: Path, place: Path, found: Measured) -> None:
    """Measure a guarded program in a terminal, and a landing beside a merge of git."""
    environment = {**os.environ, "HOME": str(place), "XDG_STATE_HOME": str(place / "state")}
    guard = [sys.executable, "-m", "tideate_core.cli", "guard", "--yes", "--"]
    ready = ["sh", "-c", "echo ready"]
    # makes the mirror
    subprocess.run([*guard, "true"], cwd=root, env=environment, check=True, capture_output=True)
    alone, _ = until_output(ready, root, environment)
    first, _ = until_output([*guard, *ready], root, environment)
    found.later.append(first - alone)
    edit = [sys.executable, "-c", EDIT]
    _, landed = until_output([*guard, *edit], root, environment)
    found.landing.append(landed)
    git = ["git", "-c", "user.name=a", "-c", "user.email=b", "-c", "gc.auto=0"]
    subprocess.run([*git, "checkout", "--quiet", "--", "edited"], cwd=root, check=True)
    work = place / "worktree"
    subprocess.run([*git, "worktree", "add", "--quiet", "--detach", str(work)], cwd=root, check=True)
    subprocess.run(edit, cwd=work, check=True, stdout=subprocess.DEVNULL)
    begun = time.perf_counter()
    subprocess.run([*git, "commit", "--quiet", "--all", "--message", "edit"], cwd=work, check=True)
    asked = subprocess.run([*git, "rev-parse", "HEAD"], cwd=work, check=True, capture_output=True, text=True)
    merge = ["merge", "--quiet", "--no-commit", "--no-ff", asked.stdout.strip()]
    subprocess.run([*git, *merge], cwd=root, check=True, stdout=subprocess.DEVNULL)
    found.merge.append(time.perf_counter() - begun)
    subprocess.run([*git, "reset", "--quiet", "--merge"], cwd=root, check=True)


def until_output(command: list[str], root: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Run a program in a terminal; return the seconds to its first output, and from there to its exit.

    :raises RuntimeError: it failed, or printed something else.
    """
    ours, theirs = pty.openpty()
    begun = time.perf_counter()
    with subprocess.Popen(
        command, cwd=root, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as program:
        os.close(theirs)
        output = os.read(ours, 4096)
        first = time.perf_counter()
        with suppress(OSError):  # the terminal is closed
            while os.read(ours, 65536):
                pass
        status = program.wait(60)
        ended = time.perf_counter()
    os.close(ours)
    if status or b"ready" not in output:
        raise RuntimeError(f"{command}: status {status}, output {output!r}")
    return first - begun, ended - first


def measured(home: Path, files: int, turns: int) -> Measured:
    """Measure all ways by turns on one project."""
    root, found = home / f"tree{files}", Measured()
    make_tree(root, files)
    for turn in range(turns):
        place = home / f"turn{files}-{turn}"
        place.mkdir()
        asyncio.run(ours(root, place / "guard", found))
        peers(root, place, found)
        guarded(root, place, found)
    return found


def table(files: int, found: Measured) -> Table:
    """Return the times and disk use of all ways."""
    made = Table(f"{files:,} files", "ready, ms", "spread", "disk, MB", title="guarded copies")
    for name, row in found.rows.items():
        if row.missing:
            made.add_row(name, row.missing, "", "")
            continue
        ready = Figure(name, [1000 * one for one in row.ready])
        disk = Figure(name, [one / 1e6 for one in row.disk])
        made.add_row(name, number(ready.value), spread(ready.samples), number(disk.value))
    return made


def targets(found: Measured) -> list[Figure]:
    """Return the figures that have a target."""
    rows = found.rows
    ratio = ratios(rows["cold"].ready, rows["git worktree add"].ready)
    return [
        Figure("warm copy ready", [1000 * one for one in rows["warm"].ready], "ms", 150),
        Figure("first program in it", [1000 * one for one in found.first], "ms", 100),
        Figure(f"difference of {CHANGED} files", [1000 * one for one in found.difference], "ms", 50),
        Figure("update after the landing", [1000 * one for one in found.update], "ms"),
        Figure("cold copy, of the time of git worktree add", ratio, "", 1),
        Figure("first output of a guarded program, later by", [1000 * one for one in found.later], "ms", 100),
        Figure("landing of 500 hunks", [1000 * one for one in found.landing], "ms"),
        Figure("landing, of the time of git commit and merge", ratios(found.landing, found.merge)),
    ]


def main() -> int:
    """Measure and print; return 0."""
    collect_garbage_rarely()
    short = "--short" in sys.argv
    out = console()
    with tempfile.TemporaryDirectory(prefix="tideate-guard-") as folder:
        for files in SIZES[: 2 if short else 3]:
            found = measured(Path(folder), files, 2 if short or files > MEASURED else TURNS)
            out.print(table(files, found))
            if files == MEASURED:
                out.print(targets_table(targets(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
