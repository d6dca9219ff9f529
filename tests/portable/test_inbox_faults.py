"""`kill -9`, and a remote that goes away, at each call of git: published whole or not, never two answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import SHORT
from tests.portable.git_shim import ACTIONS, Shim
from tests.portable.inboxing import CI, LEAVING, site

if TYPE_CHECKING:
    from tests.portable.inboxing import Machine, Site

__all__ = ["site"]

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.bulk]

MOST = 30
"""More calls of git than any command makes."""


def answers(machine: Machine) -> list[str]:
    return [ref for ref in machine.refs() if "/answers/" in ref]


@pytest.mark.parametrize("action", ACTIONS)
def test_a_run_is_published_after_a_fault_in_any_git_command(site: Site, action: str) -> None:
    """After each fault `inbox send` publishes the run; a reviewer sees it whole or not at all."""
    site.asks()
    ana = site.machine("Ana")
    for at in range(1, MOST):
        ci = site.machine(CI)
        shim = Shim(ci, at, action, "every" if "killed" in action else "network")
        done = ci.run(*LEAVING)
        shim.remove()
        runs = ci.json("history")["runs"]
        run = runs[0]["execution_id"]
        seen = {one["run"]: one for one in ana.waiting()}
        assert run not in seen or seen[run]["message"].startswith("Apply the change"), at
        if shim.reached < at:
            assert done.returncode == 4, done.stderr
            return
        if "gone" in action:
            assert done.returncode in (1, 4), (at, done.stderr)
        sent = ci.run("inbox", "send", run)
        assert sent.returncode == 4, (at, sent.stderr)
        assert json.loads(sent.stdout)["n"] == 1
        assert any(one["run"] == run and one["n"] == 1 for one in ana.waiting())
    pytest.fail("there are more calls of git than expected")


@pytest.mark.parametrize("action", ACTIONS)
def test_an_answer_is_sent_once_after_a_fault_in_any_git_command(site: Site, action: str) -> None:
    """After each fault the answer is sent by a resume, once."""
    site.asks()
    ci = site.machine(CI)
    for at in range(1, MOST):
        run = ci.leaves()["execution_id"]
        ana = site.machine("Ana")
        shim = Shim(ana, at, action, "every" if "killed" in action else "network")
        done = ana.run("inbox", "answer", run, "--yes")
        shim.remove()
        if shim.reached < at:
            assert done.returncode == 0, done.stderr
            return
        again = (
            ana.run("resume", "--yes") if _is_unfinished(ana) else ana.run("inbox", "answer", run, "--yes")
        )
        assert again.returncode == 0 or "answered the question" in again.stderr, (at, again.stderr)
        mine = [ref for ref in answers(ci) if run in ref]
        assert mine == [f"refs/tideate/answers/{run}/1"], at
    pytest.fail("there are more calls of git than expected")


@pytest.mark.parametrize("action", ACTIONS)
def test_a_run_is_continued_after_a_fault_in_any_git_command(site: Site, action: str) -> None:
    """After each fault the same command continues the run to the same end; the model is not asked again."""
    site.asks()
    ci, ana = site.machine(CI), site.machine("Ana")
    for at in range(1, MOST):
        run = ci.leaves()["execution_id"]
        ana.ok("inbox", "answer", run, "--yes")
        asked = len(site.server.requests)
        job = site.machine(CI)
        command = ("resume", "--from", "origin", run, "--land", "branch")
        shim = Shim(job, at, action, "every" if "killed" in action else "network")
        done = job.run(*command)
        shim.remove()
        if shim.reached >= at:
            again = job.run(*command)
            ended = "no such run" in again.stderr  # only the removal was repeated
            assert again.returncode == 0 or ended, (at, done.stderr, again.stderr)
        assert job.read("a.py") == SHORT, at
        assert [ref for ref in job.refs() if run[:8] in ref] == [f"refs/heads/tideate/{run[:8]}"], at
        assert len(site.server.requests) == asked
        if shim.reached < at:
            assert done.returncode == 0, done.stderr
            return
    pytest.fail("there are more calls of git than expected")


def _is_unfinished(machine: Machine) -> bool:
    return any(run["resumable"] for run in machine.json("history")["runs"])
