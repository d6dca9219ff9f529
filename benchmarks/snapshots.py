"""Snapshots beside shadow git, loose and packed, and restic where it is installed; then their targets.

All keep the same files, which is checked, in stores of their own, and take their turns in one run.
``--short`` takes smaller trees and fewer samples. The exit code is 1 only if something could not be
measured: figures of a busy machine are no verdict.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.table import Table

from benchmarks.engine_runs import DISK
from benchmarks.figures import Figure, console, number, ratios, spread, targets_table
from benchmarks.snapshots_journal import journals
from benchmarks.snapshots_peers import PEERS, Git, Ours, PackedGit, Restic, versions
from benchmarks.snapshots_trees import change, copied, settle, synthetic
from tideate_core.util.garbage import collect_garbage_rarely

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.snapshots_peers import Peer

OURS: Final = "tideate"


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    files: int
    bytes: int
    turns: int
    warm: int
    """Warm snapshots, and restores, of each turn."""


SIZES: Final = {False: Size(10_000, 100_000_000, 3, 5), True: Size(2_000, 20_000_000, 1, 3)}


@dataclass(slots=True)
class Row:
    """Figures of one method, in seconds and bytes."""

    cold: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    changed: list[float] = field(default_factory=list)
    """Snapshots after five files were changed."""
    restored: list[float] = field(default_factory=list)
    disk: list[float] = field(default_factory=list)
    worked: list[float] = field(default_factory=list)
    """Of ours: the processor time of the warm ones."""
    packed: list[float] = field(default_factory=list)
    """Of git: `git gc`, before `disk` and all that comes after the cold one."""
    started: list[float] = field(default_factory=list)
    """Of restic: a command that does nothing."""
    missing: str = ""


def measured(root: Path, size: Size) -> dict[str, Row]:
    """Measure all ways on one tree, one after the other, over and over.

    :raises RuntimeError: two of them kept different files, or one did not restore what was there.
    """
    rows = {peer.name: Row(missing=peer.missing()) for peer in PEERS}
    for turn in range(size.turns):
        kept: set[str] = set()
        for kind in PEERS:
            row = rows[kind.name]
            if not row.missing:
                os.sync()  # so that none waits for what another left to be written
                place = Path(tempfile.mkdtemp(dir=root.parent))
                files = _turn(kind(root, place), root, row, size, turn)
                if different := files ^ (kept or files):
                    raise RuntimeError(f"{kind.name} and {OURS} differ in {sorted(different)[:5]}")
                kept = files
    return rows


def _turn(peer: Peer, root: Path, row: Row, size: Size, turn: int) -> set[str]:
    """Measure one way once; returns the files that it kept."""
    try:
        row.cold.append(peer.snapshot())
        files = peer.files()
        if isinstance(peer, PackedGit):
            row.packed.append(peer.pack())
        if isinstance(peer, Restic):
            row.started.append(peer.start())
        row.disk.append(peer.disk())
        settle(root)
        peer.snapshot()
        row.warm += [peer.snapshot() for _ in range(size.warm)]
        if isinstance(peer, Ours):
            row.worked += peer.worked[-size.warm :]
        for number in range(size.warm):
            changed = change(root, f"{turn}.{number}")
            row.restored.append(peer.restore(list(changed)))
            wrong = [path for path, data in changed.items() if (root / path).read_bytes() != data]
            if wrong:
                raise RuntimeError(f"{peer.name} did not restore {wrong[0]}")
        changed = change(root, f"{turn}.last")
        row.changed.append(peer.snapshot())
        for path, data in changed.items():
            (root / path).write_bytes(data)
        return files
    finally:
        peer.close()


def journalled(count: int) -> list[float]:
    """Return milliseconds that the journal of an apply of five files takes, until it is on disk."""
    with tempfile.TemporaryDirectory(dir=DISK) as place:
        return journals(Path(place), count)


def targets(trees: dict[str, dict[str, Row]], journal: list[float]) -> Iterator[Figure]:
    """Compare tideate with its targets.

    :param journal: milliseconds that the journal of five files took.
    """
    for name, rows in trees.items():
        mine = rows[OURS]
        yield Figure(f"{name}: a warm snapshot", [value * 1000 for value in mine.warm], "ms", 100)
        yield Figure(f"{name}: its processor time", [value * 1000 for value in mine.worked], "ms")
        yield Figure(f"{name}: restore of 5 changed files", [v * 1000 for v in mine.restored], "ms", 100)
        yield from _compared(name, rows)
    yield Figure("the journal of 5 files", journal, "ms", 5)


def _compared(tree: str, rows: dict[str, Row]) -> Iterator[Figure]:
    """Divide our figures by the others'."""
    mine = rows[OURS]
    # both make loose objects at first; the system may hinder one of them, see `main`
    git = [min(both) for both in zip(rows[Git.name].cold, rows[PackedGit.name].cold, strict=True)]
    yield Figure(f"{tree}: a cold one / shadow git, the faster of both", ratios(mine.cold, git), "", 1)
    for kind in PEERS[1:]:
        other, target = rows[kind.name], 1 if kind is Git else None
        if other.missing:
            continue
        yield Figure(f"{tree}: a warm one / {kind.name}", ratios(mine.warm, other.warm))
        if other.started:
            start = statistics.median(other.started)
            without = [value - start for value in other.warm]
            yield Figure(
                f"{tree}: a warm one / {kind.name}, its start not counted", ratios(mine.warm, without)
            )
        if kind is Restic:
            yield Figure(f"{tree}: a cold one / {kind.name}", ratios(mine.cold, other.cold))
        yield Figure(f"{tree}: disk / {kind.name}", ratios(mine.disk, other.disk), "", target)


