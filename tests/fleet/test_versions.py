"""Legs that an older version of the application began."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fleet.site import eventually
from tideate_core.fleet.database import open_engine

if TYPE_CHECKING:
    from tests.fleet.site import Site

OLDER = "UPDATE dbos.workflow_status SET status = 'PENDING', application_version = 'tideate-0'"


def refusal(site: Site, name: str) -> str:
    """Return why a worker is not released; empty while the database is young."""
    said = " ".join(site.run("fleet", "release", name).stderr.split())
    return "" if "was started" in said else said


@pytest.mark.slow
def test_a_leg_of_another_version_tells_how_to_continue_its_run(site: Site) -> None:
    address = site.remote("one", {"a.txt": "one\n"})
    worker = site.worker("first").wait_ready()
    run = site.submit("apply", "-i", "path=a.txt", "-i", "how=replace", "-i", "text=two", "--repo", address)
    assert site.wait_for(run, "waiting")["state"] == "waiting"
    engine = open_engine(site.database)
    with engine.begin() as connection:
        assert connection.exec_driver_sql(f"{OLDER} WHERE name = 'tideate.run'").rowcount == 1
    engine.dispose()
    (shown,) = site.json("fleet", "list")["runs"]
    assert shown["state"] == "running"
    assert shown["message"].startswith("only workers of version tideate-0 continue this leg")
    assert f"`tideate fleet cancel {run[:8]}`" in shown["message"]
    assert "tideate-0" in site.run("fleet", "list").stdout
    assert "version tideate-0" in eventually(lambda: refusal(site, "first"))
    site.json("fleet", "cancel", run)
    site.json("fleet", "retry", run)
    assert site.wait_for(run, "waiting")["legs"] == 2
    assert worker.stop() == 0
