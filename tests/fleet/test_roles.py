"""Database roles that cannot create tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fleet.site import eventually
from tests.harness.documents import blocks
from tideate_core.fleet.database import open_engine

if TYPE_CHECKING:
    from tests.fleet.site import Database, Site

GUIDE = "guides/fleet.md"


def grants() -> list[str]:
    """Return the guide's commands, which an administrator runs once."""
    (found,) = [one.text for one in blocks("text") if str(one.path).endswith(GUIDE) and "GRANT" in one.text]
    return found.replace("TO tideate;", "TO limited;").splitlines()


@pytest.mark.slow
def test_a_role_that_cannot_create_tables_uses_those_of_the_first_worker(
    site: Site, database: Database
) -> None:
    database.server.psql("DROP ROLE IF EXISTS limited; CREATE ROLE limited LOGIN;")
    owners, site.database = site.database, site.database.replace("//postgres@", "//limited@")
    early = site.worker("early")
    assert eventually(early.process.poll) == 1
    assert "an administrator starts the first worker" in " ".join(early.log.read_text().split())
    limited, site.database = site.database, owners
    assert site.worker("first").wait_ready().stop() == 0
    engine = open_engine(owners)
    with engine.begin() as connection:
        for line in grants():
            connection.exec_driver_sql(line)
    site.database = limited
    address = site.remote("one", {"a.txt": "one\n"})
    site.worker("second").wait_ready()
    run = site.submit("apply", "-i", "path=a.txt", "-i", "how=replace", "-i", "text=two", "--repo", address)
    site.wait_for(run, "waiting")
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP OWNED BY limited")
    engine.dispose()
