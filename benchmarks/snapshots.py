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

from rich.console import Console
from rich.table import Table

from benchmarks.engine_runs import DISK
from benchmarks.snapshots_journal import journals
from benchmarks.snapshots_peers import PEERS, Git, Ours, Restic
from benchmarks.snapshots_trees import change, copied, settle, synthetic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.snapshots_peers import Peer

OURS: Final = "tideate"
WIDE: Final = 140
"""Columns of the tables where there is no terminal: a log has room."""


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


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the targets; it is to be at most the target."""

    name: str
    samples: list[float]
    unit: str
    target: float | None = None

    @property
    def value(self) -> float:
        return statistics.median(self.samples)


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


def targets(trees: dict[str, dict[str, Row]]) -> Iterator[Figure]:
    """Compare tideate with what it is to reach."""
    for name, rows in trees.items():
        mine, git = rows[OURS], rows[Git.name]
        yield Figure(f"{name}: a warm snapshot", [value * 1000 for value in mine.warm], "ms", 100)
        yield Figure(f"{name}: its processor time", [value * 1000 for value in mine.worked], "ms")
        yield Figure(f"{name}: a cold one / shadow git", _ratios(mine.cold, git.cold), "", 1)
        yield Figure(f"{name}: restore of 5 changed files", [v * 1000 for v in mine.restored], "ms", 100)
        yield Figure(f"{name}: disk / shadow git", _ratios(mine.disk, git.disk), "", 1)
        yield Figure(f"{name}: a warm snapshot / shadow git", _ratios(mine.warm, git.warm), "")
        restic = rows[Restic.name]
        if not restic.missing:
            yield Figure(f"{name}: a cold one / restic", _ratios(mine.cold, restic.cold), "")
            yield Figure(f"{name}: a warm one / restic", _ratios(mine.warm, restic.warm), "")
    yield Figure("the journal of 5 files", journalled(30), "ms", 5)


def _ratios(mine: list[float], theirs: list[float]) -> list[float]:
    """Compare turn by turn, so that what slows both down falls out."""
    return [one / other for one, other in zip(mine, theirs, strict=True)]


# -- the tables ---------------------------------------------------------------------------------------


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:,.3f}" if value < 1 else f"{value:,.2f}"


def _cell(samples: list[float], factor: float) -> str:
    """Return the median, with the spread."""
    values = [sample * factor for sample in samples]
    spread = f"\n[dim]{_number(min(values))} - {_number(max(values))}[/]" if values[1:] else ""
    return _number(statistics.median(values)) + spread


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


def targets_table(figures: list[Figure]) -> Table:
    """Return a line for each figure and whether it reaches its target."""
    table = Table("tideate", "median", "spread", "", "target", "")
    for column in (1, 2, 4):
        table.columns[column].justify = "right"
    for figure in figures:
        samples, target = figure.samples, figure.target
        spread = f"{_number(min(samples))} - {_number(max(samples))}" if samples[1:] else ""
        reached = "" if target is None else "[green]✓[/]" if figure.value <= target else "[red]✗[/]"
        wanted = "" if target is None else f"≤ {target:,g}"
        table.add_row(figure.name, _number(figure.value), spread, figure.unit, wanted, reached)
    return table


def main(arguments: list[str]) -> int:
    """Measure and print."""
    size, console = SIZES["--short" in arguments], Console()
    if not console.is_terminal:
        console.width = WIDE
    trees: dict[str, dict[str, Row]] = {}
    try:
        DISK.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=DISK) as place:
            made = Path(place) / "synthetic"
            name = synthetic(made, size.files, size.bytes)
            with console.status(f"measuring {name}"):
                trees[name] = measured(made, size)
            shutil.rmtree(made)
            real = Path(place) / "real"
            name = copied(real, size.files)
            with console.status(f"measuring {name}"):
                trees[name] = measured(real, size)
        figures = list(targets(trees))
    except (RuntimeError, OSError) as error:
        console.print(f"[bold red]not measured:[/] {error}", highlight=False)
        return 1
    for name, rows in trees.items():
        console.print(peers_table(name, rows))
    console.print(targets_table(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
