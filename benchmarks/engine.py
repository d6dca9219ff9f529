"""Durable runs beside their peers, in one go and by turns, then against their targets.

All keep an SQLite file and store every result with its step, none of them a list of all. DBOS and Burr are
measured as they open it, and once more with the settings of tideate, LangGraph and the floor: a write-ahead
log, `synchronous=FULL` and, which is checked, one sync for a step. A graph of LangGraph syncs twice for a
step, and the result of a `@task` may not be durable yet when the next one starts. A step of tideate stores
its events, too.

``--short`` takes fewer and smaller samples, and measures the second entry of a peer in plain chains only.
``--postgres URL`` adds DBOS on a PostgreSQL server, as ``postgresql://user:password@host/postgres``, whose
user may create databases; without it there is no such row. What the server does is none of the measured
process's: its syncs, files, memory and processor time are left out.

The exit code is 1 if something could not be measured, or if a count is not what it must be: syncs, commits,
steps done again. Times of a busy machine are no verdict.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rich.table import Table

from benchmarks.engine_dbos import SERVER
from benchmarks.engine_runs import DISK, MEMORY, cold, place_in, resumed, run, synced
from benchmarks.engine_work import ENGINES
from benchmarks.figures import Figure, console, number, ratios, spread, targets_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.engine_runs import Run

OURS: Final = "tideate"
FLOOR: Final = "sqlite3, a commit per step"
POSTGRES: Final = "DBOS, PostgreSQL"
ONE_SYNC: Final = tuple(name for name in ENGINES if name.endswith("=FULL"))
"""Peers that are set to sync as often as tideate, but for what they write by the clock."""
PAYLOAD: Final = 10_000
"""Bytes of a big result."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    turns: int
    chain: int
    fan: int
    growth: int
    long: int
    """Steps of the long chain and the wide fan of tideate alone."""
    samples: int
    tries: int
    """Of what is measured on tmpfs; the fastest counts."""
    second: bool
    """The peers that sync as often as tideate are measured in every column, not in chains alone."""


SIZES: Final = {
    False: Size(5, 1_000, 1_000, 300, 10_000, 50, 2, True),
    True: Size(1, 60, 60, 30, 500, 5, 1, False),
}


@dataclass
class Column:
    """One measurement of all engines."""

    title: str
    measure: Callable[[str], float]
    turns: int
    engines: list[str]
    samples: dict[str, list[float]] = field(default_factory=dict)

    def fill(self) -> None:
        """Measure the engines one after the other, over and over."""
        for _ in range(self.turns):
            for engine in self.engines:
                self.samples.setdefault(engine, []).append(self.measure(engine))

    def ratio(self, other: str) -> list[float]:
        """Compare tideate with another, turn by turn."""
        return ratios(self.samples[OURS], self.samples[other])


def per_step(done: Run, steps: int) -> float:
    """Return milliseconds."""
    return done.seconds * 1000 / steps


def grown(done: Run) -> float:
    """Return how long the last tenth of the steps took, divided by the first tenth."""
    tenth = len(done.at) // 10
    return (done.at[-1] - done.at[-1 - tenth]) / (done.at[tenth] - done.at[0])


class Growths:
    """Chains of big results, each run once for three columns."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._runs: dict[str, Run] = {}

    def of(self, engine: str) -> Run:
        if engine not in self._runs:
            self._runs[engine] = run(engine, "chain", self._steps, size=PAYLOAD)
        return self._runs[engine]

    def share(self, size: int) -> float:
        """Return bytes as a multiple of the results'."""
        return size / (self._steps * PAYLOAD)


@dataclass(frozen=True, slots=True)
class Columns:
    """Measurements of all engines."""

    chain: Column
    memory: Column
    work: Column
    syncs: Column
    fan: Column
    naps: Column
    cold: Column
    resume: Column
    again: Column
    growth: Column
    stored: Column
    peak: Column

    def __iter__(self) -> Iterator[Column]:
        return (getattr(self, name) for name in self.__slots__)