# -- the tables ---------------------------------------------------------------------------------------


def _cell(samples: list[float], factor: float) -> str:
    """Return the median, with the spread; nothing where nothing was measured."""
    if not samples:
        return ""
    values = [sample * factor for sample in samples]
    between = f"\n[dim]{spread(values)}[/]" if values[1:] else ""
    return number(statistics.median(values)) + between


def peers_table(name: str, rows: dict[str, Row]) -> Table:
    """Return a row for each way: medians."""
    table = Table("", title=f"Snapshots of {name} (medians; {versions()})")
    columns = (
        "cold",
        "git gc",
        "warm",
        "warm, 5 files changed",
        "restore of 5 files",
        "disk, MB",
        "bare start",
    )
    for column in columns:
        table.add_column(column if "MB" in column else f"{column}, ms", justify="right")
    for way, row in rows.items():
        if row.missing:
            continue
        times = (row.cold, row.packed, row.warm, row.changed, row.restored)
        cells = [
            *(_cell(samples, 1000) for samples in times),
            _cell(row.disk, 1e-6),
            _cell(row.started, 1000),
        ]
        table.add_row(f"[bold]{way}[/]" if way == OURS else way, *cells)
    return table


def main(arguments: list[str]) -> int:
    """Measure and print."""
    collect_garbage_rarely()  # as each process of tideate does
    size, out = SIZES["--short" in arguments], console()
    trees: dict[str, dict[str, Row]] = {}
    try:
        DISK.mkdir(exist_ok=True)
        # first, as long as the disk has not to write the trees that are made here
        journal = journalled(30)
        # the stores stay until the end: in the minutes after thousands of files were deleted, as `git gc`
        # does too, ext4 takes up to four times as long to make others, of which git has the most
        with tempfile.TemporaryDirectory(dir=DISK) as place:
            made = Path(place) / "synthetic"
            name = synthetic(made, size.files, size.bytes)
            with out.status(f"measuring {name}"):
                trees[name] = measured(made, size)
            real = Path(place) / "real"
            name = copied(real, size.files)
            with out.status(f"measuring {name}"):
                trees[name] = measured(real, size)
        figures = list(targets(trees, journal))
    except (RuntimeError, OSError) as error:
        out.print(f"[bold red]not measured:[/] {error}", highlight=False)
        return 1
    for name, rows in trees.items():
        out.print(peers_table(name, rows))
        for way, row in rows.items():
            if row.missing:
                out.print(f"[yellow]{way} is not measured:[/] {row.missing}", highlight=False)
    out.print(targets_table(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
