"""Queues of a fleet: one for each name, and one more for each adapter with a rate limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.fleet.database import APPLICATION
from tideate_core.fleet.legs import CONTINUE, START

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from dbos import EnqueueOptions

    from tideate_core.fleet.legs import Leg

POLLING: Final = 0.5
"""Seconds between two polls of a queue by a worker."""


def queue_of(queue: str, adapter: str | None, known: Collection[str]) -> str:
    """Return the queue of a run: its adapter's rate-limited queue if a worker registered one, or `queue`."""
    own = f"{queue}:{adapter}"
    return own if adapter and own in known else queue


def rated_queues(queue: str, rates: Mapping[str, str]) -> dict[str, tuple[int, float]]:
    """Return the queues with rate limits: by name, the maximum number of starts and the period in seconds."""
    found = {}
    for adapter, rate in rates.items():
        number, _, seconds = rate.partition("/")
        found[f"{queue}:{adapter}"] = (int(number), float(seconds))
    return found


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
