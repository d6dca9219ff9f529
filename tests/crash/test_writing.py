"""A process killed while writing files leaves a project that matches a snapshot by hash.

A failure names its seed: `TIDEATE_SEED=… TIDEATE_KILLS=1 python -m pytest tests/crash/test_writing.py`
repeats the moments. `make crash` kills 300 times: the given number and half of it again.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import secrets
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.crash.kills import Kill
from tests.crash.writing import RUN, WORKS, Order, tree
from tests.snapshots.trees import lay_out, looked_at
from tideate_core.project import project_state
from tideate_core.snapshots import SnapshotManager
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from tests.crash.kills import How
    from tests.crash.writing import Work

pytestmark = [pytest.mark.crash, pytest.mark.slow]

KILLS = int(os.environ.get("TIDEATE_KILLS") or 8)
SEED = int(os.environ.get("TIDEATE_SEED") or secrets.randbelow(1_000_000))
DRAWS = 8
"""Attempts to draw a moment before the end."""
AGAIN = 0.3
"""Probability that the restoring process is killed, too."""
REPOSITORY = Path(__file__).parents[2]


class Site:
    """Project that was changed, with a snapshot of both states."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self._seed = seed
        self.snapshots = SnapshotManager(root)
        self.then = self.now = ""

    async def lay_out(self) -> None:
        lay_out(self.root, tree(self._seed))
        self.before = looked_at(self.root)
        self.then = await self.snapshots.create("then")
        lay_out(self.root, tree(self._seed + 1))
        self.after = looked_at(self.root)
        self.now = await self.snapshots.create("now")

    def go(self, work: Work, kill: Kill | None) -> dict[str, Any] | None:
        """Run work in a process; return None if it was killed."""
        order = Order(work, str(self.root), self.then, kill)
        command = [sys.executable, "-m", "tests.crash.writing", json.dumps(asdict(order))]
        with subprocess.Popen(
            command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline() == "ready\n"
            try:
                process.wait(timeout=kill.at if kill and kill.how == "time" else 60)
            except subprocess.TimeoutExpired:
                process.kill()
            # not communicate(): the stream's buffer holds more than the first line
            output, errors = process.stdout.read(), process.stderr.read()
        if process.returncode == -signal.SIGKILL:
            return None
        assert process.returncode == 0, errors
        counts: dict[str, Any] = json.loads(output)
        return counts


@pytest.fixture(scope="module")
def totals(tmp_path_factory: pytest.TempPathFactory) -> dict[Work, dict[str, Any]]:
    """Amount of work without a kill."""
    found: dict[Work, dict[str, Any]] = {}
    for work in WORKS:
        site = Site(tmp_path_factory.mktemp("unkilled") / "site", seed=1)
        asyncio.run(site.lay_out())
        counts = site.go(work, None)
        assert counts is not None
        found[work] = counts
    return found


async def killed(home: Path, work: Work, chance: random.Random, totals: dict[Work, dict[str, Any]]) -> Site:
    """Return a project with a writer killed before its end."""
    for attempt in range(DRAWS):
        site = Site(home / f"site{attempt}", chance.randrange(1000))
        await site.lay_out()
        how: How = "time" if chance.random() < 0.4 else "call"
        most = totals[work][how]
        at = chance.uniform(0, most) if how == "time" else chance.randint(1, most)
        print(f"{work} is killed at {how} {at}")
        if site.go(work, Kill(how, at)) is None:
            return site
    raise AssertionError(f"none of {DRAWS} moments came before the end")


@pytest.mark.parametrize("number", range(KILLS * 3 // 2))
async def test_a_project_whose_writer_was_killed_is_as_its_snapshot_says(
    tmp_path: Path, number: int, totals: dict[Work, dict[str, Any]], state_home: Path
) -> None:
    seed = SEED + number
    print(f"repeat with TIDEATE_SEED={seed} TIDEATE_KILLS=1")
    chance = random.Random(seed)
    work = chance.choice(WORKS)
    site = await killed(tmp_path, work, chance, totals)
    if work == "apply":
        await Workspace(site.root).rollback(RUN)
    while chance.random() < AGAIN:
        site.go("recover", Kill("call", chance.randint(1, 60)))
    await SnapshotManager(site.root).recover()
    if looked_at(site.root) != site.after:
        # a restore after its last step: complete
        assert (work, looked_at(site.root)) == ("restore", site.before)
    await every_snapshot_is_whole(site)


async def every_snapshot_is_whole(site: Site) -> None:
    snapshots = site.snapshots
    state = site.then if looked_at(site.root) == site.before else site.now
    assert await snapshots.diff(state) == []
    assert await snapshots.damaged() == []
    for one in await snapshots.list():
        wanted = site.before if one.id == site.then else site.after
        done = await snapshots.restore(one.id, delete_added=True)
        assert (done.left, looked_at(site.root)) == ({}, wanted)
        assert await snapshots.diff(one.id) == []
    place = project_state(site.root) / "snapshots"
    assert list(place.rglob("*.new")) == []
    assert [path for path in place.glob("journal/*") if path.is_dir()] == []
