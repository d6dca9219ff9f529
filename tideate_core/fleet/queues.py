"""Queues of a fleet: how legs enter them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.fleet.database import APPLICATION
from tideate_core.fleet.legs import CONTINUE, START

if TYPE_CHECKING:
    from dbos import EnqueueOptions

    from tideate_core.fleet.legs import Leg

POLLING: Final = 0.5
"""Seconds between two polls of a queue by a worker."""


def enqueue_options(leg: Leg, queue: str) -> EnqueueOptions:
    """Return the DBOS options that enqueue a leg; DBOS enqueues the same leg only once."""
    return {
        "workflow_name": START if leg.number == 1 else CONTINUE,
        "queue_name": queue,
        "workflow_id": leg.id,
        "priority": leg.submission.priority,
        "attributes": leg.attributes(),
        "application_name": APPLICATION,
    }
