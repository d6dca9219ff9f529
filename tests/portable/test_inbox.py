"""A run is left at its review, answered in another clone, continued and landed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.interrupted import LOOP, SHORT
from tests.portable.inboxing import CI, site

if TYPE_CHECKING:
    from tests.portable.inboxing import Site

__all__ = ["site"]


def test_a_run_is_left_answered_elsewhere_continued_and_landed(site: Site) -> None:
    site.asks()
    ci, ana = site.machine(CI), site.machine("Ana")
    left = ci.leaves()
    run = left["execution_id"]
    assert (left["n"], left["kind"], left["ref"]) == (1, "review", f"refs/tideate/runs/{run}")
    assert (ci.read("a.py"), ana.read("a.py")) == (LOOP, LOOP)
    (one,) = ana.waiting()
    assert (one["run"], one["remote"], one["answered_by"], one["signed"]) == (run, "origin", None, False)
    shown = ana.ok("inbox", "show", run[:8]).stdout
    assert "+    return sum(range(n))" in shown
    assert "answered question 1" in ana.ok("inbox", "answer", run[:8], "--yes").stdout
    assert ana.waiting()[0]["answered_by"] == "Ana <ana@example.org>"
    job = site.machine(CI)  # a new container, which knows nothing of the run
    done = job.ok("resume", "--from", "origin", run[:8], "--land", "branch")
    assert "answered by Ana <ana@example.org>" in done.stderr
    assert job.read("a.py") == SHORT
    assert job.refs() == [f"refs/heads/tideate/{run[:8]}"]
    assert job.git("status", "--short") == "M a.py"
    ana.git("fetch", "-q", "origin")
    assert ana.git("show", f"origin/tideate/{run[:8]}:a.py") == SHORT.strip()
    assert ana.git("log", "-1", "--format=%s %p", f"origin/tideate/{run[:8]}") == (
        f"shorten {ana.git('rev-parse', '--short', 'origin/main')}"
    )
    assert ana.waiting() == []
