"""Client of a fleet: submit, list, show, cancel, retry and release runs; manage schedules."""

from __future__ import annotations

import logging
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from tideate_core.errors import FleetError, InvalidInput, RunNotFound
from tideate_core.fleet.answers import leg_of
from tideate_core.fleet.database import (
    APPLICATION,
    NameLock,
    open_client,
    open_engine,
    plain_errors,
    seconds_since_start,
)
from tideate_core.fleet.legs import CONTINUE, RETRIED, START, Leg, LegResult, State
from tideate_core.fleet.queues import enqueue_options, queue_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dbos import WorkflowStatus
    from sqlalchemy import Engine

    from tideate_core.fleet.submission import SignedSubmission

BATCH: Final = 500
"""Maximum number of runs submitted in one transaction."""
QUIET: Final = 20.0
"""Seconds after a start of the database in which running workers lock their names again."""
_STATES: Final = {
    "DELAYED": State.QUEUED,
    "ENQUEUED": State.QUEUED,
    "PENDING": State.RUNNING,
    "CANCELLED": State.CANCELLED,
}
_ATTEMPTS: Final = 5
"""Attempts to cancel a run that goes on at the same moment."""
_LISTED: Final = {"application_name": APPLICATION, "load_input": False}


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
    steps: tuple[str, ...] = ()
    """Completed DBOS steps of the last leg; empty in lists."""

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        shape = {name: getattr(self, name) for name in self.__slots__}
        return {**shape, "state": self.state.value, "steps": list(self.steps)}


