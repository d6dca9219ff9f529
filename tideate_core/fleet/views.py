"""Runs and schedules of a fleet for lists. Rows are data of others: a malformed one is shown as such."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from tideate_core.fleet.legs import LegResult, State
from tideate_core.fleet.submission import SignedSubmission  # noqa: TC001 pydantic reads it
from tideate_core.fleet.versions import advice_on_version

if TYPE_CHECKING:
    from dbos import WorkflowStatus

    from tideate_core.fleet.submission import Submission

M = TypeVar("M", bound=BaseModel)

REASON: Final = "inbox"
"""Attribute of a waiting leg: why its answer does not count, or its inbox cannot be read."""
MALFORMED: Final = "its row in the database is malformed; tideate did not write it so"
_STATES: Final = {
    "DELAYED": State.QUEUED,
    "ENQUEUED": State.QUEUED,
    "PENDING": State.RUNNING,
    "CANCELLED": State.CANCELLED,
}


class _Attributes(BaseModel):
    """Attributes of a leg that lists show."""

    model_config = ConfigDict(extra="ignore", strict=True)

    workflow: str = ""
    prompt: str = ""
    repo: str = ""
    ref: str = ""
    by: str = ""


class _Context(BaseModel):
    """Context of a schedule, from which its runs derive."""

    model_config = ConfigDict(extra="ignore")

    signed: SignedSubmission


@dataclass(frozen=True, slots=True)
class FleetRun:
    """A run of a fleet, for lists and `fleet show`."""

    run: str
    state: State
    workflow: str
    prompt: str
    repo: str
    ref: str
    by: str
    legs: int
    queue: str
    priority: int
    submitted_at: int
    """Milliseconds since the epoch, like `updated_at`."""
    updated_at: int
    worker: str
    """Worker of the last leg."""
    message: str
    """The open question, or the error."""
    branch: str | None
    inbox: str = ""
    """Why the answer to a waiting run does not count, or its inbox cannot be read."""
    steps: tuple[str, ...] = ()
    """Completed DBOS steps of the last leg; empty in lists."""

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        shape = {name: getattr(self, name) for name in self.__slots__}
        return {**shape, "state": self.state.value, "steps": list(self.steps)}


def run_of(leg: WorkflowStatus) -> str:
    """Return the id of a leg's run."""
    return leg.workflow_id.rpartition("-")[0] or leg.workflow_id


def number_of(leg: WorkflowStatus) -> int:
    """Return the number of a leg; 0 if it has none."""
    number = leg.workflow_id.rpartition("-")[2]
    return int(number) if number.isascii() and number.isdigit() else 0


def result_of(leg: WorkflowStatus) -> LegResult | None:
    """Return the result of a leg; None without one."""
    return _read(LegResult, leg.output) if leg.status == "SUCCESS" else None


def view_of(first: WorkflowStatus, last: WorkflowStatus) -> FleetRun:
    """Return a run from its first and last leg."""
    told = _read(_Attributes, first.attributes or {})
    result = result_of(last)
    created = first.created_at or int(time.time() * 1000)
    shown = told or _Attributes()
    return FleetRun(
        run=run_of(first),
        state=result.state if result else _state(last),
        **shown.model_dump(),
        legs=number_of(last),
        queue=last.queue_name or "",
        priority=last.priority or 0,
        submitted_at=created,
        updated_at=last.updated_at or created,
        worker=last.executor_id or "",
        message=MALFORMED if told is None else _message(last, result),
        branch=result.branch if result else None,
        inbox=_reason(last) if result and result.state is State.WAITING else "",
    )


def _state(last: WorkflowStatus) -> State:
    attributes = last.attributes
    if isinstance(attributes, dict) and attributes.get("cancel") is True and last.status in _STATES:
        return State.CANCELLED  # its question may still be in the inbox
    return _STATES.get(last.status, State.FAILED)


def _reason(last: WorkflowStatus) -> str:
    found = last.attributes.get(REASON) if isinstance(last.attributes, dict) else None
    return found if isinstance(found, str) else ""


def _message(last: WorkflowStatus, result: LegResult | None) -> str:
    if result is not None:
        return result.asked.message if result.asked else result.message
    if last.status in _STATES:
        return advice_on_version(last)
    unread = last.status == "SUCCESS" or isinstance(last.error, str)
    return MALFORMED if unread else str(last.error or last.status)


def view_of_schedule(row: dict[str, Any]) -> dict[str, Any]:
    """Return a schedule for lists."""
    context = _read(_Context, row.get("context"))
    one: Submission | None = context.signed.submission if context else None
    names = ("workflow", "prompt", "repo", "ref", "by")
    return {
        "name": str(row["schedule_name"]),
        "cron": str(row["schedule"]),
        "zone": row.get("cron_timezone") or "UTC",
        "state": str(row.get("status", "")).lower() if one else "malformed",
        "last_fired_at": row.get("last_fired_at"),
        **{name: getattr(one, name, "") for name in names},
    }


def _read(model: type[M], value: object) -> M | None:
    """Validate a JSON value of a row; None if it is malformed."""
    try:
        return model.model_validate(value)
    except ValidationError:
        return None
