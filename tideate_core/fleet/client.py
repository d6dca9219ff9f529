"""Client of a fleet: submit, list, show, cancel, retry and release runs."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text

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
from tideate_core.fleet.legs import CONTINUE, ENDED, FIRE, RETRIED, START, Leg, State, leg_id
from tideate_core.fleet.names import HELD, QUIET
from tideate_core.fleet.objects import forget_objects
from tideate_core.fleet.queues import enqueue_options
from tideate_core.fleet.schedules import Schedules
from tideate_core.fleet.submitting import Submitted, submit_all
from tideate_core.fleet.versions import advice_on_version
from tideate_core.fleet.views import FleetRun, number_of, result_of, run_of, view_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dbos import WorkflowStatus
    from sqlalchemy import Engine

    from tideate_core.fleet.submission import SignedSubmission

_CONTROL: Final = 0x71DEA7EC0
"""Key of the advisory lock for changes of many legs."""
_AT_ONCE: Final = 500
"""Runs in one transaction."""
_ATTEMPTS: Final = 5
"""Attempts to cancel a run that goes on at the same moment."""
_LISTED: Final = {"application_name": APPLICATION, "load_input": False}


@dataclass(slots=True)
class Fleet:
    """Connection to a fleet; all methods block, and raise FleetError if the database cannot be used."""

    url: str
    _engine: Engine = field(init=False)
    _client: Any = field(init=False)

    def __post_init__(self) -> None:
        self._client = open_client(self.url)
        self._engine = open_engine(self.url)

    def close(self) -> None:
        """Close the connection."""
        self._client.destroy()
        self._engine.dispose()

    def submit(
        self, submissions: Sequence[SignedSubmission], tell: Callable[[int], object] = lambda _done: None
    ) -> Submitted:
        """Submit runs; see `submit_all`."""
        return submit_all(self._client, self._engine, submissions, tell)

    @property
    def schedules(self) -> Schedules:
        """The schedules of the fleet."""
        return Schedules(self._client)

    def has_queue(self, name: str) -> bool:
        """Return whether a worker has ever taken runs from a queue."""
        with plain_errors():
            return self._client.retrieve_queue(name) is not None

    # -- listing ----------------------------------------------------------------------------------------

    def runs(self, state: State | None, limit: int, offset: int) -> list[FleetRun]:
        """Return the runs in a state, the newest first; None: in any state."""
        if state is None:
            return self.page(limit, offset)
        return [*islice((run for run in self._all() if run.state is state), offset, offset + limit)]

    def page(self, limit: int = 50, offset: int = 0) -> list[FleetRun]:
        """Return a page of runs, the newest first."""
        with plain_errors():
            first = self._client.list_workflows(
                name=START, limit=limit, offset=offset, sort_desc=True, **_LISTED
            )
            later = self._later([run_of(one) for one in first])
        return [view_of(one, later.get(run_of(one), [one])[-1]) for one in first]

    def _later(self, runs: Sequence[str]) -> dict[str, list[WorkflowStatus]]:
        """Return the legs after the first, in order, by run."""
        found: dict[str, list[WorkflowStatus]] = {}
        if runs:
            prefixes = [f"{run}-" for run in runs]
            for leg in self._client.list_workflows(name=CONTINUE, workflow_id_prefix=prefixes, **_LISTED):
                found.setdefault(run_of(leg), []).append(leg)
        return {run: sorted(legs, key=number_of) for run, legs in found.items()}

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
        return replace(view_of(legs[0], last), steps=done)

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
        runs = sorted({run_of(one) for one in found})
        if not runs:
            raise RunNotFound(wanted)
        if len(runs) > 1:
            named = ", ".join(run[:12] for run in runs[:5])
            raise InvalidInput(f"several runs begin with {wanted}: {named}; give more digits")
        return sorted(found, key=number_of)

    # -- controlling ------------------------------------------------------------------------------------

    def cancel(self, wanted: str) -> FleetRun:
        """Cancel a run that has not ended; a leg that ends it removes its question from the inbox.

        :raises FleetError: it has ended.
        """
        for _attempt in range(_ATTEMPTS):
            legs = self._legs(wanted, load_input=True)
            last = legs[-1]
            view = view_of(legs[0], last)
            if view.state in ENDED:
                raise FleetError(f"run {view.run[:8]} has ended and cannot be cancelled: it is {view.state}")
            if view.state is State.WAITING or self._interrupted(last):
                self._begin(leg_of(last).cancelling(number_of(last) + 1), last)
                if leg_of(self._legs(view.run, load_input=True)[-1]).cancel:
                    return self.show(view.run)
            # it asked or ended, or an answer came, at this moment
        raise FleetError(f"run {wanted[:8]} goes on faster than it can be cancelled; try again")

    def _interrupted(self, leg: WorkflowStatus) -> bool:
        with self._alone(), plain_errors():
            self._client.cancel_workflow(leg.workflow_id)
            (now,) = self._client.list_workflows(workflow_ids=[leg.workflow_id], **_LISTED)
        return bool(now.status == "CANCELLED")

    def retry(self, wanted: str) -> FleetRun:
        """Retry the last leg of a failed, cancelled, declined or refused run.

        :raises FleetError: the run is in another state.
        """
        legs = self._legs(wanted, load_input=True)
        view = view_of(legs[0], legs[-1])
        if view.state not in RETRIED:
            raise FleetError(
                f"run {view.run[:8]} is {view.state}; only failed, cancelled, declined and refused "
                "runs can be retried"
            )
        last = next(one for one in reversed(legs) if not leg_of(one).cancel)
        leg = leg_of(last).again(number_of(legs[-1]) + 1, result_of(last))
        self._begin(leg, last)
        return self.show(view.run)

    def _begin(self, leg: Leg, before: WorkflowStatus) -> None:
        with plain_errors():
            self._client.enqueue(enqueue_options(leg, leg.submission.queue), leg.model_dump(mode="json"))
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
                raise FleetError(f"the worker {name!r} is still connected to the database; {self._why(name)}")
        try:
            time.sleep(HELD)  # a living worker without its lock notices and ends its legs
            if not lock.is_held():
                raise FleetError(f"the connection was lost, and nothing of {name!r} was released; try again")
            with self._alone():
                return list(self._release(name))
        finally:
            lock.release()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other cancellations and releases waiting: a cancelled leg must not be released."""
        with plain_errors(), self._engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _CONTROL})
            yield

    def _why(self, name: str) -> str:
        """Return advice about a connected worker."""
        legs = self._client.list_workflows(executor_id=name, status="PENDING", load_output=False, **_LISTED)
        advice = (advice_on_version(leg) for leg in legs if leg.name in (START, CONTINUE))
        return next(filter(None, advice), "stop it first")

    def prune(self, before: int) -> list[str]:
        """Remove runs that ended before a time, with their bundles; return their ids.

        :param before: milliseconds since the epoch.
        """
        ended = [one.run for one in self._all() if one.state in ENDED and one.updated_at < before]
        for at in range(0, len(ended), _AT_ONCE):
            runs = ended[at : at + _AT_ONCE]
            with plain_errors():
                legs = [leg_id(run, 1) for run in runs]
                later = self._later(runs)
                legs += [leg.workflow_id for run in runs for leg in later.get(run, [])]
                forget_objects(self._engine, runs)
                self._client.delete_workflows(legs, delete_children=True)
        self._prune_times(before)
        return ended

    def _all(self) -> Iterator[FleetRun]:
        offset = 0
        while page := self.page(_AT_ONCE, offset):
            yield from page
            offset += len(page)

    def _prune_times(self, before: int) -> None:
        """Remove the workflows of schedules' times; the runs that they started stay."""
        until = datetime.fromtimestamp(before / 1000, UTC).isoformat()
        options = {**_LISTED, "name": FIRE, "completed_before": until, "limit": _AT_ONCE}
        with plain_errors():
            while found := self._client.list_workflows(load_output=False, **options):
                self._client.delete_workflows([one.workflow_id for one in found])

    def _release(self, name: str) -> Iterator[str]:
        with plain_errors():
            # without names: a leg may wait for its rate, in a workflow of its own
            found = self._client.list_workflows(
                executor_id=name, status="PENDING", load_output=False, **_LISTED
            )
            by_queue: dict[str | None, list[WorkflowStatus]] = {}
            for leg in found:
                by_queue.setdefault(leg.queue_name, []).append(leg)
            for queue, legs in by_queue.items():
                self._client.resume_workflows([leg.workflow_id for leg in legs], queue_name=queue)
                yield from (run_of(leg) for leg in legs if leg.name in (START, CONTINUE))
