"""Runner of all cases: parallel workers with servers, a second attempt for slow cases, and a table."""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import socketserver
import stat
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Self

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tests.harness.model_server import ModelServer
from tests.harness.tasks import Model
from tests.hostile.bad_commands import CAUGHT
from tests.hostile.cases import Outcome, Tree, assign, chosen_for_editor, trees
from tests.hostile.malices import Surroundings, forgeries
from tests.hostile.place import SECRET
from tests.hostile.shell_commands import commands
from tests.hostile.shell_worker import SECONDS
from tests.hostile.started import REPOSITORY, strace_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


MOST_COMMANDS: Final = 4
"""Commands named in a row."""


def print_failures(failed: Sequence[Outcome], console: Console) -> None:
    """Print each kind of failure with its trees and commands."""
    if not failed:
        return
    trees: defaultdict[str, Counter[str]] = defaultdict(Counter)
    commands: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for outcome in failed:
        for problem in outcome.problems:
            trees[problem][outcome.tree] += 1
            commands[problem][f"{outcome.command} [{outcome.state}]"] += 1
    table = Table("what", "cases", "trees", "commands", show_lines=True)
    for problem in sorted(trees, key=lambda one: -sum(trees[one].values())):
        count = str(sum(trees[problem].values()))
        table.add_row(Text(problem[:400]), count, Text(_told(trees[problem])), Text(_told(commands[problem])))
    console.print(table)


def _told(counted: Counter[str]) -> str:
    lines = [
        f"{text} ({count} times)" if count > 1 else text for text, count in counted.most_common(MOST_COMMANDS)
    ]
    more = len(counted) - len(lines)
    return "\n".join([*lines, *([f"and {more} more"] if more else [])])


_SHORT: Final = "def total(n):\n    return sum(range(n))\n"
_FILES: Final = {
    "files": [
        {"action": "create", "path": "new.py", "why": "the new home"},
        {"action": "modify", "path": "src/app.py", "why": "uses it"},
    ]
}


class Servers:
    """Answer workflows and report forbidden requests."""

    def __init__(self) -> None:
        self._model = ModelServer()
        self._evil = _Listener()
        self._seen = 0

    def __enter__(self) -> Self:
        self._model.__enter__()
        _script(self._model)
        return self

    def __exit__(self, *_: object) -> None:
        self._model.close()
        self._evil.shutdown()
        self._evil.server_close()

    @property
    def model_url(self) -> str:
        return self._model.base_url

    @property
    def evil_url(self) -> str:
        return self._evil.url

    def problems(self) -> list[str]:
        """Return forbidden content and requests since the last call."""
        new = self._model.requests[self._seen :]
        self._seen += len(new)
        told = ["sent: a secret of the home"] * any(SECRET in json.dumps(one) for one in new)
        return [*told, *(["asked: a server that only the project names"] * self._evil.asked())]


class _Listener(socketserver.TCPServer):
    """Counts connections and closes each."""

    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), socketserver.BaseRequestHandler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        self._count = 0
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()

    def process_request(self, request: Any, client_address: object) -> None:
        del client_address
        self._count += 1
        self.shutdown_request(request)

    def asked(self) -> bool:
        """Return whether there was a connection since the last call."""
        count, self._count = self._count, 0
        return count > 0


def _script(server: ModelServer) -> None:
    Model(server)
    server.answers("", "- it is fine")
    server.answers("what does the code do", "- it adds up")
    server.answers("Rewrite these lines", f"```python\n{_SHORT}```")
    server.answers("Which files have to be", _FILES)
    server.answers("Write the new file new.py", "```python\nvalue = 1\n```")
    server.answers("Change src/app.py", "```python\nfrom new import value\n```")
    server.answers("is in the state first", {"reason": "nothing is left", "next": "end"})


_BOUND: Final = ("--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all")


def bound_by_permissions() -> list[str]:
    """Return the prefix that binds a command by permissions even if root runs it.

    :raises FileNotFoundError: root runs it, and util-linux is not installed.
    """
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise FileNotFoundError("root needs setpriv, of util-linux, so that permissions bind a test")
    return [setpriv, *_BOUND]


