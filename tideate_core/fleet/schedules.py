"""Schedules of a fleet: they start runs at the times of cron expressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tideate_core.errors import InvalidInput
from tideate_core.fleet.database import APPLICATION, plain_errors
from tideate_core.fleet.legs import FIRE
from tideate_core.fleet.times import check_name, first_time
from tideate_core.fleet.views import view_of_schedule

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from dbos import DBOSClient, WorkflowStatus

    from tideate_core.fleet.submission import SignedSubmission


@dataclass(frozen=True, slots=True)
class Schedules:
    """The schedules of a fleet; all methods block, and raise FleetError if the database cannot be used."""

    client: DBOSClient

    def create(self, name: str, cron: str, zone: str | None, template: SignedSubmission) -> datetime:
        """Create a schedule that starts a run at each time of a cron expression; return its first time.

        :param zone: time zone of the cron expression; None: UTC.
        :raises InvalidInput: the name, the expression or the zone is invalid, or no such time comes.
        """
        check_name(name)
        first = first_time(cron, zone)
        context = {"signed": template.model_dump(mode="json"), "queue": template.submission.queue}
        with plain_errors():
            self.client.create_schedule(
                schedule_name=name, workflow_name=FIRE, schedule=cron, context=context, cron_timezone=zone
            )
        return first

    def entries(self) -> list[dict[str, Any]]:
        """Return the schedules, each with the error of its last time that started no run."""
        with plain_errors():
            found = self.client.list_schedules()
            failed = self.client.list_workflows(
                name=FIRE, status="ERROR", application_name=APPLICATION, load_input=False, limit=1000
            )
        errors = _last_errors(failed)
        return [
            {**view_of_schedule(dict(one)), "error": errors.get(one["schedule_name"], "")} for one in found
        ]

    def pause(self, name: str) -> None:
        """Pause a schedule.

        :raises InvalidInput: no schedule has this name, as for `resume` and `delete`.
        """
        self._check(name)
        with plain_errors():
            self.client.pause_schedule(name)

    def resume(self, name: str) -> None:
        """Resume a paused schedule."""
        self._check(name)
        with plain_errors():
            self.client.resume_schedule(name)

    def delete(self, name: str) -> None:
        """Delete a schedule, but not its runs."""
        self._check(name)
        with plain_errors():
            self.client.delete_schedule(name)

    def _check(self, name: str) -> None:
        with plain_errors():
            if self.client.get_schedule(name) is None:
                raise InvalidInput(f"there is no schedule {name!r}; `tideate schedule list` lists them")


def _last_errors(failed: Sequence[WorkflowStatus]) -> dict[str, str]:
    """Return the error of the last failed time by schedule."""
    return {str(one.schedule_name): str(one.error) for one in failed}
