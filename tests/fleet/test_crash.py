"""A fleet whose workers, database and connections fail: each run still ends once, with the same result."""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fleet.proxy import Proxy
from tests.fleet.reviewer import Reviewer
from tests.fleet.site import Database, Site
from tests.harness.model_rules import text_of
from tideate_core.errors import FleetError, TideateError
from tideate_core.fleet import Fleet, State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fleet.site import WorkerProcess
    from tests.harness.model_server import ModelServer

RUNS = int(os.environ.get("TIDEATE_FLEET_RUNS") or 300)
REPOSITORIES = 10
WORKERS = ("one", "two", "three")
CONCURRENCY = 2
PAUSE = float(os.environ.get("TIDEATE_FLEET_PAUSE") or 4)
"""Seconds between two failures."""
MODELS = 10
"""One run in this many asks a model and has two questions."""
LOG = '#!/bin/sh\nwhile read old new ref; do echo "$old $new $ref" >>hook.log; done\n'


@pytest.fixture
def own_database() -> Iterator[Database]:
    """A server that this test may restart."""
    place = Path("/tmp") / f"tideate-pg-{os.getpid()}"
    database = Database(place)
    yield database
    database.close()
    shutil.rmtree(place, ignore_errors=True)


class Trouble(threading.Thread):
    """Kills workers, restarts the database and cuts its connections until it is stopped."""

    def __init__(self, site: Site, database: Database, proxy: Proxy) -> None:
        super().__init__(daemon=True)
        self.site = site
        self.database = database
        self.proxy = proxy
        self.kills = Counter[str]()
        self.restarts = self.cuts = 0
        self.over = threading.Event()
        self._choose = random.Random(32)
        self._workers = {name: self._start(name) for name in WORKERS}

    def wait_ready(self) -> None:
        """Wait until all workers take runs."""
        for worker in self._workers.values():
            worker.wait_ready()

    def _start(self, name: str) -> WorkerProcess:
        return self.site.worker(name, "--concurrency", str(CONCURRENCY))

    def run(self) -> None:
        turn = 0
        while not self.over.wait(PAUSE):
            turn += 1
            if turn % 3 == 2 and self.restarts < 2:
                self.database.restart()
                self.restarts += 1
            elif turn % 6 == 3:
                self.proxy.cut()
                self.cuts += 1
            else:
                name = self._choose.choice(WORKERS)
                self._workers[name].kill()
                self.kills[name] += 1
                self._workers[name] = self._start(name)

    def end(self) -> None:
        self.over.set()
        self.join()


def hooks(address: str) -> list[tuple[str, str, str]]:
    """Return the ref changes that a remote received: before, after, ref."""
    log = Path(address.removeprefix("file://"), "hook.log")
    return [tuple(line.split()) for line in log.read_text().splitlines()] if log.exists() else []  # type: ignore[misc]


ZERO = "0" * 40


def pushed(address: str) -> Counter[str]:
    """Return how often each ref of a remote was created or changed.

    A push that is killed after its change leaves no line: the next line about the ref shows the change.
    """
    found: Counter[str] = Counter()
    now: dict[str, str] = {}
    for old, new, ref in hooks(address):
        found[ref] += (old not in (ZERO, now.get(ref, ZERO))) + (new != ZERO)
        now[ref] = new
    del found["refs/heads/main"]
    return +found


WRONG = frozenset({State.FAILED, State.REFUSED, State.CANCELLED, State.DECLINED})


