"""Runs of a fleet: from the submission through questions and failures to the pushed branch."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.fleet.reviewer import Reviewer
from tests.fleet.site import eventually
from tests.harness.model_rules import text_of
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fleet.site import Site
    from tests.harness.model_server import ModelServer

APPLY = ("apply", "-i", "path=a.txt", "-i", "how=replace", "-i")
NO_KEY = "SHA256:" + "A" * 43
SECRET = "sk-of-the-worker-0123456789"


@pytest.fixture(autouse=True)
def own_home(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reviewer's git is not the tester's."""
    monkeypatch.setenv("HOME", str(site.home("reviewer")))


def reviewed(site: Site, run: str, address: str, decision: Decision | None = None) -> Reviewer:
    """Answer the open question of a run, once it is asked."""
    reviewer = Reviewer(site.place / f"reviewer-{run[:8]}")
    site.wait_for(run, "waiting")
    assert reviewer.answer(address, decision) == 1
    return reviewer


def test_a_reviewed_run_is_pushed_as_a_branch_and_leaves_nothing_else(site: Site) -> None:
    address = site.remote("one", {"a.txt": "one\n"})
    worker = site.worker("first").wait_ready()
    run = site.submit(*APPLY, "text=two", "--repo", address)
    reviewed(site, run, address)
    shown = site.wait_for(run, "completed")
    assert (shown["legs"], shown["branch"]) == (2, f"tideate/{run[:8]}")
    assert set(site.refs(address)) == {"HEAD", "refs/heads/main", f"refs/heads/tideate/{run[:8]}"}
    assert site.file(address, shown["branch"], "a.txt") == "two\n"
    said = site.git(
        "--git-dir", address.removeprefix("file://"), "log", "-1", "--format=%an%n%b", shown["branch"]
    )
    assert said.split() == ["Ana", "Tideate-Run:", run]
    assert site.submit(*APPLY, "text=two", "--repo", address, "--key", "k") == site.submit(
        *APPLY, "text=two", "--repo", address, "--key", "k"
    )
    assert len(site.json("fleet", "list")["runs"]) == 2
    assert worker.stop() == 0


def test_only_submissions_with_an_allowed_key_run(site: Site) -> None:
    address = site.remote("one")
    site.worker("strict", allow=(NO_KEY,)).wait_ready()
    run = site.submit(*APPLY, "text=two", "--repo", address)
    assert "is not in `[fleet] allow`" in site.wait_for(run, "refused")["message"]
    assert set(site.refs(address)) == {"HEAD", "refs/heads/main"}


@pytest.mark.slow
def test_cancelling_removes_the_question_and_retrying_asks_it_again(site: Site) -> None:
    address = site.remote("one", {"a.txt": "one\n"})
    site.worker("first").wait_ready()
    run = site.submit(*APPLY, "text=two", "--repo", address)
    site.wait_for(run, "waiting")
    site.json("fleet", "cancel", run)
    site.wait_for(run, "cancelled")
    eventually(lambda: not any(run in ref for ref in site.refs(address)))
    assert "has ended" in site.run("fleet", "cancel", run).stderr
    site.json("fleet", "retry", run)
    reviewed(site, run, address, Decision(False, by="user", reason="not now"))
    assert site.wait_for(run, "declined")["branch"] is None
    site.json("fleet", "retry", run)
    reviewed(site, run, address)
    assert site.wait_for(run, "completed")["branch"] == f"tideate/{run[:8]}"


@pytest.mark.slow
@pytest.mark.crash
def test_a_killed_worker_continues_its_runs_without_repeating_a_model_turn(
    site: Site, server: ModelServer
) -> None:
    site.use(server, f'headers = {{Authorization = "Bearer {SECRET}"}}\n')
    plan = {
        "files": [
            {"action": "modify", "path": "a.txt", "why": "w"},
            {"action": "create", "path": "b.txt", "why": "n"},
        ]
    }
    server.answers("Which files have to be", plan)
    server.answers("Change a.txt", "```\ntwo\n```")
    gate = server.holds("the new file b.txt")
    address = site.remote("one", {"a.txt": "one\n"})
    worker = site.worker("first").wait_ready()
    run = site.submit("multi_file", "change it", "--repo", address)
    reviewed(site, run, address)
    gate.wait_started()
    worker.kill()
    server.answers("Write the new file b.txt", "```\nnew\n```")
    gate.release()
    site.worker("first").wait_ready()
    reviewed(site, run, address)
    shown = site.wait_for(run, "completed", "failed")
    assert shown["state"] == "completed", (shown, site.logs())
    assert site.file(address, shown["branch"], "b.txt") == "new\n"
    asked = [text_of(body) for body in server.requests]
    assert sum("Which files have to be" in text for text in asked) == 1
    assert sum("Change a.txt" in text for text in asked) == 1
    no_secret_in(site)