@dataclass(slots=True)
class Fleet:
    """Connection to a fleet; all methods block, and raise FleetError if the database cannot be used."""

    url: str
    _engine: Engine = field(init=False)
    _client: Any = field(init=False)

    def __post_init__(self) -> None:
        logging.getLogger("dbos").setLevel(logging.CRITICAL)  # its errors are translated
        self._client = open_client(self.url)
        self._engine = open_engine(self.url)

    def close(self) -> None:
        """Close the connection."""
        self._client.destroy()
        self._engine.dispose()

    # -- submitting -------------------------------------------------------------------------------------

    def submit(
        self, submissions: Sequence[SignedSubmission], tell: Callable[[int], object] = lambda _done: None
    ) -> list[str]:
        """Submit runs and return their ids; a run that was submitted before is skipped.

        :param tell: called with the number of runs submitted so far.
        """
        queues = self._queues()
        for at in range(0, len(submissions), BATCH):
            batch = submissions[at : at + BATCH]
            with plain_errors(), self._engine.begin() as connection:
                for one in batch:
                    leg = Leg(signed=one, run=one.submission.run)
                    queue = queue_of(one.submission.queue, one.submission.adapter, queues)
                    options = enqueue_options(leg, queue)
                    self._client.enqueue_in_transaction(connection, options, leg.model_dump(mode="json"))
            tell(at + len(batch))
        return [one.submission.run for one in submissions]

    def _queues(self) -> frozenset[str]:
        with plain_errors():
            return frozenset(queue.name for queue in self._client.list_queues())

    # -- listing ----------------------------------------------------------------------------------------

    def page(self, limit: int = 50, offset: int = 0) -> list[FleetRun]:
        """Return a page of runs, the newest first."""
        with plain_errors():
            first = self._client.list_workflows(
                name=START, limit=limit, offset=offset, sort_desc=True, **_LISTED
            )
            later = self._later([_run_of(one) for one in first])
        return [_view(one, later.get(_run_of(one), [one])[-1]) for one in first]

    def _later(self, runs: Sequence[str]) -> dict[str, list[WorkflowStatus]]:
        """Return the legs after the first, in order, by run."""
        found: dict[str, list[WorkflowStatus]] = {}
        if runs:
            prefixes = [f"{run}-" for run in runs]
            for leg in self._client.list_workflows(name=CONTINUE, workflow_id_prefix=prefixes, **_LISTED):
                found.setdefault(_run_of(leg), []).append(leg)
        return {run: sorted(legs, key=_number) for run, legs in found.items()}

    def show(self, wanted: str) -> FleetRun:
        """Return the run with this id or prefix.

        :raises RunNotFound: no run matches.
        :raises InvalidInput: several runs match.
        """
        legs = self._legs(wanted)
        last = legs[-1]
        with plain_errors():
            steps = self._client.list_workflow_steps(last.workflow_id)
        done = tuple(str(step["function_name"]) for step in steps)
        view = _view(legs[0], last)
        return FleetRun(**{**{name: getattr(view, name) for name in view.__slots__}, "steps": done})

    def _legs(self, wanted: str, *, load_input: bool = False) -> list[WorkflowStatus]:
        if not re.fullmatch(r"[0-9a-f]{1,32}", wanted):
            raise RunNotFound(wanted)
        with plain_errors():
            found = self._client.list_workflows(
                name=[START, CONTINUE],
                workflow_id_prefix=wanted,
                application_name=APPLICATION,
                load_input=load_input,
                limit=1000,
            )
        runs = sorted({_run_of(one) for one in found})
        if not runs:
            raise RunNotFound(wanted)
        if len(runs) > 1:
            named = ", ".join(run[:12] for run in runs[:5])
            raise InvalidInput(f"several runs begin with {wanted}: {named}; give more digits")
        return sorted(found, key=_number)

    # -- controlling ------------------------------------------------------------------------------------

    def cancel(self, wanted: str) -> FleetRun:
        """Cancel a run that has not ended; a leg that ends it removes its question from the inbox.

        :raises FleetError: it has ended.
        """
        for _attempt in range(_ATTEMPTS):
            legs = self._legs(wanted, load_input=True)
            last = legs[-1]
            view = _view(legs[0], last)
            if view.state in (State.QUEUED, State.RUNNING):
                with plain_errors():
                    self._client.cancel_workflow(last.workflow_id)
                if self._legs(view.run)[-1].status != "CANCELLED":
                    continue  # it ended, or asked, at this moment
            elif view.state is not State.WAITING:
                raise FleetError(f"run {view.run[:8]} has ended and cannot be cancelled: it is {view.state}")
            self._begin(leg_of(last).cancelling(_number(last) + 1), last)
            if leg_of(self._legs(view.run, load_input=True)[-1]).cancel:  # else an answer was first
                return self.show(view.run)
        raise FleetError(f"run {wanted[:8]} goes on faster than it can be cancelled; try again")

    def retry(self, wanted: str) -> FleetRun:
        """Retry the last leg of a failed, cancelled, declined or refused run.

        :raises FleetError: the run is in another state.
        """
        legs = self._legs(wanted, load_input=True)
        view = _view(legs[0], legs[-1])
        if view.state not in RETRIED:
            raise FleetError(
                f"run {view.run[:8]} is {view.state}; only failed, cancelled, declined and refused "
                "runs can be retried"
            )
        last = next(one for one in reversed(legs) if not leg_of(one).cancel)
        leg = leg_of(last).again(_number(legs[-1]) + 1, _result(last))
        self._begin(leg, last)
        return self.show(view.run)

    def _begin(self, leg: Leg, before: WorkflowStatus) -> None:
        queue = queue_of(leg.submission.queue, leg.submission.adapter, self._queues())
        with plain_errors():
            self._client.enqueue(enqueue_options(leg, queue), leg.model_dump(mode="json"))
            self._client.update_workflow_attributes(before.workflow_id, {"waiting": False}, merge=True)

    def release(self, name: str) -> list[str]:
        """Return the legs of a dead worker to their queues; return the ids of their runs.

        :raises FleetError: the worker is connected to the database, or may be.
        """
        since = seconds_since_start(self._engine)
        if since < QUIET:
            raise FleetError(
                f"the database was started {since:.0f} s ago, and running workers may not have connected "
                f"to it again; try again in {QUIET - since:.0f} s"
            )
        lock = NameLock(self._engine, name)
        with plain_errors():
            if not lock.take():
                raise FleetError(f"the worker {name!r} is still connected to the database; stop it first")
        try:
            return list(self._release(name))
        finally:
            lock.release()

    def _release(self, name: str) -> Iterator[str]:
        with plain_errors():
            found = self._client.list_workflows(
                executor_id=name, status="PENDING", load_output=False, **_LISTED
            )
            by_queue: dict[str | None, list[WorkflowStatus]] = {}
            for leg in found:
                by_queue.setdefault(leg.queue_name, []).append(leg)
            for queue, legs in by_queue.items():
                self._client.resume_workflows([leg.workflow_id for leg in legs], queue_name=queue)
                yield from (_run_of(leg) for leg in legs)

    # -- schedules --------------------------------------------------------------------------------------

    def create_schedule(self, name: str, cron: str, zone: str | None, template: SignedSubmission) -> None:
        """Create a schedule that starts a run at each time of a cron expression.

        :param zone: time zone of the cron expression; None: UTC.
        """
        from tideate_core.fleet.legs import FIRE

        one = template.submission
        queue = queue_of(one.queue, one.adapter, self._queues())
        context = {"signed": template.model_dump(mode="json"), "queue": queue}
        with plain_errors():
            self._client.create_schedule(
                schedule_name=name, workflow_name=FIRE, schedule=cron, context=context, cron_timezone=zone
            )

    def schedules(self) -> list[dict[str, Any]]:
        """Return the schedules."""
        with plain_errors():
            found = self._client.list_schedules()
        return [_schedule(dict(one)) for one in found]

    def change_schedule(self, name: str, change: str) -> None:
        """Pause, resume or delete a schedule.

        :param change: `pause`, `resume` or `delete`.
        :raises InvalidInput: no schedule has this name.
        """
        with plain_errors():
            if self._client.get_schedule(name) is None:
                raise InvalidInput(f"there is no schedule {name!r}; `tideate schedule list` lists them")
            getattr(self._client, f"{change}_schedule")(name)


