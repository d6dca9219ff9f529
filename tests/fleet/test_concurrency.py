"""Each worker of a queue runs at most its own number of legs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.fleet.site import eventually
from tideate_core.fleet.concurrency import Slots
from tideate_core.fleet.database import open_client

if TYPE_CHECKING:
    from tests.fleet.site import Site
    from tests.harness.model_server import ModelServer


def stored(site: Site) -> int | None:
    """Return the number of legs that DBOS allows each worker of the queue."""
    client = open_client(site.database)
    (number,) = [one.worker_concurrency for one in client.list_queues() if one.name == "tideate"]
    client.destroy()
    return number


def test_legs_of_a_relaunched_dbos_do_not_wait_for_those_of_the_old_one() -> None:
    slots, old = Slots(1), asyncio.new_event_loop()

    async def hold() -> None:
        async with slots.one():
            await asyncio.Event().wait()

    async def enter() -> bool:
        async with asyncio.timeout(10), slots.one():
            return True

    legs = [old.create_task(hold()) for _ in range(2)]
    old.run_until_complete(asyncio.sleep(0))
    assert asyncio.run(enter())
    for leg in legs:
        leg.cancel()
    old.run_until_complete(asyncio.gather(*legs, return_exceptions=True))
    old.close()


@pytest.mark.slow
def test_a_small_worker_beside_a_large_one_runs_only_its_own_number_of_legs(
    site: Site, server: ModelServer
) -> None:
    site.use(server)
    gate = server.holds("What is")
    address = site.remote("one")
    large = site.worker("large", "--concurrency", "3").wait_ready()
    small = site.worker("small", "--concurrency", "1").wait_ready()
    assert stored(site) == 3
    (site.place / "lines").write_text("1\n2\n3\n4\n5\n6\n")
    each = ("--repo", address, "--each", str(site.place / "lines"))
    runs = site.json("submit", "ask", "What is {}?", *each)["runs"]
    eventually(lambda: len(server.requests) == 4)
    eventually(lambda: {one["state"] for one in site.json("fleet", "list")["runs"]} == {"running"})
    assert len(server.requests) == 4
    gate.release()
    for run in runs:
        site.wait_for(run, "completed")
    for worker in (large, small):
        assert worker.stop() == 0
    site.worker("small", "--concurrency", "1").wait_ready()
    assert stored(site) == 1
