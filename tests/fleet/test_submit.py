"""`tideate submit`: errors, secrets and repeated submissions."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from tests.fleet.site import eventually
from tideate_core.cli.fleet_options import Progress

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fleet.site import Site

APPLY = ("apply", "-i", "path=a.txt", "-i", "how=replace", "-i")
SECRET = "AKIA" + "IOSFODNN7" + "EXAMQLE"


@pytest.fixture
def ready(site: Site) -> Site:
    """A site whose database a worker has used."""
    site.worker("first", "--queue", "elsewhere").wait_ready().stop()
    return site


@pytest.mark.parametrize(
    ("place", "status", "said"),
    [
        (("--repo", "file:///nosuch"), 1, "cannot be read"),
        (("--repo", "http://127.0.0.1:1/r"), 1, "cannot be read"),
        (("--repo", "ADDRESS", "--ref", "nosuch"), 1, "no branch and no tag nosuch"),
        (("--repo", "."), 2, "the URL or the absolute path"),
        (("--repo", "http://s3cret@127.0.0.1:1/r"), 2, "without a user name"),
    ],
)
def test_an_unusable_repository_is_one_plain_error(
    site: Site, place: tuple[str, ...], status: int, said: str
) -> None:
    address = site.remote("one")
    words = [word.replace("ADDRESS", address) for word in place]
    done = site.run("submit", "ask", "hello", *words)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") <= 2
    assert said in done.stderr and "s3cret" not in done.stderr
    shape = json.loads(site.run("submit", "ask", "hello", *words, "--json").stdout)
    assert said in shape["error"]


@pytest.mark.parametrize(
    ("name", "cron", "said"),
    [("", "0 3 * * *", "name"), ("n", "0\t3 * * *", "cron"), ("n", "0 3 * * *\n", "cron")],
)
def test_an_unusable_schedule_is_one_plain_error(site: Site, name: str, cron: str, said: str) -> None:
    done = site.run("schedule", "create", name, cron, "ask", "hello", "--repo", site.remote("one"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ") and said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("ask", f"use {SECRET}"),
        ("apply", "-i", f"text={SECRET}"),
        ("apply", "-i", "password=hunter2hunter2xyz"),
    ],
)
def test_secrets_are_refused_before_anything_is_stored(site: Site, words: tuple[str, ...]) -> None:
    for command in (("submit",), ("schedule", "create", "nightly", "0 3 * * *")):
        done = site.run(*command, *words, "--repo", site.remote(command[0]))
        assert (done.returncode, done.stdout) == (2, "")
        assert "seems to hold secrets" in done.stderr and SECRET not in done.stderr


@pytest.mark.slow
def test_a_key_is_of_a_person_a_workflow_and_a_repository(ready: Site, tmp_path: Path) -> None:
    one, other = ready.remote("one"), ready.remote("other")
    first = ready.json("submit", *APPLY, "text=two", "--repo", one, "--key", "k")
    assert (first["new"], first["known"]) == (True, [])
    again = ready.json("submit", *APPLY, "text=two", "--repo", one, "--key", "k")
    assert (again["new"], again["known"]) == (False, first["runs"])
    said = ready.run("submit", *APPLY, "text=two", "--repo", one, "--key", "k")
    assert "apply was submitted before, as" in said.stderr
    done = ready.run("submit", *APPLY, "text=OTHER", "--repo", one, "--key", "k")
    assert done.returncode == 2 and "another submission has this key" in done.stderr
    for words in ((*APPLY, "text=two", "--repo", other), ("ask", "hello", "--repo", one)):
        assert ready.json("submit", *words, "--key", "k")["new"]
    assert len(ready.json("fleet", "list")["runs"]) == 3


@pytest.mark.slow
def test_lines_are_counted_once_and_submitted_together(ready: Site, tmp_path: Path) -> None:
    address, lines = ready.remote("one"), tmp_path / "lines"
    lines.write_text("two\nthree\ntwo\n")
    each = ("submit", *APPLY, "text={}", "--repo", address, "--key", "k", "--each", str(lines))
    assert "submitted 2 runs of apply;" in ready.run(*each).stderr
    lines.write_text("two\nfour\n")
    done = ready.run(*each)
    assert "submitted 1 run of apply; 1 were submitted before" in done.stderr
    lines.write_text("five\ntwo\n")
    done = ready.run(*each, "--priority", "3")
    assert done.returncode == 2, done.stderr
    assert len(ready.json("fleet", "list")["runs"]) == 3


@pytest.mark.slow
def test_a_submission_with_secrets_by_consent_waits_with_its_bundle(site: Site) -> None:
    address = site.remote("one")
    site.worker("first").wait_ready()
    run = site.submit(*APPLY, f"text={SECRET}", "--repo", address, "--with-secrets")
    assert site.wait_for(run, "waiting", "failed")["state"] == "waiting"


def test_malformed_rows_are_shown_as_malformed(ready: Site) -> None:
    import psycopg

    address = ready.remote("one")
    good, bad = (ready.submit(*APPLY, f"text={text}", "--repo", address) for text in ("two", "three"))
    ready.json(
        "schedule", "create", "nightly", "0 3 * * *", *APPLY[:1], "--repo", address, *APPLY[1:], "text=z"
    )
    ready.json("schedule", "create", "odd", "0 3 * * *", *APPLY[:1], "--repo", address, *APPLY[1:], "text=z")
    with psycopg.connect(ready.database) as connection:
        update = "UPDATE dbos.workflow_status SET attributes = '[1]' WHERE workflow_uuid = %s"
        connection.execute(update, (f"{bad}-1",))
        connection.execute("UPDATE dbos.workflow_schedules SET context = '[1]' WHERE schedule_name = 'odd'")
    shown = {one["run"]: one for one in ready.json("fleet", "list")["runs"]}
    assert (shown[good]["workflow"], shown[good]["message"]) == ("apply", "")
    assert "malformed" in shown[bad]["message"]
    assert "malformed" in ready.run("fleet", "show", bad).stdout
    states = {one["name"]: one["state"] for one in ready.json("schedule", "list")["schedules"]}
    assert states == {"nightly": "active", "odd": "malformed"}


@pytest.mark.slow
def test_ended_runs_are_removed_with_their_bundles(site: Site) -> None:
    import psycopg

    address = site.remote("one")
    worker = site.worker("first").wait_ready()
    ended, open_ = (site.submit(*APPLY, f"text={text}", "--repo", address) for text in ("two", "three"))
    for run in (ended, open_):
        site.wait_for(run, "waiting")
    site.json("fleet", "cancel", ended)
    site.wait_for(ended, "cancelled")
    assert worker.stop() == 0
    assert site.json("fleet", "prune")["runs"] == []
    assert site.json("fleet", "prune", "--older-than", "0")["runs"] == [ended]
    assert [one["run"] for one in site.json("fleet", "list")["runs"]] == [open_]
    with psycopg.connect(site.database) as connection:
        for query in (
            "SELECT count(*) FROM tideate.objects WHERE run = %s",
            "SELECT count(*) FROM dbos.workflow_status WHERE workflow_uuid LIKE %s || '%%'",
        ):
            assert connection.execute(query, (ended,)).fetchone() == (0,)
            assert connection.execute(query, (open_,)).fetchone() != (0,)


def test_long_work_tells_its_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    tell = Progress("submitted", 2000, now)
    for done, now in ((1, 0.5), (1000, 1.5), (1500, 2.0), (1900, 2.6)):  # noqa: B007 the clock reads it
        tell(done)
    assert capsys.readouterr().err.splitlines() == [
        "note: submitted 1,000 of 2,000",
        "note: submitted 1,900 of 2,000",
    ]


@pytest.mark.slow
def test_the_error_of_a_time_that_started_no_run_is_shown(ready: Site) -> None:
    import psycopg

    ready.json("schedule", "create", "often", "* * * * * *", "ask", "hello", "--repo", ready.remote("one"))
    with psycopg.connect(ready.database) as connection:
        connection.execute("UPDATE dbos.workflow_schedules SET context = '{\"signed\": {}}'")
    ready.worker("first").wait_ready()

    def error() -> str:
        (one,) = ready.json("schedule", "list")["schedules"]
        return str(one["error"])

    assert "malformed" in eventually(error, about=ready.logs)
    assert "malformed" in ready.run("schedule", "list").stdout


def test_a_queue_without_workers_is_told(ready: Site) -> None:
    address = ready.remote("one")
    done = ready.run("submit", "ask", "hello", "--repo", address, "--queue", "nobody")
    assert "no worker takes runs from the queue nobody" in done.stderr
    assert done.returncode == 0
    done = ready.run("submit", "ask", "hello", "--repo", address, "--queue", "elsewhere")
    assert "no worker" not in done.stderr
    assert len(ready.json("fleet", "list", "--state", "queued")["runs"]) == 2
    assert ready.json("fleet", "list", "--state", "waiting")["runs"] == []