def _run_of(leg: WorkflowStatus) -> str:
    return leg.workflow_id.rpartition("-")[0]


def _number(leg: WorkflowStatus) -> int:
    number = leg.workflow_id.rpartition("-")[2]
    return int(number) if number.isdigit() else 0


def _result(leg: WorkflowStatus) -> LegResult | None:
    try:
        return LegResult.model_validate(leg.output) if leg.output is not None else None
    except ValidationError:
        return None


def _view(first: WorkflowStatus, last: WorkflowStatus) -> FleetRun:
    shown = {**(first.attributes or {}), **(last.attributes or {})}
    result = _result(last) if last.status == "SUCCESS" else None
    state = _STATES.get(last.status, State.FAILED) if result is None else result.state
    message = "" if result is None else result.asked.message if result.asked else result.message
    if result is None and shown.get("cancel"):
        state = State.CANCELLED  # its question may still be in the inbox
    if result is None and state is State.FAILED:
        message = str(last.error or last.status)
    created = first.created_at or int(time.time() * 1000)
    return FleetRun(
        run=_run_of(first),
        state=state,
        workflow=str(shown.get("workflow", "")),
        prompt=str(shown.get("prompt", "")),
        repo=str(shown.get("repo", "")),
        ref=str(shown.get("ref", "")),
        by=str(shown.get("by", "")),
        legs=_number(last),
        queue=last.queue_name or "",
        priority=last.priority or 0,
        submitted_at=created,
        updated_at=last.updated_at or created,
        worker=last.executor_id or "",
        message=message,
        branch=None if result is None else result.branch,
    )


def _schedule(one: dict[str, Any]) -> dict[str, Any]:
    signed = (one.get("context") or {}).get("signed", {})
    submission = signed.get("submission", {})
    return {
        "name": one["schedule_name"],
        "cron": one["schedule"],
        "zone": one.get("cron_timezone") or "UTC",
        "state": str(one.get("status", "")).lower(),
        "last_fired_at": one.get("last_fired_at"),
        **{key: submission.get(key, "") for key in ("workflow", "prompt", "repo", "ref", "by")},
    }