def no_secret_in(site: Site) -> None:
    """Look for the worker's secrets in the whole database, all refs and all logs."""
    import psycopg

    with psycopg.connect(site.database) as connection:
        tables = connection.execute(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables "
            "WHERE schemaname IN ('dbos', 'tideate')"
        ).fetchall()
        assert ("tideate.objects",) in tables
        for (table,) in tables:
            rows = connection.execute(f"SELECT * FROM {table}").fetchall()
            assert SECRET not in repr(rows), table
            assert b"BEGIN OPENSSH PRIVATE" not in repr(rows).encode(), table
    for log in [*site.place.glob("*.log"), *site.place.glob("homes/*/state/tideate/*.log")]:
        assert SECRET not in log.read_text(), log
    found = subprocess.run(["grep", "-rlF", SECRET, *map(str, site.place.glob("*.git"))], capture_output=True)
    assert found.stdout == b""


@pytest.mark.slow
@pytest.mark.crash
def test_runs_are_released_only_after_their_worker_is_gone(site: Site, server: ModelServer) -> None:
    site.use(server, f'headers = {{Authorization = "Bearer {SECRET}"}}\n')
    gate = server.holds("What is")
    address = site.remote("one")
    lost = site.worker("lost").wait_ready()
    run = site.submit("ask", "What is it?", "--repo", address)
    gate.wait_started()
    site.worker("other").wait_ready()
    assert "is running" in site.run("worker", "--name", "lost", who="lost").stderr
    eventually(lambda: "is still connected" in site.run("fleet", "release", "lost").stderr)
    lost.kill()
    server.answers("What is it", "A file.")
    gate.release()
    eventually(lambda: site.run("fleet", "release", "lost").returncode == 0)
    assert site.wait_for(run, "completed")["worker"] == "other"


@pytest.mark.slow
@pytest.mark.crash
def test_another_worker_continues_after_the_last_stored_model_turn(site: Site, server: ModelServer) -> None:
    site.use(server)
    site.more = "bundle_every = 1\n"
    server.answers("First", "one")
    gate = server.holds("Second")
    address = site.remote("shop")
    for name in ("lost", "other"):
        folder = site.home(name) / "config" / "tideate" / "workflows"
        folder.mkdir()
        steps = "steps:\n  - {id: a, task: First}\n  - {id: b, task: Second, dependencies: [a]}\n"
        (folder / "two.yaml").write_text(steps)
    lost = site.worker("lost").wait_ready()
    run = site.submit("two", "--repo", address)
    gate.wait_started()
    eventually(lambda: stored_bundles(site, run))
    lost.kill()
    gate.release()
    site.worker("other").wait_ready()
    eventually(lambda: site.run("fleet", "release", "lost").returncode == 0)
    assert site.wait_for(run, "completed", "failed")["state"] == "completed", site.logs()
    asked = [text_of(body) for body in server.requests]
    assert (sum("First" in text for text in asked if "Second" not in text), len(asked)) == (1, 3)


def stored_bundles(site: Site, run: str) -> int:
    import psycopg

    with psycopg.connect(site.database) as connection:
        found = connection.execute("SELECT count(*) FROM tideate.objects WHERE run = %s", (run,)).fetchone()
    assert found is not None
    return int(found[0])


@pytest.mark.slow
def test_each_line_becomes_a_run_and_schedules_pause_and_end(site: Site, tmp_path: Path) -> None:
    address = site.remote("one", {"a.txt": "one\n"})
    site.worker("first", "--concurrency", "4").wait_ready()
    (tmp_path / "lines").write_text("two\n\nthree\n")
    runs = site.json("submit", *APPLY, "text={}", "--repo", address, "--each", str(tmp_path / "lines"))[
        "runs"
    ]
    assert len(runs) == 2
    assert all(site.wait_for(run, "waiting") for run in runs)
    missing = site.run("submit", *APPLY, "text=x", "--repo", address, "--each", str(tmp_path / "lines"))
    assert "needs a placeholder" in missing.stderr
    schedule = ("nightly", "* * * * * *", *APPLY[:1], "--repo", address, *APPLY[1:], "text=z", "--no-land")
    site.json("schedule", "create", *schedule)
    never = site.run("schedule", "create", "never", "0 3 31 2 *", *schedule[2:])
    assert (never.returncode, "no time that ever comes" in never.stderr) == (2, True)
    eventually(lambda: len(site.json("fleet", "list")["runs"]) > 3)
    site.json("schedule", "pause", "nightly")
    (shown,) = site.json("schedule", "list")["schedules"]
    assert (shown["state"], shown["workflow"]) == ("paused", "apply")
    site.json("schedule", "resume", "nightly")
    site.json("schedule", "delete", "nightly")
    assert site.json("schedule", "list")["schedules"] == []
    assert "there is no schedule" in site.run("schedule", "pause", "nightly").stderr
    fired = [one for one in site.json("fleet", "list")["runs"] if one["run"] not in runs]
    assert len({one["run"] for one in fired}) == len(fired)
    assert site.wait_for(fired[0]["run"], "waiting", "refused")["state"] == "waiting"
    assert json.dumps(fired)
