"""Search of 10,000 runs beside `LIKE` on the same rows, and a fork of a run of 1,000 steps.

The texts are of a seeded vocabulary, 40 words to a prompt and 200 to an answer. A search opens the store
anew, as `tideate history TEXT` does, and returns the newest 20 with an excerpt; `LIKE` looks through the
texts that the index is made of. A fork is there once its row is durable; until its first own step runs, it
is resumed like any run. A plain copy of the same step rows by one statement of SQLite is the floor.

``--short`` takes 1,000 runs and 200 steps. The exit code is 1 if a search does not find what `LIKE` does.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sqlite3
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from benchmarks.engine_ours import new_runner
from benchmarks.engine_runs import DISK, place_in
from benchmarks.figures import Figure, console, targets_table
from tideate_core.app import RunFilter, history_page
from tideate_core.engine import RunEdits, RunRequest, plan_fork
from tideate_core.store import Definition, Ending, NewRun, Reader, Store
from tideate_core.workflows import WorkflowDefinition, WorkflowRegistry

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.workflows import StepContext

SAMPLES: Final = 15
NEWEST: Final = 20
WORDS: Final = {"common": "word7", "rare": "needle", "two words": "word11 word12", "none": "absent"}
LIKE: Final = (
    "SELECT execution_id FROM run_texts WHERE {} ORDER BY number DESC LIMIT 20"  # as many as a list shows
)


async def fill(place: Path, runs: int) -> None:
    """Write runs that ended, one in a thousand with the rare word."""
    store, chance = Store.open(place), random.Random(7)
    vocabulary = [f"word{number}" for number in range(3000)]
    definition = Definition("w", "ask", "graph", '{"name": "ask"}')
    for number in range(runs):
        prompt, answer = (" ".join(chance.choices(vocabulary, k=count)) for count in (40, 200))
        rare = " needle" if number % 1000 == 500 else ""
        run = NewRun(f"{number:032x}", definition, {"prompt": prompt + rare}, 0, number)
        log = await store.begin(run)
        await log.ended(Ending("completed", number + 1, 1, response=answer))
    store.close()


def searches(place: Path, words: str) -> tuple[list[float], list[str]]:
    """Return the milliseconds and hits of each search."""
    took, found = [], list[str]()
    for _ in range(SAMPLES):
        begun = time.perf_counter()
        reader = Reader(place)
        found = [run.id for run, _ in history_page(reader, RunFilter(words=words), NEWEST)[0]]
        took.append((time.perf_counter() - begun) * 1000)
        reader.close()
    return took, found


def likes(place: Path, words: str) -> tuple[list[float], list[str]]:
    """Return the same of `LIKE`, whole words."""
    terms = words.split()
    statement = LIKE.format(" AND ".join("' ' || prompt || ' ' || answers || ' ' LIKE ?" for _ in terms))
    took, found = [], list[str]()
    for _ in range(SAMPLES):
        begun = time.perf_counter()
        with closing(sqlite3.connect(place / "tideate.db")) as database:
            found = [run for (run,) in database.execute(statement, [f"% {term} %" for term in terms])]
        took.append((time.perf_counter() - begun) * 1000)
    return took, found


async def forks(place: Path, steps: int) -> tuple[list[float], list[float], list[float]]:
    """Return milliseconds until forks of a chain are there, until their own step runs, and of the chain."""
    began = list[float]()

    async def notes(step: StepContext) -> dict[str, Any]:
        if step.step == last:
            began.append(time.perf_counter())
        return {"result": f"of {step.step} " * 20}

    names = [f"s{number}" for number in range(steps)]
    last = names[-1]
    registry = WorkflowRegistry()
    registry.register(WorkflowDefinition.chain("chain", names), dict.fromkeys(names, notes))
    runner = new_runner(registry, place, lambda _event: None)
    begun = time.perf_counter()
    source = await runner.run(RunRequest(name="chain"))
    whole = [(began[0] - begun) * 1000]
    store, made, took = await runner.store(), list[float](), list[float]()
    for _ in range(SAMPLES):
        begun = time.perf_counter()
        plan = plan_fork(store.reader(), source.execution_id, last, RunEdits())
        await store.fork_at_step(plan.fork)
        made.append((time.perf_counter() - begun) * 1000)
        begun = time.perf_counter()
        forked = await runner.fork_run(source.execution_id, last, RunEdits(prompt="again"))
        if not forked.ok:
            raise RuntimeError(f"the fork failed: {forked.error}")
        took.append((began[-1] - begun) * 1000)
    await runner.aclose()
    return made, took, whole


def copies(place: Path) -> list[float]:
    """Return milliseconds of plain copies of the step rows of one run, each durable."""
    took = []
    with closing(sqlite3.connect(place / "tideate.db", isolation_level=None)) as database:
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE copied AS SELECT * FROM workflow_steps LIMIT 0")
        (run,) = database.execute("SELECT id FROM workflow_executions ORDER BY rowid LIMIT 1").fetchone()
        for _ in range(SAMPLES):
            begun = time.perf_counter()
            database.execute("INSERT INTO copied SELECT * FROM workflow_steps WHERE execution_id = ?", (run,))
            took.append((time.perf_counter() - begun) * 1000)
    return took


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser("python -m benchmarks.history", description="Search and forks of runs.")
    parser.add_argument("--short", action="store_true", help="Take fewer runs and steps.")
    short = parser.parse_args(arguments).short
    runs, steps, out = 1_000 if short else 10_000, 200 if short else 1_000, console()
    figures: list[Figure | None] = []
    wrong = []
    with place_in(DISK) as place:
        asyncio.run(fill(place, runs))
        for name, words in WORDS.items():
            took, found = searches(place, words)
            beside, expected = likes(place, words)
            figures.append(Figure(f"search of {runs:,} runs, {name}", took, "ms", 50))
            figures.append(Figure("the same by LIKE", beside, "ms"))
            if [run for run in expected if run not in found]:
                wrong.append(name)
    figures.append(None)
    with place_in(DISK) as place:
        made, took, whole = asyncio.run(forks(place, steps))
        figures.append(Figure(f"fork of a run of {steps:,} steps", made, "ms", 100))
        figures.append(Figure("until its first own step runs", took, "ms"))
        figures.append(Figure("a copy of its step rows by one statement of SQLite", copies(place), "ms"))
        figures.append(Figure("running the steps before it", whole, "ms"))
    out.print(targets_table(figures, "search and forks of runs"))
    for name in wrong:
        out.print(f"[bold red]not found what LIKE finds:[/] {name}", highlight=False)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