def states_of(fleet: Fleet) -> Counter[State]:
    """Return the number of runs in each state, none of which may be a failure."""
    runs = fleet.page(limit=RUNS + 10)
    assert not (wrong := [run for run in runs if run.state in WRONG]), wrong
    return Counter(run.state for run in runs)


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_each_run_ends_once_despite_failures(
    own_database: Database, tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    direct = own_database.new()
    with Proxy(Path(own_database.place, ".s.PGSQL.5432")) as proxy:
        name = direct.partition("?")[0].rpartition("/")[2]
        site = Site(tmp_path, f"postgresql://postgres@127.0.0.1:{proxy.port}/{name}")
        monkeypatch.setenv("HOME", str(site.home("reviewer")))
        try:
            check(site, own_database, proxy, direct, server)
        finally:
            site.close()


def check(site: Site, database: Database, proxy: Proxy, direct: str, server: ModelServer) -> None:
    site.use(server)
    server.answers("Which files have to be", {"files": [{"action": "modify", "path": "a.txt", "why": "w"}]})
    server.answers("Change a.txt", "```\ntwo\n```")
    addresses = [site.remote(f"r{number}", {"a.txt": "one\n"}) for number in range(REPOSITORIES)]
    for address in addresses:
        hook = Path(address.removeprefix("file://"), "hooks", "post-receive")
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(LOG)
        hook.chmod(0o755)
    trouble = Trouble(site, database, proxy)
    trouble.wait_ready()
    runs = submit(site, addresses)
    trouble.start()
    fleet = Fleet(direct)
    reviewers = {
        address: Reviewer(site.place / "reviewers" / str(at)) for at, address in enumerate(addresses)
    }
    end = time.monotonic() + 1800
    ended: Counter[State] = Counter()
    while ended[State.COMPLETED] < RUNS:
        if time.monotonic() > end:
            raise AssertionError((ended, site.logs()))
        for address, reviewer in reviewers.items():
            with suppress(TideateError):  # a question that was answered or removed at this moment
                reviewer.answer(address)
        with suppress(FleetError):  # the database is being restarted
            ended = states_of(fleet)
    trouble.end()
    fleet.close()
    kills = sum(trouble.kills.values())
    print(f"\n{RUNS} runs, {kills} kills, {trouble.restarts} restarts, {trouble.cuts} cuts")
    assert trouble.restarts == 2
    assert trouble.cuts
    assert min(trouble.kills[name] for name in WORKERS)
    once(site, addresses, runs, reviewers)
    turns(server, kills)


def submit(site: Site, addresses: list[str]) -> dict[str, str]:
    """Submit all runs; return the repository of each."""
    found: dict[str, str] = {}
    lines = site.place / "lines"
    lines.write_text("".join(f"text {number}\n" for number in range(RUNS // REPOSITORIES)))
    applied = ("apply", "-i", "path=a.txt", "-i", "text={}", "-i", "how=replace")
    for at, address in enumerate(addresses):
        words = ("multi_file", "change it: {}") if at % MODELS == 0 else applied
        shown = site.json("submit", *words, "--repo", address, "--each", str(lines))
        found |= dict.fromkeys(shown["runs"], address)
    return found


def once(site: Site, addresses: list[str], runs: dict[str, str], reviewers: dict[str, Reviewer]) -> None:
    """Check that nothing was pushed, asked or answered twice, and that only branches are left."""
    for at, address in enumerate(addresses):
        own = {run for run, place in runs.items() if place == address}
        created = pushed(address)
        asked = {n + 1 for n in range(2 if at % MODELS == 0 else 1)}  # plan and review, or the review alone
        questions = Counter(run for run, _ in reviewers[address].answered)
        assert questions.keys() == own
        for run in own:
            assert created.pop(f"refs/heads/tideate/{run[:12]}") == 1
            lines = [line for line in hooks(address) if run in line[2]]
            assert created.pop(f"refs/tideate/runs/{run}") == questions[run], lines
            numbers = [n for one, n in reviewers[address].answered if one == run]
            assert (sorted(numbers), len(numbers)) == (sorted(asked), len(asked)), lines
            for number in range(1, questions[run] + 1):
                assert created.pop(f"refs/tideate/answers/{run}/{number}") == 1
        assert not created
        left = {f"refs/heads/tideate/{run[:12]}" for run in own}
        assert site.refs(address).keys() == {"HEAD", "refs/heads/main", *left}
        changed = {site.file(address, f"tideate/{run[:12]}", "a.txt") for run in own}
        assert all(text.strip() in ("two", *(f"text {number}" for number in range(RUNS))) for text in changed)


def turns(server: ModelServer, kills: int) -> None:
    """Check that a model was asked again only for legs that were interrupted."""
    asked = Counter(text_of(body) for body in server.requests)
    needed = len(asked)
    assert needed
    assert asked.total() - needed <= kills * CONCURRENCY * 2