def columns(size: Size, engines: list[str]) -> Columns:
    """Return the columns, nothing of them measured yet."""
    growths = Growths(size.growth)
    all_files = [name for name in engines if name != POSTGRES]
    every = [name for name in engines if size.second or name not in ONE_SYNC]
    counted = [name for name in all_files if name in every or name in ONE_SYNC]
    files, whole = [name for name in every if name != POSTGRES], [name for name in every if name != FLOOR]
    peaks, agains, worked = dict[str, float](), dict[str, float](), dict[str, float]()

    def chain(engine: str) -> float:
        done = run(engine, "chain", size.chain)
        peaks[engine] = max(peaks.get(engine, 0.0), done.peak / 1e6)
        return per_step(done, size.chain)

    def software(engine: str) -> float:
        done = run(engine, "chain", size.chain, parent=MEMORY, tries=size.tries)
        worked[engine] = done.worked * 1000 / size.chain
        return per_step(done, size.chain)

    def fan(engine: str) -> float:
        return run(engine, "fan", size.fan).seconds * 1000

    def naps(engine: str) -> float:
        return run(engine, "fan", 50, nap=0.1).seconds * 1000

    def resume(engine: str) -> float:
        done = resumed(engine)
        agains[engine] = max(agains.get(engine, 0.0), done.again)
        return done.seconds * 1000

    few = max(1, size.turns // 2)
    return Columns(
        Column(f"chain of {size.chain:,}, ms/step", chain, size.turns, engines),
        Column("on tmpfs, ms/step", software, few, all_files),
        Column("its processor time", lambda each: worked[each], 1, all_files),
        Column("syncs/step", synced, 1, counted),
        Column(f"1 → {size.fan:,} → 1, ms", fan, few, whole),
        Column("50 of 100 ms, ms", naps, few, whole),
        Column("start to step, ms", lambda each: cold(each) * 1000, few, every),
        Column("resume to step, ms", resume, few, whole),
        Column("steps done again", lambda each: agains[each], 1, whole),
        Column(f"growth, {size.growth} of 10 kB", lambda each: grown(growths.of(each)), 1, every),
        Column("stored / results", lambda each: growths.share(growths.of(each).stored), 1, files),
        Column("peak, MB", lambda each: peaks[each], 1, all_files),
    )


def targets(size: Size, beside: Columns) -> Iterator[Figure]:
    """Compare tideate with its targets; the columns are filled."""
    yield Figure("chain / the floor of the same turn", beside.chain.ratio(FLOOR), "", 1.5)
    for peer in beside.chain.engines:
        if peer not in (OURS, FLOOR):
            yield Figure(f"chain / {peer}", beside.chain.ratio(peer), "", 1)
    yield Figure("syncs of a chained step", beside.syncs.samples[OURS], "", 1, exact=True)
    for peer in ONE_SYNC:
        yield Figure(f"the same of {peer}", beside.syncs.samples[peer], "", 1.1, exact=True)
    yield Figure("a chained step on tmpfs", beside.memory.samples[OURS], "ms")
    yield Figure("its processor time, both threads", beside.work.samples[OURS], "ms", 0.15)
    yield Figure(f"fan-out 1 → {size.fan:,} → 1", beside.fan.samples[OURS], "ms", 60)
    yield Figure("its commits", [run(OURS, "fan", size.fan, commits=True).commits], "", 20, exact=True)
    yield Figure("process start to first step", beside.cold.samples[OURS], "ms", 150)
    yield Figure("resume to the next step", beside.resume.samples[OURS], "ms", 150)
    yield Figure("steps done again after it", beside.again.samples[OURS], "", 0, exact=True)
    yield Figure("peak memory", beside.peak.samples[OURS], "MB", 60)
    yield Figure("50 steps that wait 100 ms", beside.naps.samples[OURS], "ms", 115)
    yield from alone(size)
    growth = run(OURS, "chain", size.growth, size=PAYLOAD)
    results = size.growth * PAYLOAD
    yield Figure("10 kB results: stored / their size", [growth.stored / results], "", 2)
    yield Figure("10 kB results: written, the log included / their size", [growth.written / results], "")
    # document 5's limits, beaten by a factor of 50
    yield Figure("overhead of a step (limit 100 ms)", beside.chain.samples[OURS], "ms", 100 / 50)


def alone(size: Size) -> Iterator[Figure]:
    """Measure tideate alone."""
    # here: loading the engine would count to nobody's memory but this process's, and takes a while
    from benchmarks.engine_extra import checkpoints, initiations, makespan, side_by_side

    with place_in(DISK) as place:
        took = initiations(place, size.samples)
    yield Figure("a durable run initiated, warm (limit 500 ms)", took, "ms", 2)
    with place_in(DISK) as place:
        yield Figure("a checkpoint (limit 200 ms)", checkpoints(place, size.samples), "ms", 200 / 50)
    with place_in(DISK) as place:
        yield Figure("a graph of 40 waiting steps / its longest path", [makespan(place)], "", 1.05)
    with place_in(DISK) as place:
        wide = side_by_side(place)
    yield Figure("50 steps of 100 ms, limits by default (limit 130 ms)", [wide], "ms", 130)
    for shape, extra in (("chain", 0), ("fan", 2)):
        few, many = (
            [per_step(run(OURS, shape, steps - extra, parent=MEMORY), steps) for _ in range(3)]
            for steps in (100, size.long)
        )
        yield Figure(f"{shape}: a step of {size.long:,} on tmpfs", many, "ms")
        yield Figure(f"{shape}: a step of {size.long:,} / of 100", ratios(many, few), "", 1.5)


# -- the tables ---------------------------------------------------------------------------------------


def peers_table(beside: Columns) -> Table:
    """Return a row for each engine: medians, of the first column with the spread."""
    table = Table("", title="Durable runs beside their peers (medians)")
    for column in beside:
        table.add_column(column.title, justify="right")
    for engine in beside.chain.engines:
        cells = []
        for column in beside:
            samples = column.samples.get(engine)
            cell = number(statistics.median(samples)) if samples else ""
            if samples and column is beside.chain:
                cell += f"\n[dim]{spread(samples)}[/]"
            cells.append(cell)
        table.add_row(f"[bold]{engine}[/]" if engine == OURS else engine, *cells)
    return table


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.engine", description="Durable runs beside their peers."
    )
    parser.add_argument("--short", action="store_true", help="Take fewer and smaller samples.")
    parser.add_argument("--postgres", metavar="URL", help="Measure DBOS on this PostgreSQL server, too.")
    options = parser.parse_args(arguments)
    if options.postgres:
        os.environ[SERVER] = options.postgres
    size, out = SIZES[options.short], console()
    beside = columns(size, [name for name in ENGINES if options.postgres or name != POSTGRES])
    try:
        with out.status("measuring") as status:
            for column in beside:
                status.update(f"measuring: {column.title}")
                column.fill()
            out.print(peers_table(beside))
            status.update("measuring tideate alone")
            figures = list(targets(size, beside))
    except RuntimeError as error:
        out.print(f"[bold red]not measured:[/] {error}", highlight=False)
        return 1
    out.print(targets_table(figures))
    wrong = [figure.name for figure in figures if figure.exact and not figure.reached]
    for name in wrong:
        out.print(f"[bold red]not what it must be:[/] {name}", highlight=False)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
