"""Group commit: buffered writes of runs, and other jobs, in one transaction."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tideate_core.errors import RunLost, StoreError, TideateError
from tideate_core.store.database import is_of_the_database, translated
from tideate_core.store.delivery import call_in
from tideate_core.store.log_statements import write_counts, write_events, write_start
from tideate_core.store.transaction import Tally

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tideate_core.store.delivery import Delivery
    from tideate_core.store.log_statements import EventValues, Started
    from tideate_core.store.records import ControlRequest, Status
    from tideate_core.store.transaction import Transaction

    Write = Callable[[Transaction, Tally], Any]
    """Writes one record of a run."""

T = TypeVar("T")


@dataclass(slots=True)
class Batch:
    """The writes of one run in one commit."""

    tally: Tally
    events: list[EventValues] = field(default_factory=list)
    starts: dict[str, Started] = field(default_factory=dict)
    """Steps that started but did not end in this commit; written before `writes`."""
    writes: list[tuple[Write, Delivery | None]] = field(default_factory=list)
    """In order; with a delivery if a caller waits."""
    status: tuple[Status, str | None] | None = None

    def __bool__(self) -> bool:
        """Return whether there is anything to write."""
        return bool(self.events or self.starts or self.writes or self.status)

    @property
    def deliveries(self) -> list[Delivery]:
        """The deliveries of all waiting callers."""
        return [delivery for _, delivery in self.writes if delivery is not None]

    def refuse(self, error: Exception) -> list[Delivery]:
        """Set an error for all waiting callers and return their deliveries."""
        for delivery in self.deliveries:
            delivery.error = error
        return self.deliveries


class RunBuffer:
    """Buffered writes of one run, and its callbacks in the event loop that created it.

    All methods except the callbacks belong to the writer and run in its thread.
    """

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self._loop = asyncio.get_running_loop()
        self._failure: StoreError | None = None
        self._on_control_request: Callable[[ControlRequest], None] | None = None
        self._early_requests: list[ControlRequest] = []
        self._on_lost: Callable[[], None] | None = None
        self._sequence = 0
        """Number of the last event."""
        self._cursor = 0
        """Number of steps that have durably ended."""
        self._status: Status | None = None
        """Status in the database, None before the first write here."""
        self._released = False
        """Its last write is durable."""
        self._next = Batch(Tally(run_id, 0))

    @property
    def on_control_request(self) -> Callable[[ControlRequest], None] | None:
        """Called with another process's request; requests made before it is set are passed then."""
        return self._on_control_request

    @on_control_request.setter
    def on_control_request(self, call: Callable[[ControlRequest], None] | None) -> None:
        self._on_control_request = call
        while call is not None and self._early_requests:
            call(self._early_requests.pop(0))

    @property
    def on_lost(self) -> Callable[[], None] | None:
        """Called when the run must stop at once; `failure` has the reason."""
        return self._on_lost

    @on_lost.setter
    def on_lost(self, call: Callable[[], None] | None) -> None:
        self._on_lost = call
        if call is not None and self._failure is not None:
            call()

    @property
    def failure(self) -> StoreError | None:
        """The reason why this process can no longer write the run; RunLost if another process owns it."""
        return self._failure

    def fail(self, error: StoreError) -> None:
        """Stop all further writes of this run by this process; called in the writer's thread."""
        if self._failure is None:
            self._failure = error
            call_in(self._loop, self._call_on_lost)

    def pass_on(self, request: ControlRequest) -> None:
        """Pass on another process's request; called in the writer's thread."""
        call_in(self._loop, self._call_on_control_request, request)

    def _call_on_lost(self) -> None:
        if self._on_lost is not None:
            self._on_lost()

    def _call_on_control_request(self, request: ControlRequest) -> None:
        if self._on_control_request is None:
            self._early_requests.append(request)
        else:
            self._on_control_request(request)

    @property
    def lost_message(self) -> str:
        return f"run {self.run_id} was taken over by another process; this process no longer writes it"

    def _refuse_if_released(self) -> None:
        if self._released:
            raise RunLost(
                f"run {self.run_id} has ended or was released here; nothing more can be written of it"
            )

    def count_from(self, sequence: int, cursor: int) -> None:
        """Continue the counts of events and of ended steps."""
        self._sequence, self._cursor = sequence, cursor

    def take_batch(self) -> Batch:
        """Take the buffered writes; the caller holds the writer's lock."""
        batch, self._next = self._next, Batch(Tally(self.run_id, self._cursor))
        return batch

    def write(self, transaction: Transaction, batch: Batch) -> None:
        """Write a batch.

        :raises RunLost: another process owns the run.
        """
        self._refuse_if_released()
        if self._failure is not None:
            raise self._failure
        # counted again at each attempt
        batch.tally = tally = Tally(self.run_id, self._cursor)
        if batch.status is not None:
            status, tally.step = batch.status
            tally.moved = True
            tally.status = status if status != self._status else None
        if batch.events:
            write_events(transaction, batch.events)
        for started in batch.starts.values():
            write_start(transaction, tally, started)
        for write, delivery in batch.writes:
            result = write(transaction, tally)
            if delivery is not None:
                delivery.result = result
        write_counts(transaction, tally)

    def committed(self, batch: Batch) -> list[Delivery]:
        """Update the durable counts and return the deliveries of waiting callers."""
        self._cursor = batch.tally.cursor
        if batch.status is not None:
            self._status = batch.status[0]
        return batch.deliveries

    def keep(self, batch: Batch) -> bool:
        """Return an unwritten batch to the buffer for the next commit; returns whether the buffer has writes.

        The caller holds the writer's lock.
        """
        later = self._next
        self._next = replace(
            later,
            events=batch.events + later.events,
            starts=batch.starts | later.starts,
            writes=batch.writes + later.writes,
            status=later.status or batch.status,
        )
        return bool(self._next)


@dataclass(slots=True, eq=False)
class Job(Generic[T]):
    """A write outside of any run's log, with its result to deliver."""

    do: Callable[[Transaction], T]
    delivery: Delivery


class Rejected(Exception):
    """One item of a transaction cannot be written; the others can."""

    def __init__(self, item: RunBuffer | Job[Any], error: Exception) -> None:
        super().__init__(str(error))
        self.item = item
        self.error = error


@dataclass(slots=True)
class GroupCommit:
    """The jobs and batches of one transaction."""

    jobs: list[Job[Any]] = field(default_factory=list)
    batches: dict[RunBuffer, Batch] = field(default_factory=dict)

    def write(self, path: Path, transaction: Transaction) -> None:
        """Write all items.

        :param path: the database's path.
        :raises Rejected: one item cannot be written.
        :raises sqlite3.Error, OSError: nothing can be written now.
        """
        for log, batch in self.batches.items():
            _attempt(path, log, log.write, transaction, batch)
        for job in self.jobs:
            job.delivery.result = _attempt(path, job, job.do, transaction)

    def finish_jobs(self, failure: StoreError | None) -> list[Delivery]:
        """Return the deliveries of its jobs, with an error if nothing was written."""
        for job in self.jobs:
            job.delivery.error = failure
        return [job.delivery for job in self.jobs]


def _attempt(path: Path, item: RunBuffer | Job[Any], write: Callable[..., T], *values: object) -> T:
    """Write one item; an error of this item alone must not stop the others."""
    try:
        return write(*values)
    except TideateError as error:
        raise Rejected(item, error) from error
    except (sqlite3.Error, OSError) as error:
        if is_of_the_database(error):
            raise
        raise Rejected(item, translated(path, error)) from error
    except Exception as error:
        raise Rejected(item, error) from error
