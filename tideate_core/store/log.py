"""One run of this process, as it is written down."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import RunLost, StoreError
from tideate_core.store.checked import bounded, require_memo
from tideate_core.store.delivery import Delivery
from tideate_core.store.listening import Listening
from tideate_core.store.objects import pack
from tideate_core.store.transaction import Batch, Tally
from tideate_core.store.writing import (
    forget,
    write_counts,
    write_ending,
    write_events,
    write_memo,
    write_outcome,
    write_release,
    write_start,
)

if TYPE_CHECKING:
    from tideate_core.store.objects import Packed
    from tideate_core.store.records import CheckpointRow, Ending, Status, StepOutcome, StepStart
    from tideate_core.store.transaction import Transaction, Write
    from tideate_core.store.writer import Writer

    _Event = tuple[str, int, str | Packed]  # name, time, data

__all__ = ["TERMINAL", "RunLog"]

TERMINAL: Final = frozenset({"completed", "failed", "cancelled"})
"""Statuses of runs that ended."""


class RunLog(Listening):
    """Writes one run down.

    What a method without `await` gets is buffered: it goes with the next commit, or after at most 100 ms. All
    is written in its order. A commit that fails as the database is locked or the disk is full is tried again
    for `writer.PATIENCE`. After that, or where it fails for another reason, those who wait get a StoreError,
    what they wanted is dropped with all that was to go with it, and the run is lost here. What nobody waits
    for is kept and tried again.

    Once the run was lost, to another process or so, methods without `await` do nothing, the others say why.
    """

    def __init__(self, run_id: str, writer: Writer) -> None:
        super().__init__()
        self.run_id = run_id
        self._writer = writer
        self._sequence = 0
        """The last event's number."""
        self._cursor = 0
        """How many steps have ended, as far as is durable."""
        self._status: Status | None = None
        """As it is in the database, None before the first was written here."""
        self._next = Batch(Tally(run_id, 0))
        self._given_up = False

    @property
    def lost_message(self) -> str:
        return f"run {self.run_id} was taken over by another process; this one does not go on with it"

    def event(self, name: str, at: int, data: dict[str, Any]) -> int:
        """Something happened; returns its number, from 1.

        :param at: milliseconds since the epoch.
        """
        self._refuse_if_given_up()
        value = pack(data)
        with self._writer.lock:
            return self._add_event(name, at, value)

    def status(self, status: Status, step: str | None) -> None:
        """The run stands there now; of several before a commit the last counts.

        That it ended is written by `ended` alone, with all that belongs to it.
        """
        self._refuse_if_given_up()
        if status in TERMINAL:
            return
        with self._writer.lock:
            if self._failure is None:
                self._next.status = (status, step)
                self._writer.dirty[self] = None

    def started(self, start: StepStart) -> None:
        """A step starts, or starts again."""
        started = start, pack(list(start.dependencies))
        self._refuse_if_given_up()
        with self._writer.lock:
            if self._failure is None:
                self._next.starts[start.step] = started
                self._writer.dirty[self] = None

    async def finished(self, outcome: StepOutcome) -> CheckpointRow | None:
        """A step ended; durable when this returns.

        :returns: the checkpoint that is after it, of a completed step.
        :raises RunLost: another process has the run.
        :raises StoreError: it could not be written.
        """
        row: CheckpointRow | None = await self.finish(outcome).future
        return row

    def finish(self, outcome: StepOutcome) -> Delivery:
        """A step ended; as `finished`, and the caller waits for the delivery.

        :raises StoreError: the run was lost, or the store was closed.
        """
        outcome = bounded(outcome)
        result = pack(outcome.result)
        self._refuse_if_given_up()
        with self._writer.lock:
            started = self._next.starts.pop(outcome.step, None)  # then its row is written once
            return self._hand_over(partial(write_outcome, outcome=outcome, result=result, started=started))

    def note(self, step: str, key: str, value: Any) -> None:
        """A step learned something.

        :raises InvalidInput: its key or its value cannot be kept.
        """
        require_memo(step, key, value)
        self._buffer(partial(write_memo, step=step, key=key, value=pack(value)))

    async def remember(self, step: str, key: str, value: Any) -> None:
        """A step learned something; durable when this returns.

        :raises InvalidInput: its key or its value cannot be kept.
        :raises RunLost: another process has the run.
        :raises StoreError: it could not be written.
        """
        require_memo(step, key, value)
        await self._durable(partial(write_memo, step=step, key=key, value=pack(value)))

    def forget(self, step: str) -> None:
        """A step is to know nothing of what it learned so far."""
        self._buffer(partial(forget, step=step))

    async def ended(self, ending: Ending, last: tuple[str, int, dict[str, Any]] | None = None) -> int:
        """The run ended, and nobody has it; durable when this returns. Nothing more can be written.

        :param last: its last event, as `event` takes it; durable with the end or not at all.
        :returns: the number of the run's last event.
        :raises RunLost: another process has the run.
        :raises StoreError: it could not be written; the run can be resumed.
        """
        ending = bounded(ending)
        event = None if last is None else (*last[:2], pack(last[2]))
        return await self._last(partial(write_ending, ending=ending, response=pack(ending.response)), event)

    async def paused_here(self) -> None:
        """The run is paused, and this process keeps it; durable when this returns.

        :raises RunLost: another process has the run.
        :raises StoreError: it could not be written.
        """
        self.status("paused", None)
        await self.flush()

    async def release(self) -> None:
        """The run is nobody's, to be continued; durable when this returns. Nothing more can be written.

        :raises RunLost: another process has the run.
        :raises StoreError: it could not be written.
        """
        await self._last(write_release)

    async def flush(self) -> None:
        """Wait until all so far is durable.

        :raises RunLost: another process has the run.
        :raises StoreError: it could not be written.
        """
        await self._durable(lambda _transaction, _tally: None)

    def _buffer(self, write: Write) -> None:
        self._refuse_if_given_up()
        with self._writer.lock:
            if self._failure is None:
                self._next.writes.append((write, None))
                self._writer.dirty[self] = None

    def _add_event(self, name: str, at: int, value: str | Packed) -> int:
        """Buffer an event. With the writer's lock held."""
        self._sequence += 1
        if self._failure is None:
            self._next.events.append((self.run_id, self._sequence, name, at, value))
            self._writer.dirty[self] = None
        return self._sequence

    async def _last(self, write: Write, event: _Event | None = None) -> int:
        try:
            self._refuse_if_given_up()
            with self._writer.lock:
                number = self._sequence if event is None else self._add_event(*event)
                delivery = self._hand_over(partial(self._final, write))
            await delivery.future
        except StoreError:
            self._writer.abandon(self)
            raise
        return number

    async def _durable(self, write: Write) -> Any:
        self._refuse_if_given_up()
        with self._writer.lock:
            delivery = self._hand_over(write)
        return await delivery.future

    def _hand_over(self, write: Write) -> Delivery:
        """Have something written at once. With the writer's lock held."""
        if self._failure is not None:
            raise self._failure
        self._writer.refuse_if_closed()
        delivery = Delivery(asyncio.get_running_loop().create_future())
        self._next.writes.append((write, delivery))
        self._writer.dirty[self] = None
        self._writer.urge()
        return delivery

    def _final(self, write: Write, transaction: Transaction, tally: Tally) -> None:
        write(transaction, tally)
        transaction.after.append(self._give_up)

    def _give_up(self) -> None:
        self._given_up = True
        self._writer.held.detach(self)

    def _refuse_if_given_up(self) -> None:
        if self._given_up:
            raise RunLost(
                f"run {self.run_id} has ended or was released here; nothing more can be written of it"
            )

    def let_go(self) -> None:
        """Release the run without waiting: nobody has this log."""
        self._buffer(partial(self._final, write_release))

    # what follows is the writer's, in its thread

    def go_on_from(self, sequence: int, cursor: int) -> None:
        """Count on: events from there, steps that ended from there."""
        self._sequence, self._cursor = sequence, cursor

    def take(self) -> Batch:
        """Hand over what is buffered. With the writer's lock held."""
        batch, self._next = self._next, Batch(Tally(self.run_id, self._cursor))
        return batch

    def write(self, transaction: Transaction, batch: Batch) -> None:
        """Write a batch.

        :raises RunLost: another process has the run.
        """
        if self._failure is not None:
            raise self._failure
        has = transaction.execute("SELECT owner FROM workflow_leases WHERE execution_id = ?", (self.run_id,))
        if has.fetchone() != (transaction.owner.id,):
            raise RunLost(self.lost_message)
        # counted anew at every try
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

    def written(self, batch: Batch) -> list[Delivery]:
        """A batch is durable; returns who is to be told."""
        self._cursor = batch.tally.cursor
        if batch.status is not None:
            self._status = batch.status[0]
        return [delivery for _, delivery in batch.writes if delivery is not None]

    def put_back(self, batch: Batch) -> None:
        """A batch was not written: keep it for the next commit. With the writer's lock held."""
        later = self._next
        self._next = replace(
            later,
            events=batch.events + later.events,
            starts=batch.starts | later.starts,
            writes=batch.writes + later.writes,
            status=later.status or batch.status,
        )
        if self._next:
            self._writer.dirty[self] = None
