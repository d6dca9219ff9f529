"""Announcements of answers: the workers of a fleet look at once, instead of at the next time."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from tideate_core.fleet.answers import ANSWERED
from tideate_core.fleet.database import APPLICATION, VARIABLE, database_url, open_client, plain_errors

if TYPE_CHECKING:
    from tideate_core.config import FleetConfig


async def announce_answer(config: FleetConfig, run: str, n: int) -> None:
    """Note at a waiting run of the configured fleet, if any, that a question was answered.

    The workers read the answer itself from the inbox, with all checks.

    :raises ConfigError: the fleet's configuration is wrong.
    :raises FleetError: the database cannot be reached.
    """
    if os.environ.get(VARIABLE) or config.database:
        await asyncio.to_thread(_announce, await database_url(config), run, n)


def _announce(url: str, run: str, n: int) -> None:
    client = open_client(url)
    try:
        with plain_errors():
            for leg in client.list_workflows(
                workflow_id_prefix=f"{run}-",
                status="SUCCESS",
                attributes={"waiting": True},
                application_name=APPLICATION,
                load_input=False,
                load_output=False,
            ):
                client.update_workflow_attributes(leg.workflow_id, {ANSWERED: n}, merge=True)
    finally:
        client.destroy()
