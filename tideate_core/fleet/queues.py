"""Queues of a fleet: one for each name, and one beside it for each adapter with a rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.fleet.database import APPLICATION
from tideate_core.fleet.legs import CONTINUE, START

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from dbos import EnqueueOptions

    from tideate_core.fleet.legs import Leg

POLLING: Final = 0.5
"""Seconds between a worker's looks at a queue."""


def queue_of(queue: str, adapter: str | None, known: Collection[str]) -> str:
    """Return the queue of a run: that of its adapter's rate, if a worker has registered one."""
    own = f"{queue}:{adapter}"
    return own if adapter and own in known else queue


def rated_queues(queue: str, rates: Mapping[str, str]) -> dict[str, tuple[int, float]]:
    """Return the queues with a rate: most starts, and the seconds in which they may be."""
    found = {}
    for adapter, rate in rates.items():
        number, _, seconds = rate.partition("/")
        found[f"{queue}:{adapter}"] = (int(number), float(seconds))
    return found


def enqueue_options(leg: Leg, queue: str) -> EnqueueOptions:
    """Return the options of DBOS for a leg; the same leg is enqueued once."""
    options: EnqueueOptions = {
        "workflow_name": START if leg.number == 1 else CONTINUE,
        "queue_name": queue,
        "workflow_id": leg.id,
        "priority": leg.submission.priority,
        "attributes": leg.attributes(),
        "application_name": APPLICATION,
    }
    if leg.submission.timeout is not None:
        options["workflow_timeout"] = leg.submission.timeout
    return options
