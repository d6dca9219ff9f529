"""`RunLog`: write API of one owned run; buffers its events, steps, memos and ending in order."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tideate_core.errors import InvalidInput, StoreError
from tideate_core.store.delivery import Delivery
from tideate_core.store.group_commit import Batch, RunBuffer
from tideate_core.store.log_statements import (
    delete_messages,
    write_ending,
    write_memo,
    write_outcome,
    write_read_messages,
    write_release,
)
from tideate_core.store.objects import DEEPEST, is_deeper, is_storable, pack
from tideate_core.store.records import TERMINAL
from tideate_core.store.transaction import Tally

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tideate_core.store.group_commit import Write
    from tideate_core.store.objects import Packed
    from tideate_core.store.records import Ending, Message, Status, StepOutcome, StepStart
    from tideate_core.store.transaction import Transaction
    from tideate_core.store.writer import Writer

    _Event = tuple[str, int, str | Packed]  # name, time, data

Ended = TypeVar("Ended", "StepOutcome", "Ending")

_MOST_TOKENS: Final = 2**53 - 1
"""Sums of a thousand steps fit SQLite's integers, and every JSON reader keeps it exact."""


class RunLog(RunBuffer):
    """Writes the record of one run.

    Methods without `await` buffer their data, which goes with the next commit or within 100 ms, in order. A
    commit that fails because the database is locked or the disk is full is retried for `writer.PATIENCE`.
    After that, or after any other failure, waiting callers get a StoreError, their writes and the rest of the
    commit are dropped, and this process loses the run. Writes without a waiting caller are kept and retried.

    After the run is lost, methods without `await` do nothing; the others raise the reason.
    """

    def __init__(self, run_id: str, writer: Writer) -> None:
        super().__init__(run_id)
        self.unread: tuple[Message, ...] = ()
        """Messages that no model had read when the run was taken over."""
        self._writer = writer

    def event(self, name: str, at: int, data: dict[str, Any]) -> int:
        """Write an event and return its number, from 1.

        :param at: milliseconds since the epoch.
        """
        value = pack(data)
        with self._buffer() as batch:
            return self._add_event(batch, name, at, value)

    def status(self, status: Status, step: str | None) -> None:
        """Write the run's status and current step; the last one before a commit wins.

        Terminal statuses are written only by `ended`, with the rest of the ending.
        """
        if status not in TERMINAL:
            with self._buffer() as batch:
                batch.status = (status, step)

    def started(self, start: StepStart) -> None:
        """Write the start of a step, or of another attempt."""
        dependencies = pack(list(start.dependencies))
        with self._buffer() as batch:
            batch.starts[start.step] = start, dependencies

    def finish(self, outcome: StepOutcome) -> Delivery:
        """Write the outcome of a step; durable when the caller gets the delivery.

        For a completed step the result is the checkpoint after it.

        :raises StoreError: the run was lost, or the store was closed.
        """
        outcome = _with_bounded_tokens(outcome)
        result = pack(outcome.result)
        with self._buffer() as batch:
            started = batch.starts.pop(outcome.step, None)  # then its row is written once
            write = partial(write_outcome, outcome=outcome, result=result, started=started)
            return self._hand_over(batch, write)

    def note(self, step: str, key: str, value: Any) -> None:
        """Write a memo of a step.

        :raises InvalidInput: its key or value cannot be stored.
        """
        self._write_soon(self._memo(step, key, value))

    async def remember(self, step: str, key: str, value: Any) -> None:
        """Write a memo of a step; durable when this returns.

        :raises InvalidInput: its key or value cannot be stored.
        :raises RunLost: another process owns the run.
        :raises StoreError: it could not be written.
        """
        await self._durable(self._memo(step, key, value))

    async def read(self, step: str, key: str, messages: Sequence[Message]) -> None:
        """Write the texts that a step's model reads as a memo; durable when this returns.

        The same commit deletes the messages, so no other model ever reads them.

        :param messages: messages to this run, or to one around it.
        :raises RunLost: another process owns the run.
        :raises StoreError: it could not be written.
        """
        value = pack([message.text for message in messages])
        read, event = tuple(messages), self._sequence
        await self._durable(
            partial(write_read_messages, step=step, key=key, value=value, event=event, read=read)
        )

    def drop(self, message: Message) -> None:
        """Delete a message that no model of the run can read."""
        self._write_soon(partial(delete_messages, messages=(message,)))

    async def ended(self, ending: Ending, last: tuple[str, int, dict[str, Any]] | None = None) -> int:
        """Write the run's ending and release the run; durable when this returns, and the last write.

        :param last: the last event, with the arguments of `event`; durable together with the ending or not at
            all.
        :returns: the number of the run's last event.
        :raises RunLost: another process owns the run.
        :raises StoreError: it could not be written; the run can be resumed.
        """
        ending = _with_bounded_tokens(ending)
        event = None if last is None else (*last[:2], pack(last[2]))
        return await self._last(partial(write_ending, ending=ending, response=pack(ending.response)), event)

    async def release(self) -> None:
        """Release the run so that it can be resumed; durable when this returns, and the last write.

        :raises RunLost: another process owns the run.
        :raises StoreError: it could not be written.
        """
        await self._last(write_release)

    async def flush(self) -> None:
        """Wait until all earlier writes are durable.

        :raises RunLost: another process owns the run.
        :raises StoreError: it could not be written.
        """
        await self._durable(lambda _transaction, _tally: None)

    @contextmanager
    def _buffer(self) -> Iterator[Batch]:
        """Yield the writes of the next commit, under the writer's lock."""
        self._refuse_if_released()
        with self._writer.lock:
            if self._failure is None:
                self._writer.dirty[self] = None
                yield self._next
            else:
                yield Batch(Tally(self.run_id, 0))  # it is never written

    def _write_soon(self, write: Write) -> None:
        with self._buffer() as batch:
            batch.writes.append((write, None))

    def _add_event(self, batch: Batch, name: str, at: int, value: str | Packed) -> int:
        self._sequence += 1
        batch.events.append((self.run_id, self._sequence, name, at, value))
        return self._sequence

    def _memo(self, step: str, key: str, value: Any) -> Write:
        _require_memo(step, key, value)
        return partial(write_memo, step=step, key=key, value=pack(value), event=self._sequence)

    async def _last(self, write: Write, event: _Event | None = None) -> int:
        try:
            with self._buffer() as batch:
                number = self._sequence if event is None else self._add_event(batch, *event)
                delivery = self._hand_over(batch, partial(self._final, write))
            await delivery.future
        except StoreError:
            self._writer.abandon(self)
            raise
        return number

    async def _durable(self, write: Write) -> Any:
        with self._buffer() as batch:
            delivery = self._hand_over(batch, write)
        return await delivery.future

    def _hand_over(self, batch: Batch, write: Write) -> Delivery:
        """Request an immediate write; the caller holds the writer's lock."""
        if self._failure is not None:
            raise self._failure
        self._writer.refuse_if_closed()
        delivery = Delivery(asyncio.get_running_loop().create_future())
        batch.writes.append((write, delivery))
        self._writer.urge()
        return delivery

    def _final(self, write: Write, transaction: Transaction, tally: Tally) -> None:
        write(transaction, tally)
        transaction.after.append(self._set_released)

    def _set_released(self) -> None:
        self._released = True
        self._writer.owned_runs.detach(self)

    def release_later(self) -> None:
        """Release the run without waiting: no caller uses this log."""
        self._write_soon(partial(self._final, write_release))


def _with_bounded_tokens(ended: Ended) -> Ended:
    """Clamp token counts to the range of their columns: an absurd count must not fail a run."""
    tokens = ended.tokens
    counts = (tokens.input, tokens.output, tokens.cached)
    if all(0 <= count <= _MOST_TOKENS for count in counts):
        return ended
    read, written, cached = (max(0, min(count, _MOST_TOKENS)) for count in counts)
    kept = replace(tokens, input=read, output=written, cached=cached)
    return replace(ended, tokens=kept)


def _require_memo(step: str, key: str, value: Any) -> None:
    """Reject a memo that would fail the whole commit.

    :raises InvalidInput: its key is not UTF-8, or its value is nested too deeply.
    """
    for text in (step, key):
        if not is_storable(text):
            raise InvalidInput(
                f"{text!a} is not a valid memo key: it is not UTF-8;"
                " for a file's name use `os.fsencode(name).hex()`"
            )
    if is_deeper(value, DEEPEST):
        raise InvalidInput(
            f"the value of {key!r} cannot be remembered: it is deeper than {DEEPEST} levels; flatten it"
        )
