"""Rates of providers: a leg waits for its permit, a workflow in the rate-limited queue of the provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dbos import DBOS

from tideate_core.fleet.database import APPLICATION
from tideate_core.fleet.queues import POLLING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dbos import EnqueueOptions

    from tideate_core.config import Config
    from tideate_core.fleet.legs import Leg
    from tideate_core.fleet.submission import Submission

PERMIT: Final = "tideate.permit"
"""Name of the DBOS workflow that only has to be dequeued."""
_PREFIX: Final = "rate:"


def rated_provider(submission: Submission, config: Config) -> str | None:
    """Return the rated adapter or provider of a run; None without a rate."""
    name = submission.adapter or config.adapter_for(submission.workflow)
    configured = config.adapters.get(name)
    model = name if configured is None else "" if configured.base_url else configured.model
    found = (one for one in (name, model.partition(":")[0]) if one in config.fleet.rates)
    return next(found, None)


def rate_queues(rates: Mapping[str, str]) -> dict[str, tuple[int, float]]:
    """Return the queues of permits: by name, the maximum number of starts and the period in seconds."""
    found = {}
    for provider, rate in rates.items():
        number, _, seconds = rate.partition("/")
        found[f"{_PREFIX}{provider}"] = (int(number), float(seconds))
    return found


def is_rate_queue(name: str) -> bool:
    """Return whether a queue holds permits."""
    return name.startswith(_PREFIX)


def register_permits() -> None:
    """Register the workflow of permits; call it once in a process, before DBOS is launched."""

    @DBOS.workflow(name=PERMIT)
    async def permit() -> None:
        pass


def register_rates(rates: Mapping[str, str]) -> None:
    """Store the rates of a worker; blocking. They replace the stored ones."""
    for name, (number, seconds) in rate_queues(rates).items():
        DBOS.register_queue(
            name,
            limiter={"limit": number, "period": seconds},
            polling_interval_sec=POLLING,
            on_conflict="always_update",
        )


async def wait_for_permit(leg: Leg, provider: str) -> None:
    """Wait within the workflow of a leg until the rate of a provider allows one more."""
    options: EnqueueOptions = {
        "workflow_name": PERMIT,
        "queue_name": f"{_PREFIX}{provider}",
        "workflow_id": f"{leg.id}-permit",
        "application_name": APPLICATION,
    }
    handle = await DBOS.enqueue_workflow_with_options_async(options)
    await handle.get_result()
