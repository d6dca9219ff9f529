"""`tideate guard` killed at any moment: no byte of the person is lost, and the session can continue.

The kills hit preparing, the program, its end, merging, landing and updating. A failure names its seed:
`TIDEATE_SEED=… TIDEATE_KILLS=1 python -m pytest tests/crash/test_guard_kills.py` repeats the moments.
`make crash` kills 200 times.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.crash.kills import Kill, Totals, draw
from tests.harness.project import git
from tests.harness.shell import Shell
from tests.snapshots.trees import looked_at
from tideate_core.workspace import is_temporary

if TYPE_CHECKING:
    from tests.snapshots.trees import Node

    Tree = dict[bytes, Node]

pytestmark = [pytest.mark.crash, pytest.mark.slow]

KILLS = int(os.environ.get("TIDEATE_KILLS") or 6)
SEED = int(os.environ.get("TIDEATE_SEED") or secrets.randbelow(1_000_000))
DRAWS: Final = 6
"""Attempts to draw a moment before the end."""
AGAIN: Final = 0.4
"""Probability that the process that lands the rest is killed, too."""
SAVES: Final = 0.5
"""Probability that the person saves files after the kill."""
LIMIT: Final = 60.0
REPOSITORY: Final = Path(__file__).parents[2]
STEPS: Final = (
    "mkdir -p .tideate",
    "sed s/one/ONE/ a.txt > .tideate/a; mv .tideate/a a.txt",
    "rm gone.txt",
    "mv old.txt new.txt",
    "ln -s a.txt link",
    "chmod 755 run.sh",
    "printf '\\0\\1' > .tideate/b; mv .tideate/b logo.png",
    "mkdir -p d/e; cp a.txt .tideate/c; mv .tideate/c d/e/c.txt",
)
"""Steps of the program, each of which changes at most one path of the project at once."""
PERSON: Final = "sed -i s/9/nine/ a.txt; echo mine > mine.txt"


class GuardSite(Shell):
    """Project in a home of its own, and guarded commands in it."""

    def __init__(self, home: Path) -> None:
        home.mkdir(parents=True)
        super().__init__(home)
        for name, text in {
            "a.txt": "one\n2\n3\n4\n5\n6\n7\n8\n9\n",
            "logo.png": "\0",
            "run.sh": "#!\n",
        }.items():
            self.write(name, text)
        for name in ("gone.txt", "old.txt"):
            self.write(name, f"{name}\n" * 9)
        git(self.root, "init", "--quiet")
        git(self.root, "add", "--all")

    def go(self, kill: Kill | None, *words: str) -> dict[str, Any] | None:
        """Run a command; return its counts and time, or None if it was killed."""
        counts = self.home / "counts"
        shape = json.dumps(asdict(kill) if kill else None)
        begun = time.monotonic()
        with subprocess.Popen(
            [sys.executable, "-m", "tests.crash.guarding", str(counts), shape, *words],
            cwd=self.root,
            env={**self.env, "PYTHONPATH": str(REPOSITORY)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                _, errors = process.communicate(timeout=kill.at if kill and kill.how == "time" else LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()
                _, errors = process.communicate()
        if kill is not None and process.returncode == -signal.SIGKILL:
            return None
        assert process.returncode == 0, errors
        return {"time": time.monotonic() - begun, **json.loads(counts.read_text())}

    def guard(self, kill: Kill | None = None) -> dict[str, Any] | None:
        return self.go(kill, "guard", "--yes", "sh", "-c", "; ".join(STEPS))

    def sessions(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.json("guard", "list")["sessions"]
        return found

    def save(self) -> None:
        """Change files as the person does."""
        subprocess.run(["sh", "-c", PERSON], cwd=self.root, check=True)


def steps(home: Path, *, saved: bool) -> list[Tree]:
    """Return the trees after each step of the program.

    :param saved: with the changes of the person.
    """
    site = GuardSite(home)
    found: list[Tree] = []
    for step in ("true", *STEPS):
        subprocess.run(["sh", "-c", step], cwd=site.root, check=True)
        tree = home / f"step{len(found)}"
        shutil.copytree(site.root, tree, symlinks=True)
        if saved:
            subprocess.run(["sh", "-c", PERSON], cwd=tree, check=True)
        found.append(looked_at(tree))
    site.close()
    return found


class Oracle:
    """Trees that the project may have."""

    def __init__(self, home: Path, totals: Totals) -> None:
        self.trees = {saved: steps(home / f"saved-{saved}", saved=saved) for saved in (False, True)}
        self.totals = totals

    def check_whole(self, tree: Tree) -> None:
        """Check that each path is as before or after some step; half a landing may be on disk."""
        known = self.trees[False]
        for path in {*tree, *(path for one in known for path in one)}:
            if not is_temporary(os.fsdecode(path).rpartition("/")[2]):
                assert tree.get(path) in [one.get(path) for one in known], path

    def check_end(self, tree: Tree, *, saved: bool, whole: bool) -> None:
        """Check that the project has all changes of some steps and of the person.

        :param whole: the program ended.
        """
        trees = self.trees[saved]
        assert tree in ([trees[0], trees[-1]] if whole else trees)


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    home = tmp_path_factory.mktemp("oracle")
    site = GuardSite(home / "unkilled")
    counts = site.guard()
    assert counts is not None
    oracle = Oracle(home, Totals(**counts))
    assert looked_at(site.root) == oracle.trees[False][-1]
    assert min(counts.values()) > 0
    assert counts["call"] > 100
    site.close()
    return oracle


def killed(home: Path, chance: random.Random, totals: Totals) -> GuardSite:
    """Return a site with a guard that was killed before its end."""
    for attempt in range(DRAWS):
        site, kill = GuardSite(home / f"site{attempt}"), draw(chance, totals)
        print(f"to be killed at {kill}")
        if site.guard(kill) is None:
            return site
        site.close()
    raise AssertionError(f"none of {DRAWS} moments came before the end")


@pytest.mark.parametrize("number", range(KILLS))
def test_a_guard_that_is_killed_lost_nothing_and_can_continue(
    oracle: Oracle, tmp_path: Path, number: int
) -> None:
    seed = SEED + number
    print(f"repeat with TIDEATE_SEED={seed} TIDEATE_KILLS=1")
    chance = random.Random(seed)
    site = killed(tmp_path, chance, oracle.totals)
    try:
        history = looked_at(site.root / ".git", ())
        oracle.check_whole(looked_at(site.root))
        if saved := chance.random() < SAVES:
            site.save()
        ended = True
        for attempt in range(3):
            for session in site.sessions():
                ended = ended and (attempt > 0 or session["state"] == "waiting")
                kill = draw(chance, oracle.totals) if attempt < 2 and chance.random() < AGAIN else None
                print(f"session {session['state']}, landing to be killed at {kill}")
                site.go(kill, "guard", "land", "--yes", session["id"])
        assert site.sessions() == []
        oracle.check_end(looked_at(site.root), saved=saved, whole=ended)
        assert looked_at(site.root / ".git", ()) == history
        site.go(None, "guard", "--yes", "sh", "-c", "echo 1 > again.txt")
        assert site.read("again.txt") == "1\n"
    finally:
        site.close()


def test_a_killed_landing_is_continued_by_the_next_one(tmp_path: Path) -> None:
    site = GuardSite(tmp_path / "site")
    site.ok("guard", "--later", "sh", "-c", "; ".join(STEPS))
    assert site.go(Kill("commit", 4), "guard", "land", "--yes") is None
    site.go(None, "guard", "land", "--yes")
    assert [run["state"] for run in site.json("history")["runs"]] == ["completed"]
    site.close()
