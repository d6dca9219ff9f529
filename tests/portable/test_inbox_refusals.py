"""The inbox on remotes that refuse a part: deletions, replacements, a landed branch."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import LOOP, SHORT
from tests.portable.inboxing import CI, site

if TYPE_CHECKING:
    from tests.portable.inboxing import Site

__all__ = ["site"]

pytestmark = pytest.mark.slow

BRANCHES = '[inbox]\nrefs = "branches"\n'


def setting(site: Site, key: str, value: str = "true") -> None:
    """Configure the remote."""
    subprocess.run(["git", "-C", site.remote, "config", key, value], check=True)


def test_a_run_that_ended_has_its_status_even_if_the_remote_keeps_its_refs(site: Site) -> None:
    setting(site, "receive.denyDeletes")
    site.asks()
    ci, ana, job, later = (site.machine(name) for name in (CI, "Ana", CI, CI))
    ci.settings(BRANCHES)
    run = ci.leaves()["execution_id"]
    ana.ok("inbox", "answer", run, "--yes")
    command = ("resume", "--from", "origin", run, "--land", "branch")
    done = job.ok(*command)
    assert "the run has ended, but its refs stay on the remote" in done.stderr
    assert "deletion prohibited" in done.stderr
    assert (job.read("a.py"), ana.waiting()) == (SHORT, [])
    told = later.fails(1, "ended run", *command).stderr
    assert ("--again" in told, later.read("a.py")) == (False, LOOP)
    assert "already ended here" in job.ok(*command).stderr
    setting(site, "receive.denyDeletes", "false")
    job.ok("inbox", "prune", "origin")
    assert job.refs() == [f"refs/heads/tideate/{run[:8]}"]


def test_a_further_question_of_a_published_run_is_published_if_nobody_can_be_asked(site: Site) -> None:
    site.server.answers("what does the code do", "- it adds up")
    site.server.answers("Rewrite these lines", f"```python\n{SHORT}```")
    ci, ana, job = site.machine(CI), site.machine("Ana"), site.machine(CI)
    job.git("remote", "rename", "origin", "team")  # which is not `[ci] remote`
    left = ci.run("run", "refactor", "shorten", "--file", "a.py:1-5", "--at-gate", "leave")
    run = json.loads(left.stdout)["execution_id"]
    ana.ok("inbox", "answer", run, "--yes")
    done = job.run("resume", "--from", "team", run)
    assert done.returncode == 4, done.stderr
    second = json.loads(done.stdout)
    assert (second["n"], second["kind"], second["remote"]) == (2, "review", "team")
    assert [one["n"] for one in ana.waiting()] == [2]
    # who declines, declines
    ci.fails(3, "", "resume", "--from", "origin", run, "--no")
    assert (ana.waiting(), ci.read("a.py")) == ([], LOOP)
