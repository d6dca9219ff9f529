"""Runner of all cases: parallel workers, a second attempt for slow cases, and a table."""

from __future__ import annotations

import json
import os
import queue
import shutil
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from rich.console import Console

from tests.hostile.bad_commands import CAUGHT
from tests.hostile.cases import Outcome, Tree, assign, chosen_for_editor, trees
from tests.hostile.forgeries import Surroundings, forgeries
from tests.hostile.shell_commands import commands
from tests.hostile.shell_worker import SECONDS
from tests.hostile.table import print_failures
from tests.hostile.workers import Worker

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Options", "run"]

SHELL: Final = "tests.hostile.shell_worker"
EDITOR: Final = "tests.hostile.editor_worker"
BAD_SECONDS: Final = 5.0
_NOWHERE: Final = Path("/nowhere")


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the command."""

    workers: int = 0
    """None: one for each core."""
    only: str | None = None
    trees: str = ""
    commands: str = ""
    every: bool = False
    report: str = ""
    """File for all outcomes as JSON lines."""


@dataclass(frozen=True, slots=True)
class _Job:
    """Job for one worker: a tree, and the shell commands to try."""

    module: str
    tree: int
    commands: tuple[int | str, ...] = ()
    seconds: float = SECONDS
    turn: int = 0
    """Neovim's turn."""

    def shape(self) -> object:
        """Return the job in the worker's format."""
        return (
            [self.tree, self.turn]
            if self.module == EDITOR
            else [self.tree, list(self.commands), self.seconds]
        )


@dataclass(slots=True)
class _Tally:
    report: TextIO | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    slow: list[tuple[_Job, Outcome]] = field(default_factory=list)
    """Cases that failed only by time: the machine may have been busy."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, job: _Job, outcome: Outcome, *, last: bool) -> None:
        with self.lock:
            if self.report:
                print(json.dumps(outcome.as_json()), file=self.report, flush=True)
            if not last and outcome.problems and all(one.startswith("time: ") for one in outcome.problems):
                self.slow.append((job, outcome))
            else:
                self.outcomes.append(outcome)


def run(options: Options, console: Console | None = None) -> int:
    """Run the cases and print the results; return the exit status."""
    console = console or Console(width=None if os.isatty(1) else 160, highlight=False)
    started = time.monotonic()
    jobs = _jobs(options)
    with ExitStack() as stack:
        base = stack.enter_context(_base())
        report = stack.enter_context(Path(options.report).open("w")) if options.report else None
        tally = _Tally(report)
        uncaught = [] if options.only == "editor" else uncaught_commands(base / "bad")
        _carry_out(jobs, options.workers, base / "first", tally, last=False)
        again = [_again(job, outcome) for job, outcome in tally.slow]
        if again:
            _carry_out(list(dict.fromkeys(again)), 1, base / "again", tally, last=True)
    failed = [one for one in tally.outcomes if one.problems]
    print_failures(failed, console)
    spent = time.monotonic() - started
    for one in uncaught:
        console.print(f"not caught: {one}")
    caught = len(CAUGHT) - len(uncaught)
    console.print(f"{len(jobs)} trees in {spent:.0f} s; {caught} of {len(CAUGHT)} bad commands caught")
    passed = len(tally.outcomes) - len(failed)
    console.print(f"{len(tally.outcomes):,} cases: {passed:,} passed, {len(failed):,} failed")
    return 1 if failed or uncaught else 0


def planned_trees() -> list[Tree]:
    """Return the trees as the workers create them."""
    return trees(forgeries(Surroundings(_NOWHERE, _NOWHERE, _NOWHERE, "http://127.0.0.1:1", b"")))


def uncaught_commands(directory: Path) -> list[str]:
    """Return the bad commands that no check reported."""
    told: dict[str, tuple[str, ...]] = {}
    with Worker(SHELL, directory) as worker:
        worker.wait_ready()
        for outcome in worker.run(_Job(SHELL, 0, tuple(CAUGHT), BAD_SECONDS).shape()):
            told[outcome.command] = outcome.problems
    return [
        f"{name}: {', '.join(told.get(name, ()))}"
        for name, beginning in CAUGHT.items()
        if not any(one.startswith(beginning) for one in told.get(name, ()))
    ]


def _jobs(options: Options) -> list[_Job]:
    made = planned_trees()
    every = commands()
    wanted = [at for at, tree in enumerate(made) if options.trees in tree.text]
    jobs = []
    if options.only != "shell":
        numbers = chosen_for_editor([made[at] for at in wanted])
        jobs += [_Job(EDITOR, wanted[number], turn=turn) for turn, number in enumerate(numbers)]
    if options.only != "editor":
        texts = [one.text for one in every]
        assigned = [list(range(len(every)))] * len(made) if options.every else assign(made, texts)
        for at in wanted:
            fitting = tuple(one for one in assigned[at] if options.commands in texts[one])
            jobs += [_Job(SHELL, at, fitting)] if fitting else []
    return jobs


def _again(job: _Job, outcome: Outcome) -> _Job:
    """Return a job that repeats a case alone on the machine."""
    texts = [one.text for one in commands()]
    return job if job.module == EDITOR else _Job(SHELL, job.tree, (texts.index(outcome.command),))


def _carry_out(jobs: list[_Job], wanted: int, base: Path, tally: _Tally, *, last: bool) -> None:
    """Let workers process the jobs of one kind after the other's."""
    count = wanted or len(os.sched_getaffinity(0))
    for module in (SHELL, EDITOR):
        waiting: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        fitting = [job for job in jobs if job.module == module]
        for job in fitting:
            waiting.put(job)
        numbers = range(min(count, len(fitting)))
        with ThreadPoolExecutor(max_workers=max(len(numbers), 1)) as pool:
            places = [base / f"{module.rpartition('.')[2]}{number}" for number in numbers]
            for done in [pool.submit(_work, module, place, waiting, tally, last) for place in places]:
                done.result()


def _work(module: str, directory: Path, waiting: queue.SimpleQueue[_Job], tally: _Tally, last: bool) -> None:
    with Worker(module, directory) as worker:
        worker.wait_ready()
        while True:
            try:
                job = waiting.get_nowait()
            except queue.Empty:
                return
            for outcome in worker.run(job.shape()):
                tally.add(job, outcome, last=last)


@contextmanager
def _base() -> Iterator[Path]:
    base = Path(tempfile.mkdtemp(prefix="tideate-hostile-"))
    try:
        yield base
    finally:
        shutil.rmtree(base, ignore_errors=True)
