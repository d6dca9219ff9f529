"""Rates of providers, for all workers together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

if TYPE_CHECKING:
    from tests.fleet.site import Site
    from tests.harness.model_server import ModelServer


@pytest.mark.slow
def test_two_workers_share_the_rate_of_a_provider(site: Site, server: ModelServer) -> None:
    site.use(server)
    site.more = 'rates = { fake = "2/3" }\n'
    address = site.remote("one")
    server.answers("What is", "A file.")
    for name in ("first", "second"):
        site.worker(name, "--concurrency", "3").wait_ready()
    runs = [site.submit("ask", f"What is {number}?", "--repo", address) for number in range(6)]
    legs = [site.wait_for(run, "completed") for run in runs]
    assert {leg["worker"] for leg in legs} == {"first", "second"}
    with psycopg.connect(site.database) as connection:
        rows = connection.execute(
            "SELECT started_at_epoch_ms FROM dbos.workflow_status WHERE name = 'tideate.permit' ORDER BY 1"
        ).fetchall()
    starts = [int(row[0]) for row in rows]
    assert len(starts) == 6
    assert all(later - earlier >= 3000 for earlier, later in zip(starts, starts[2:], strict=False)), starts
