"""Store of a project's runs: begin, take over, fork, prune; the one way to the writer and the reader."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from tideate_core.project import Documents
from tideate_core.store.database import FILE, open_to_write
from tideate_core.store.leases import TAKEOVER_AFTER, this_process
from tideate_core.store.log import RunLog
from tideate_core.store.log_statements import write_ending, write_events
from tideate_core.store.objects import Objects, pack
from tideate_core.store.runs import add_control_request, add_run, change_definition, take_over
from tideate_core.store.transaction import Tally
from tideate_core.store.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from tideate_core.store.reader import Reader
    from tideate_core.store.records import CheckpointRow, ControlRequest, Ending, Fork, NewRun
    from tideate_core.store.retention import Pruned, Retention
    from tideate_core.store.transaction import Transaction

__all__ = ["Store"]


class Store:
    """`tideate.db` and `objects/` in a private directory.

    Everything is written by one thread, one transaction at a time; reading waits for nobody.
    """

    def __init__(self, private: Path, writer: Writer, documents: Documents) -> None:
        self._private = private
        self._documents = documents
        self._writer = writer
        self._reader: Reader | None = None

    @property
    def private(self) -> Path:
        """The directory that it is in."""
        return self._private

    @property
    def documents(self) -> Documents:
        """Directory of reports about its runs, for other tools."""
        return self._documents

    @property
    def is_stuck(self) -> bool:
        """Something waits to be written, because another process locks the database or the disk is full."""
        return self._writer.is_stuck

    @property
    def is_gone(self) -> bool:
        """Its file was deleted or replaced: it is to be closed, and opened anew."""
        return self._writer.is_gone

    @classmethod
    def open(cls, private: Path, documents: Documents | None = None) -> Store:
        """Open the store of a private directory, made and migrated where need be.

        Blocks while another process migrates it, at most some seconds.

        :param documents: where reports about its runs are left; beside it if None.
        :raises StoreIsNewer: a newer tideate made it; nothing was changed.
        :raises StoreError: it cannot be used; the message says why and what to do.
        """
        path = private / FILE
        connection = open_to_write(path)
        writer = Writer(path, connection, Objects(private), this_process())
        return cls(private, writer, documents or Documents(private, ""))

    async def begin(self, run: NewRun) -> RunLog:
        """Write a run that begins and belongs to this process; durable when this returns.

        :raises StoreError: it could not be written, or there is a run with this id.
        """
        log = RunLog(run.id, self._writer)
        request = pack(run.request)

        def job(transaction: Transaction) -> RunLog:
            add_run(transaction, run, request)
            transaction.after.append(partial(self._writer.attach, log))
            return log

        return await self._logged(log, job)

    async def add_refused(self, run: NewRun, ending: Ending, event: tuple[str, int, dict[str, Any]]) -> int:
        """Write a run that was refused before it began, with its end and its only event; durable then.

        It counts in no metrics.

        :param run: its status is that of its end.
        :returns: the number of its event.
        :raises StoreError: it could not be written, or there is a run with this id.
        """
        name, at, data = event
        request, value, response = pack(run.request), pack(data), pack(None)

        def job(transaction: Transaction) -> int:
            add_run(transaction, run, request)
            write_events(transaction, [(run.id, 1, name, at, value)])
            write_ending(transaction, Tally(run.id, 0), ending, response)
            return 1

        return await self._writer.do(job)

    async def add_event(self, run_id: str, name: str, at: int, data: dict[str, Any]) -> None:
        """Add an event to a run that has ended; durable when this returns.

        :raises StoreError: it could not be written.
        """
        value = pack(data)

        def job(transaction: Transaction) -> None:
            last = "SELECT coalesce(max(sequence), 0) FROM workflow_events WHERE execution_id = ?"
            sequence = transaction.execute(last, (run_id,)).fetchone()[0] + 1
            write_events(transaction, [(run_id, sequence, name, at, value)])

        await self._writer.do(job)

    async def adopt(self, run_id: str, *, takeover_after: float = TAKEOVER_AFTER) -> RunLog:
        """Make a run that nobody has this process's; durable when this returns.

        :param takeover_after: seconds without a sign of life after which a run is taken from its owner.
        :raises RunNotFound: no run has this id.
        :raises RunEnded: it has ended.
        :raises RunIsOwned: a living process has it.
        :raises StoreError: it could not be written.
        """
        log = RunLog(run_id, self._writer)

        def job(transaction: Transaction) -> RunLog:
            sequence, cursor, log.unread = take_over(transaction, run_id, takeover_after)
            log.count_from(sequence, cursor)
            transaction.after.append(partial(self._writer.attach, log))
            return log

        return await self._logged(log, job)

    async def change_definition(self, run: NewRun) -> None:
        """Have a run of this process go on with another definition, its own from now on; durable then.

        :param run: as it would begin with that definition.
        :raises RunLost: another process has it.
        :raises StoreError: it could not be written.
        """
        await self._writer.do(lambda transaction: change_definition(transaction, run))

    async def fork(self, checkpoint_id: str, new_id: str, at: int, *, again: Collection[str] = ()) -> None:
        """Make a paused run of what another one had done at a checkpoint; that one stays as it is.

        :param at: milliseconds since the epoch.
        :param again: steps that had ended and of which the new run is to know nothing: it runs them itself.
        :raises CheckpointNotFound: no checkpoint has this id.
        :raises StoreError: it could not be written.
        """
        from tideate_core.store.checkpoints import checkpoint_fork, fork

        def job(transaction: Transaction) -> None:
            fork(transaction, checkpoint_fork(transaction, checkpoint_id, new_id, at, again), None)

        await self._writer.do(job)

    async def fork_at_step(self, wanted: Fork) -> None:
        """Make a paused run of what another one did; that one stays as it is.

        :raises RunNotFound: there is no such run any more.
        :raises StoreError: it could not be written.
        """
        from tideate_core.store.checkpoints import fork

        request = None if wanted.request is None else pack(wanted.request)
        results = {step: pack(result) for step, result in wanted.results.items()}
        memos = {key: pack(value) for key, value in wanted.step_memos.items()}
        await self._writer.do(lambda transaction: fork(transaction, wanted, request, results, memos))

    async def send_control_request(self, run_id: str, request: ControlRequest) -> None:
        """Ask the process that has a run for something; it knows within 50 ms, this process at once.

        A message outlives that process: whoever resumes the run has it until a model has read it.

        :raises RunNotFound: no run has this id.
        :raises RunNotActive: no living process has it.
        :raises StoreError: it could not be written.
        """

        def job(transaction: Transaction) -> None:
            owner, kept = add_control_request(transaction, run_id, request)
            if owner == transaction.owner.id:
                transaction.after.append(partial(self._writer.owned_runs.pass_on, run_id, kept))

        await self._writer.do(job)

    async def checkpoint(self, run_id: str, *, at: int) -> CheckpointRow:
        """Make a checkpoint where the run is now; retention spares it.

        :param at: milliseconds since the epoch.
        :raises RunNotFound: no run has this id.
        :raises StoreError: it could not be written.
        """
        from tideate_core.store.checkpoints import make_checkpoint

        return await self._writer.do(lambda transaction: make_checkpoint(transaction, run_id, at))

    async def prune(self, policy: Retention, *, at: int, dry_run: bool = False) -> Pruned:
        """Delete runs that ended, as a policy says; never one that has not.

        :param at: milliseconds since the epoch.
        :param dry_run: only say which.
        :raises StoreError: it could not be written.
        """
        from tideate_core.store.retention import prune

        return await self._writer.do(lambda transaction: prune(transaction, policy, at, dry_run=dry_run))

    async def write(self, job: Callable[[Transaction], None]) -> None:
        """Do what another module of this room writes, in a transaction of its own; durable then.

        :raises StoreError: it could not be written.
        """
        await self._writer.do(job)

    def reader(self) -> Reader:
        """Return what reads the store, always the same; its methods block."""
        from tideate_core.store.reader import Reader

        if self._reader is None:
            self._reader = Reader(self._private)
        return self._reader

    def close(self) -> None:
        """Write what is buffered, release the runs that are still owned, and close.

        :raises StoreError: something buffered could not be written.
        """
        self._writer.close()

    async def _logged(self, log: RunLog, job: Callable[[Transaction], RunLog]) -> RunLog:
        done = asyncio.ensure_future(self._writer.do(job))
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            # nobody will have the log: the run must not stay with this process
            done.add_done_callback(partial(_release_later, log))
            raise


def _release_later(log: RunLog, done: asyncio.Future[RunLog]) -> None:
    if not done.cancelled() and done.exception() is None:
        log.release_later()
