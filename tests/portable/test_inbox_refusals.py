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


def test_a_branch_in_the_way_of_the_landing_is_told_before_the_run_is_taken(site: Site) -> None:
    site.asks()
    ci, ana, job = site.machine(CI), site.machine("Ana"), site.machine(CI)
    run = ci.leaves()["execution_id"]
    ana.ok("inbox", "answer", run, "--yes")
    ana.git("push", "-q", "origin", "HEAD:refs/heads/tideate")
    command = ("resume", "--from", "origin", run, "--land", "branch")
    job.fails(1, "rename the branch tideate first", *command)
    assert not any("/taken/" in ref for ref in job.refs())
    assert job.read("a.py") == LOOP
    ana.git("push", "-q", "origin", ":refs/heads/tideate")
    job.ok(*command)


def test_a_run_that_was_taken_and_lost_is_listed_as_taken(site: Site) -> None:
    site.asks()
    ci, ana, job = site.machine(CI), site.machine("Ana"), site.machine(CI)
    run = ci.leaves()["execution_id"]
    ana.ok("inbox", "answer", run, "--yes")
    (one,) = ana.waiting()
    assert (one["taken_by"], one["taken_at"]) == (None, None)
    site.hook("update", "case $1 in refs/heads/tideate/*) echo protected >&2; exit 1;; esac")
    job.fails(1, "protected", "resume", "--from", "origin", run, "--land", "branch")
    (one,) = ana.waiting()
    assert (one["answered_by"], one["taken_by"]) == ("Ana <ana@example.org>", "tideate <tideate@localhost>")
    assert one["taken_at"] >= one["asked_at"]
    for command in (("inbox",), ("inbox", "show", run)):
        words = " ".join(ana.ok(*command).stdout.split())
        assert "taken by" in words
        assert "answered by" not in words