class Worker:
    """Process that runs cases sequentially.

    :param module: module to run.
    :param directory: new directory for it.
    """

    def __init__(self, module: str, directory: Path) -> None:
        self._servers = Servers()
        _lay_out(directory)
        log = directory / "started.log"
        log.touch()
        self._said = (directory / "worker.log").open("wb")
        self._process = subprocess.Popen(
            [
                *bound_by_permissions(),
                *strace_command(log),
                *(sys.executable, "-m", module, str(directory / "place"), str(log)),
                *(self._servers.model_url, self._servers.evil_url),
            ],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": REPOSITORY, "HOME": str(directory / "place")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
        )

    def __enter__(self) -> Self:
        self._servers.__enter__()
        return self

    def wait_ready(self) -> None:
        """Wait until its directories are created."""
        if self._line() != b"ready\n":
            raise RuntimeError(f"a worker could not begin:\n{self.words()}")

    def run(self, job: object) -> Iterator[Outcome]:
        """Send a job; yield the outcome of each case."""
        self._servers.problems()
        self._say(json.dumps(job).encode())
        while line := self._line().strip():
            shape = json.loads(line)
            yield Outcome.from_json({**shape, "problems": [*shape["problems"], *self._servers.problems()]})
            self._say(b"")

    def _say(self, line: bytes) -> None:
        assert self._process.stdin
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def _line(self) -> bytes:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            raise RuntimeError(f"a worker ended:\n{self.words()}")
        return line

    def words(self) -> str:
        """Return its standard error."""
        return Path(self._said.name).read_text(errors="replace")[-4000:]

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(60)
        self._said.close()
        self._servers.__exit__()


def _lay_out(directory: Path) -> None:
    """Create the directories, and a device or, without the right to, a link."""
    pool = directory / "place" / "pool"
    pool.mkdir(parents=True)
    if os.geteuid() == 0:
        with suppress(PermissionError):
            os.mknod(pool / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))


SHELL: Final = "tests.hostile.shell_worker"
EDITOR: Final = "tests.hostile.editor_worker"
BAD_SECONDS: Final = 5.0
_NOWHERE: Final = Path("/nowhere")


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
    outcomes: list[Outcome] = field(default_factory=list)
    slow: list[tuple[_Job, Outcome]] = field(default_factory=list)
    """Cases that failed only by time: the machine may have been busy."""

    def add(self, job: _Job, outcome: Outcome, *, last: bool) -> None:
        if not last and outcome.problems and all(one.startswith("time: ") for one in outcome.problems):
            self.slow.append((job, outcome))
        else:
            self.outcomes.append(outcome)


def main() -> int:
    """Run the cases and print the results; return 0 if none failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="one a core")
    parser.add_argument("--only", choices=("shell", "editor"), help="only these commands")
    parser.add_argument("--trees", default="", help="only trees with this text in their description")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth of the trees")
    parser.add_argument("--commands", default="", help="only commands with this text in them")
    options = parser.parse_args()
    console = Console(width=None if os.isatty(1) else 160, highlight=False)
    started = time.monotonic()
    jobs = _jobs(options)
    tally = _Tally()
    with TemporaryDirectory(prefix="tideate-hostile-", ignore_cleanup_errors=True) as directory:
        base = Path(directory)
        uncaught = [] if options.only == "editor" else uncaught_commands(base / "bad")
        _carry_out(jobs, options.workers, base / "first", tally, last=False)
        again = dict.fromkeys(_again(job, outcome) for job, outcome in tally.slow)
        _carry_out(list(again), 1, base / "again", tally, last=True)
    failed = [one for one in tally.outcomes if one.problems]
    print_failures(failed, console)
    for one in uncaught:
        console.print(f"not caught: {one}")
    spent = time.monotonic() - started
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


def _jobs(options: argparse.Namespace) -> list[_Job]:
    made = planned_trees()
    texts = [one.text for one in commands()]
    wanted = [at for at, tree in enumerate(made) if options.trees in tree.text][:: options.every]
    jobs = []
    if options.only != "shell":
        numbers = chosen_for_editor([made[at] for at in wanted])
        jobs += [_Job(EDITOR, wanted[number], turn=turn) for turn, number in enumerate(numbers)]
    if options.only != "editor":
        assigned = assign(made, texts)
        for at in wanted:
            fitting = tuple(one for one in assigned[at] if options.commands in texts[one])
            jobs += [_Job(SHELL, at, fitting)] if fitting else []
    return jobs


def _again(job: _Job, outcome: Outcome) -> _Job:
    """Return a job that repeats a case alone on the machine."""
    texts = [one.text for one in commands()]
    return job if job.module == EDITOR else _Job(SHELL, job.tree, (texts.index(outcome.command),))


def _carry_out(jobs: list[_Job], count: int, base: Path, tally: _Tally, *, last: bool) -> None:
    """Let workers process the jobs of one kind after the other's."""
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
