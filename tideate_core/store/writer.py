"""The one thread that writes: it gathers what is waiting into one transaction and commits it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tideate_core.errors import RunLost, StoreError
from tideate_core.store.database import may_pass, translated
from tideate_core.store.delivery import Delivery, tell
from tideate_core.store.held import TICK, Held
from tideate_core.store.leases import now_ms
from tideate_core.store.load import Job, Load, Rejected, attempt
from tideate_core.store.locking import begin, wait_briefly
from tideate_core.store.place import Place
from tideate_core.store.transaction import Transaction

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tideate_core.store.leases import Owner
    from tideate_core.store.log import RunLog
    from tideate_core.store.objects import Objects

__all__ = ["Writer"]

T = TypeVar("T")

RETRY_AFTER: Final = 1.0
"""Seconds until what nobody waits for is tried again after a commit failed."""

STUCK: Final = 0.5
"""Seconds of a commit after which something is in its way."""

LOCKED: Final = 5.0
"""Seconds that one commit waits while another process has the database locked."""

PATIENCE: Final = 30.0
"""Seconds for which what a run waits for is tried again while the database is locked or the disk full."""


class Writer:
    """Owns the connection; whoever wants something written hands it over and waits.

    :param owner: as whom the runs of this process are held.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, objects: Objects, owner: Owner) -> None:
        self.owner = owner
        self.lock = threading.Lock()
        """Guards what logs buffer and `dirty`; held for moments, never during input or output."""
        self.dirty: dict[RunLog, None] = {}
        """The logs that have something buffered."""
        self.held = Held(connection, owner)
        """The runs that this process has, for this thread alone."""
        self._path = path
        self._connection = connection
        self._objects = objects
        self._inbox: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._jobs: list[Job[Any]] = []
        self._abandoned: set[str] = set()
        """Runs whose leases are to go as soon as something can be written."""
        self._committing_since: float | None = None
        self._since: dict[RunLog, float] = {}
        """Since when the runs wait that cannot be written."""
        self._place = Place(path)
        self._gone: StoreError | None = None
        self._closed = False
        self._error: StoreError | None = None
        self._urgent = False
        wait_briefly(connection)
        self._next_flush = 0.0
        self._thread = threading.Thread(target=self._serve, name="tideate-store", daemon=True)
        self._thread.start()

    async def do(self, job: Callable[[Transaction], T]) -> T:
        """Do something in a transaction; durable when this returns.

        :param job: called in the writer's thread; what it writes is undone if it raises.
        :raises StoreError: it could not be written.
        """
        delivery = Delivery(asyncio.get_running_loop().create_future())
        with self.lock:
            self.refuse_if_closed()
            self._inbox.put(Job(job, delivery))
        result: T = await delivery.future
        return result

    def urge(self) -> None:
        """Commit what is dirty at once. To be called with the lock held."""
        self._inbox.put(None)

    def refuse_if_closed(self) -> None:
        """:raises StoreError: it was closed."""
        if self._gone is not None:
            raise self._gone
        if self._closed:
            raise StoreError(f"{self._path} was closed; open the store again")

    def attach(self, log: RunLog) -> None:
        """Care for a run from now on. In the writer's thread."""
        self.held.attach(log)
        self._abandoned.discard(log.run_id)

    def abandon(self, log: RunLog) -> None:
        """Release a run that could not be released, once the database can be written again."""
        with self.lock:
            if self._gone is None and log.run_id not in self.held:
                self._abandoned.add(log.run_id)
                self.urge()

    @property
    def is_stuck(self) -> bool:
        """Something has been waiting to be written for longer than a commit takes."""
        begun = self._committing_since
        return bool(self._since) or (begun is not None and time.monotonic() - begun > STUCK)

    @property
    def is_gone(self) -> bool:
        """The database is no more where it was: nothing more can be written to it."""
        return self._gone is not None or not self._place.is_there

    def close(self) -> None:
        """Commit what is buffered, give all runs up, end the thread and close the connection.

        :raises StoreError: something buffered could not be written.
        """
        with self.lock:
            if self._closed:
                return
            self._closed = True
            self.urge()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _serve(self) -> None:
        try:
            while not (self._closed and self._inbox.empty()):
                self._take_in()
                self._turn()
            # one that never had a run leaves nothing behind, and waits for no lock to say so
            error = self._commit(last=True) if self.held.had_any else None
            self._error = None if self._gone else error  # those who had runs in it were told
        finally:
            self._connection.close()
            self._refuse_the_rest()

    def _refuse_the_rest(self) -> None:
        """Leave nobody waiting, whatever ended the thread."""
        error = StoreError(f"{self._path} was closed before this was written; open the store again")
        with self.lock:
            self._closed = True
            deliveries = [delivery for log in self.dirty for delivery in log.take().refused(error)]
            self.dirty = {}
        while not self._inbox.empty():
            if (job := self._inbox.get_nowait()) is not None:
                self._jobs.append(job)
        for job in self._jobs:
            job.delivery.error = error
        tell(deliveries + [job.delivery for job in self._jobs])

    def _take_in(self) -> None:
        try:
            item = self._inbox.get(timeout=TICK if self.held or self._abandoned else None)
        except Empty:
            return
        while True:
            self._urgent = True
            if item is not None:
                self._jobs.append(item)
            if self._inbox.empty():
                return
            item = self._inbox.get_nowait()

    def _turn(self) -> None:
        for log in self.held.look():
            self._give_up(log, RunLost(log.lost_message))
        waiting = self.dirty or self._abandoned
        # who closes it is urgent, too, and may leave nothing to write
        urgent, self._urgent = self._urgent and (waiting or self._jobs), False
        if urgent or (waiting and time.monotonic() >= self._next_flush) or self.held.beat_is_due():
            self._commit()

    def _commit(self, *, last: bool = False) -> StoreError | None:
        """Write everything there is; returns why nothing of it could be written."""
        self._committing_since = time.monotonic()
        load = Load(self._jobs)
        self._jobs = []
        with self.lock:
            for log in self.dirty:
                load.batches[log] = log.take()
            self.dirty = {}
        deliveries: list[Delivery] = []
        failure: StoreError | None = None
        passes = False
        while True:
            try:
                self._write(load, last=last)
            except Rejected as rejected:
                deliveries += self._drop(load, rejected)
                continue
            except (sqlite3.Error, OSError) as error:
                failure = translated(self._path, error)
                passes = may_pass(error) and not last
                self._next_flush = time.monotonic() + RETRY_AFTER
                self.held.beat_later(RETRY_AFTER)
            except StoreError as error:
                failure = self._gone = error
            break
        deliveries += self._settled(load, failure, passes=passes)
        self._committing_since = None
        tell(deliveries)
        return failure

    def _write(self, load: Load, *, last: bool) -> None:
        self._place.require()
        abandoned = self._abandoned.copy()
        transaction = Transaction(self._connection, self._objects, self.owner, now_ms())
        begin(self._connection, LOCKED, self.held.hear)
        # what was asked before a step's end is known before that end is told, and the next step starts
        if self.held:
            self.held.hear()
        try:
            # before the jobs: one of them may take such a run up again
            transaction.release(abandoned)
            for log, batch in load.batches.items():
                attempt(self._path, log, log.write, transaction, batch)
            for job in load.jobs:
                job.delivery.result = attempt(self._path, job, job.do, transaction)
            self.held.write(transaction)
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

    def _drop(self, load: Load, rejected: Rejected) -> list[Delivery]:
        item, error = rejected.item, rejected.error
        if isinstance(item, Job):
            load.jobs.remove(item)
            item.delivery.error = error
            return [item.delivery]
        if not isinstance(error, StoreError):
            error = StoreError(f"run {item.run_id} cannot be written down any more: {error!r}")
        self._give_up(item, error)
        return load.batches.pop(item).refused(error)

    def _settled(self, load: Load, failure: StoreError | None, *, passes: bool) -> list[Delivery]:
        """Return who is to be told; of what could not be written, keep what is tried again.

        :param passes: the failure may pass by itself.
        """
        deliveries = load.told(failure)
        with self.lock:
            for log, batch in load.batches.items():
                if failure is None:
                    deliveries += log.written(batch)
                elif self._gone is None and (not batch.is_awaited or (passes and self._is_patient(log))):
                    log.put_back(batch)
                else:
                    # whole: an event of what is not there would be a lie
                    deliveries += batch.refused(failure)
                    self._give_up(log, failure)
        if failure is None:
            self._since.clear()
        elif self._gone is not None:
            for log in self.held.logs:
                self._give_up(log, failure)
        return deliveries

    def _is_patient(self, log: RunLog) -> bool:
        now = time.monotonic()
        return now - self._since.setdefault(log, now) < PATIENCE

    def _give_up(self, log: RunLog, error: StoreError) -> None:
        self.held.detach(log)
        self._since.pop(log, None)
        log.fail(error)
