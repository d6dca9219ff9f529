"""The writer thread: sole owner of the write connection, with group commit and retries."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tideate_core.errors import RunLost, StoreError
from tideate_core.store.database import begin_transaction, file_identity, may_pass, translated
from tideate_core.store.delivery import Delivery, deliver
from tideate_core.store.group_commit import GroupCommit, Job, Rejected
from tideate_core.store.leases import now_ms
from tideate_core.store.owned_runs import TICK, OwnedRuns
from tideate_core.store.transaction import Transaction

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tideate_core.store.group_commit import RunBuffer
    from tideate_core.store.leases import Owner
    from tideate_core.store.objects import Objects

T = TypeVar("T")

RETRY_AFTER: Final = 1.0
"""Seconds until writes without a waiting caller are retried after a failed commit."""

STUCK: Final = 0.5
"""Seconds after which a commit counts as stuck."""

LOCKED: Final = 5.0
"""Seconds that one commit waits while another process locks the database."""

PATIENCE: Final = 30.0
"""Seconds for which awaited writes of a run are retried while the database is locked or the disk full."""


class Writer:
    """Thread that owns the write connection and commits jobs and buffers.

    :param owner: owner of this process's leases.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, objects: Objects, owner: Owner) -> None:
        self.owner = owner
        self.lock = threading.Lock()
        """Guards the logs' buffers and `dirty`; held for moments, never during I/O."""
        self.dirty: dict[RunBuffer, None] = {}
        """Logs with buffered writes."""
        self.owned_runs = OwnedRuns(connection, owner)
        """Used only in the writer's thread."""
        self._path = path
        self._connection = connection
        self._objects = objects
        self._inbox: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._jobs: list[Job[Any]] = []
        self._abandoned: set[str] = set()
        """Runs whose leases must be deleted with the next successful commit."""
        self._committing_since: float | None = None
        self._since: dict[RunBuffer, float] = {}
        """Start of the wait of each run with failed writes."""
        self._identity = file_identity(path)
        self._gone: StoreError | None = None
        self._closed = False
        self._error: StoreError | None = None
        self._urgent = False
        self._next_flush = 0.0
        self._thread = threading.Thread(target=self._run_thread, name="tideate-store", daemon=True)
        self._thread.start()

    async def do(self, job: Callable[[Transaction], T]) -> T:
        """Run a job in a transaction; durable when this returns.

        :param job: called in the writer's thread; rolled back if it raises.
        :raises StoreError: it could not be written.
        """
        delivery = Delivery(asyncio.get_running_loop().create_future())
        with self.lock:
            self.refuse_if_closed()
            self._inbox.put(Job(job, delivery))
        result: T = await delivery.future
        return result

    def urge(self) -> None:
        """Request an immediate commit; the caller holds the lock."""
        self._inbox.put(None)

    def refuse_if_closed(self) -> None:
        """:raises StoreError: it was closed."""
        if self._gone is not None:
            raise self._gone
        if self._closed:
            raise StoreError(f"{self._path} was closed; open the store again")

    def attach(self, log: RunBuffer) -> None:
        """Start to supervise a run; called in the writer's thread."""
        self.owned_runs.attach(log)
        self._abandoned.discard(log.run_id)

    def abandon(self, log: RunBuffer) -> None:
        """Release a run with the next successful commit, after its release failed."""
        with self.lock:
            if self._gone is None and log.run_id not in self.owned_runs:
                self._abandoned.add(log.run_id)
                self.urge()

    @property
    def is_stuck(self) -> bool:
        """A write has been waiting for longer than a commit takes."""
        begun = self._committing_since
        return bool(self._since) or (begun is not None and time.monotonic() - begun > STUCK)

    @property
    def is_gone(self) -> bool:
        """The database file was moved or replaced; nothing more can be written."""
        return self._gone is not None or file_identity(self._path) != self._identity

    def close(self) -> None:
        """Commit the buffers, release all runs, end the thread and close the connection.

        :raises StoreError: a buffer could not be written.
        """
        with self.lock:
            if self._closed:
                return
            self._closed = True
            self.urge()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run_thread(self) -> None:
        try:
            while not (self._closed and self._inbox.empty()):
                self._receive()
                self._commit_if_due()
            # without a run there is nothing to release, and no lock to wait for
            error = self._commit(last=True) if self.owned_runs.had_any else None
            self._error = None if self._gone else error  # those who had runs in it know
        finally:
            self._connection.close()
            self._refuse_the_rest()

    def _refuse_the_rest(self) -> None:
        """Fail all waiting callers when the thread ends for any reason."""
        error = StoreError(f"{self._path} was closed before this was written; open the store again")
        with self.lock:
            self._closed = True
            deliveries = [delivery for log in self.dirty for delivery in log.take_batch().refuse(error)]
            self.dirty = {}
        while not self._inbox.empty():
            if (job := self._inbox.get_nowait()) is not None:
                self._jobs.append(job)
        for job in self._jobs:
            job.delivery.error = error
        deliver(deliveries + [job.delivery for job in self._jobs])

    def _receive(self) -> None:
        try:
            item = self._inbox.get(timeout=TICK if self.owned_runs or self._abandoned else None)
        except Empty:
            return
        while True:
            self._urgent = True
            if item is not None:
                self._jobs.append(item)
            if self._inbox.empty():
                return
            item = self._inbox.get_nowait()

    def _commit_if_due(self) -> None:
        if self.owned_runs.look_is_due():
            self._look_early()
        waiting = self.dirty or self._abandoned
        # closing is urgent, too, but may find nothing to write
        urgent, self._urgent = self._urgent and (waiting or self._jobs), False
        if urgent or (waiting and time.monotonic() >= self._next_flush) or self.owned_runs.beat_is_due():
            self._commit()

    def _commit(self, *, last: bool = False) -> StoreError | None:
        """Write everything that is pending; returns the error if nothing could be written."""
        self._committing_since = time.monotonic()
        group = GroupCommit(self._jobs)
        self._jobs = []
        with self.lock:
            for log in self.dirty:
                group.batches[log] = log.take_batch()
            self.dirty = {}
        deliveries: list[Delivery] = []
        failure: StoreError | None = None
        passes = False
        while True:
            try:
                self._write(group, last=last)
            except Rejected as rejected:
                deliveries += self._drop(group, rejected)
                continue
            except (sqlite3.Error, OSError) as error:
                failure = translated(self._path, error)
                passes = may_pass(error) and not last
                self._next_flush = time.monotonic() + RETRY_AFTER
                self.owned_runs.beat_later(RETRY_AFTER)
            except StoreError as error:
                failure = self._gone = error
            break
        deliveries += self._settle(group, failure, passes=passes)
        self._committing_since = None
        deliver(deliveries)
        return failure

    def _write(self, group: GroupCommit, *, last: bool) -> None:
        self._refuse_if_replaced()
        abandoned = self._abandoned.copy()
        transaction = Transaction(self._connection, self._objects, self.owner, now_ms())
        begin_transaction(self._connection, LOCKED, self._look_early)
        try:
            # a request from before a step's end is delivered before that end, and before the next step starts
            self._look()
            # before the jobs: one of them may take over such a run
            transaction.release(abandoned)
            group.write(self._path, transaction)
            self.owned_runs.write(transaction)
            if last:
                transaction.execute("DELETE FROM workflow_leases WHERE owner = ?", (self.owner.id,))
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        with self.lock:
            self._abandoned -= abandoned
        for call in transaction.after:
            call()

    def _look(self) -> None:
        """Pass on control requests, and give up the runs that other processes took over."""
        for log in self.owned_runs.look():
            self._give_up(log, RunLost(log.lost_message))

    def _look_early(self) -> None:
        with contextlib.suppress(sqlite3.Error):  # no caller waits: the next look or commit tries again
            self._look()

    def _refuse_if_replaced(self) -> None:
        """:raises StoreError: the file was deleted or replaced; writes to it would be lost."""
        if file_identity(self._path) != self._identity:
            raise StoreError(
                f"{self._path} was deleted or replaced while a run was written to it; data that is missing in"
                " the present file is lost; start the run again"
            )

    def _drop(self, group: GroupCommit, rejected: Rejected) -> list[Delivery]:
        item, error = rejected.item, rejected.error
        if isinstance(item, Job):
            group.jobs.remove(item)
            item.delivery.error = error
            return [item.delivery]
        if not isinstance(error, StoreError):
            error = StoreError(f"run {item.run_id} can no longer be written: {error!r}")
        self._give_up(item, error)
        return group.batches.pop(item).refuse(error)

    def _settle(self, group: GroupCommit, failure: StoreError | None, *, passes: bool) -> list[Delivery]:
        """Return the deliveries of a finished group; return writes to be retried to their buffers.

        :param passes: the failure may be temporary.
        """
        deliveries = group.finish_jobs(failure)
        with self.lock:
            for log, batch in group.batches.items():
                if failure is None:
                    deliveries += log.committed(batch)
                elif self._gone is None and (not batch.deliveries or (passes and self._is_patient(log))):
                    if log.keep(batch):
                        self.dirty[log] = None
                else:
                    # drop the whole batch: an event without its step would be wrong
                    deliveries += batch.refuse(failure)
                    self._give_up(log, failure)
        if failure is None:
            self._since.clear()
        elif self._gone is not None:
            for log in self.owned_runs.logs:
                self._give_up(log, failure)
        return deliveries

    def _is_patient(self, log: RunBuffer) -> bool:
        now = time.monotonic()
        return now - self._since.setdefault(log, now) < PATIENCE

    def _give_up(self, log: RunBuffer, error: StoreError) -> None:
        self.owned_runs.detach(log)
        self._since.pop(log, None)
        log.fail(error)
