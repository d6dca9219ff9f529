"""Snapshots beside shadow git and restic, in one go and by turns, then against their targets.

``--short`` takes smaller trees and fewer samples. The exit code is 1 only if something could not be
measured: figures of a busy machine are no verdict.
"""

from __future__ import annotations

import shutil
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
from benchmarks.snapshots_peers import PEERS, Git, Ours, Restic
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
    """What was measured of one way, in seconds and bytes."""

    cold: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    changed: list[float] = field(default_factory=list)
    """Snapshots after five files were changed."""
    restored: list[float] = field(default_factory=list)
    disk: list[float] = field(default_factory=list)
    worked: list[float] = field(default_factory=list)
    """Of ours: the processor time of the warm ones."""
    missing: str = ""


def measured(root: Path, size: Size) -> dict[str, Row]:
    """Measure all ways on one tree, one after the other, over and over."""
    rows = {peer.name: Row(missing=peer.missing()) for peer in PEERS}
    for turn in range(size.turns):
        for kind in PEERS:
            row = rows[kind.name]
            if not row.missing:
                with tempfile.TemporaryDirectory(dir=root.parent) as place:
                    _turn(kind(root, Path(place)), root, row, size, turn)
    return rows


def _turn(peer: Peer, root: Path, row: Row, size: Size, turn: int) -> None:
    try:
        row.cold.append(peer.snapshot())
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
    finally:
        peer.close()


def journalled(count: int) -> list[float]:
    """Return milliseconds that the journal of an apply of five files takes, until it is on disk."""
    with tempfile.TemporaryDirectory(dir=DISK) as place:
        return journals(Path(place), count)


def targets(trees: dict[str, dict[str, Row]], journal: list[float]) -> Iterator[Figure]:
    """Compare tideate with what it is to reach.

    :param journal: milliseconds that the journal of five files took.
    """
    for name, rows in trees.items():
        mine, git = rows[OURS], rows[Git.name]
        yield Figure(f"{name}: a warm snapshot", [value * 1000 for value in mine.warm], "ms", 100)
        yield Figure(f"{name}: its processor time", [value * 1000 for value in mine.worked], "ms")
        yield Figure(f"{name}: a cold one / shadow git", ratios(mine.cold, git.cold), "", 1)
        yield Figure(f"{name}: restore of 5 changed files", [v * 1000 for v in mine.restored], "ms", 100)
        yield Figure(f"{name}: disk / shadow git", ratios(mine.disk, git.disk), "", 1)
        yield Figure(f"{name}: a warm snapshot / shadow git", ratios(mine.warm, git.warm), "")
        restic = rows[Restic.name]
        if not restic.missing:
            yield Figure(f"{name}: a cold one / restic", ratios(mine.cold, restic.cold), "")
            yield Figure(f"{name}: a warm one / restic", ratios(mine.warm, restic.warm), "")
    yield Figure("the journal of 5 files", journal, "ms", 5)


# -- the tables ---------------------------------------------------------------------------------------


def _cell(samples: list[float], factor: float) -> str:
    """Return the median, with the spread."""
    values = [sample * factor for sample in samples]
    between = f"\n[dim]{spread(values)}[/]" if values[1:] else ""
    return number(statistics.median(values)) + between


def peers_table(name: str, rows: dict[str, Row]) -> Table:
    """Return a row for each way: medians."""
    table = Table("", title=f"Snapshots of {name} (medians)")
    for column in ("cold, ms", "warm, ms", "warm, 5 files changed, ms", "restore of 5 files, ms", "disk, MB"):
        table.add_column(column, justify="right")
    for way, row in rows.items():
        title = f"[bold]{way}[/]" if way == OURS else way
        if row.missing:
            table.add_row(title, row.missing)
            continue
        times = (row.cold, row.warm, row.changed, row.restored)
        table.add_row(title, *(_cell(samples, 1000) for samples in times), _cell(row.disk, 1e-6))
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
        with tempfile.TemporaryDirectory(dir=DISK) as place:
            made = Path(place) / "synthetic"
            name = synthetic(made, size.files, size.bytes)
            with out.status(f"measuring {name}"):
                trees[name] = measured(made, size)
            shutil.rmtree(made)
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
    out.print(targets_table(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
