"""The inbox in clones of unusual kinds: partial and sparse ones, and those that git refuses to read."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import SHORT
from tests.portable.inboxing import CI, LEAVING, site

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.portable.inboxing import Machine, Site

__all__ = ["site"]

pytestmark = pytest.mark.slow


@pytest.fixture
def large(site: Site) -> Site:
    """A repository with more files, of which clones may be partial."""
    subprocess.run(["git", "-C", site.remote, "config", "uploadpack.allowFilter", "true"], check=True)
    founder = site.machine("Founder")
    founder.write("more.py", "M = 1\n")
    founder.write("lib/deep/one.py", "ONE = 1\n")
    founder.git("add", ".")
    founder.git("commit", "-qm", "more")
    founder.git("push", "-q", "origin", "HEAD:main")
    return site


def partial(site: Site, name: str, objects: str) -> Machine:
    """Return a machine with a partial clone whose only file is `a.py`."""
    made = site.new(name)
    made.git("sparse-checkout", "set", "--no-cone", "/a.py")
    made.git("fetch", "-q", f"--filter={objects}", "origin")
    made.git("reset", "-q", "--hard", "origin/main")
    return made


@pytest.mark.parametrize("objects", ["blob:none", "tree:0"])
def test_a_partial_clone_leaves_answers_and_lands(large: Site, objects: str) -> None:
    large.asks()
    ci, ana, job = (partial(large, name, objects) for name in (CI, "Ana", CI))
    missing = job.git("rev-list", "--objects", "--missing=print", "HEAD")
    assert "\n?" in missing
    run = ci.leaves()["execution_id"]
    ana.ok("inbox", "answer", run, "--yes")
    job.ok("resume", "--from", "origin", run, "--land", "branch")
    branch = f"tideate/{run[:8]}"
    full = large.machine("Full")
    assert full.git("show", f"origin/{branch}:a.py") == SHORT.strip()
    assert full.git("diff", "--name-only", "origin/main", f"origin/{branch}") == "a.py"
    assert job.git("rev-list", "--objects", "--missing=print", "HEAD") == missing, "nothing was fetched"


def test_a_partial_clone_commits_a_run(large: Site) -> None:
    large.asks()
    ana = partial(large, "Ana", "blob:none")
    ana.ok("run", "edit", "shorten", "--file", "a.py:1-5", "--yes")
    large.remote.rename(large.place / "away.git")  # nothing can be fetched
    ana.ok("commit", "LAST", "--yes")
    assert ana.git("show", "HEAD:a.py") == SHORT.strip()
    assert ana.git("diff", "--name-only", "HEAD~1", "HEAD") == "a.py"


OTHERS = """#!/bin/sh
GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {git} "$@"
"""


def owned_by_another(machine: Machine) -> None:
    """Make git see the clone of another person, as in a container of CI."""
    place = machine.home / "bin"
    place.mkdir()
    (place / "git").write_text(OTHERS.format(git=shutil.which("git")))
    (place / "git").chmod(0o755)
    machine.env["PATH"] = f"{place}:{machine.env['PATH']}"


def of_a_newer_git(machine: Machine) -> None:
    machine.git("config", "core.repositoryFormatVersion", "1")
    machine.git("config", "extensions.tomorrow", "true")


@pytest.mark.parametrize(
    ("refuse", "words"),
    [(owned_by_another, "dubious ownership"), (of_a_newer_git, "tomorrow")],
    ids=["owner", "format"],
)
def test_a_refusal_of_git_is_told_in_its_words(
    site: Site, refuse: Callable[[Machine], None], words: str
) -> None:
    """git lists only the person's settings then: no remote, and no identity of the repository."""
    site.asks()
    ana, ci = site.machine("Ana"), site.machine(CI)
    ana.ok("run", "edit", "shorten", "--file", "a.py:1-5", "--yes")
    for machine in (ana, ci):
        refuse(machine)
    for command in (("inbox",), ("commit", "LAST", "--yes")):
        assert words in ana.fails(1, "git cannot read the repository", *command).stderr
    left = ci.fails(1, "git cannot read the repository", *LEAVING)
    assert words in left.stderr
    assert "git remote add" not in left.stderr
