"""`Store`: opens a project's database; begins, takes over, forks and prunes runs."""

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


class Store:
    """`tideate.db` and `objects/` in a private directory.

    One thread writes, one transaction at a time; readers never wait.
    """

    def __init__(self, private: Path, writer: Writer, documents: Documents) -> None:
        self._private = private
        self._documents = documents
        self._writer = writer
        self._reader: Reader | None = None

    @property
    def private(self) -> Path:
        """The directory of the database."""
        return self._private

    @property
    def documents(self) -> Documents:
        """Directory of reports about its runs, for other tools."""
        return self._documents

    @property
    def is_stuck(self) -> bool:
        """A write waits because another process locks the database or the disk is full."""
        return self._writer.is_stuck

    @property
    def is_gone(self) -> bool:
        """The database file was deleted or replaced: close the store and open it again."""
        return self._writer.is_gone

    @classmethod
    def open(cls, private: Path, documents: Documents | None = None) -> Store:
        """Open the store of a private directory, created or migrated if needed.

        Blocks for at most some seconds while another process migrates it.

        :param documents: directory for reports about its runs; None: beside the store.
        :raises StoreIsNewer: a newer tideate made it; nothing was changed.
        :raises StoreError: it cannot be used; the message has the cause and a remedy.
        """
        path = private / FILE
        connection = open_to_write(path)
        writer = Writer(path, connection, Objects(private), this_process())
        return cls(private, writer, documents or Documents(private, ""))

    async def begin(self, run: NewRun) -> RunLog:
        """Write a new run that this process owns; durable when this returns.

        :raises StoreError: it could not be written, or the id is taken.
        """
        log = RunLog(run.id, self._writer)
        request = pack(run.request)
        return await self._own(log, lambda transaction: add_run(transaction, run, request))

    async def add_refused(self, run: NewRun, ending: Ending, event: tuple[str, int, dict[str, Any]]) -> int:
        """Write a run rejected before its start, with its ending and only event; durable when this returns.

        Metrics do not count it.

        :param run: its status is the status of the ending.
        :returns: the number of its event.
        :raises StoreError: it could not be written, or the id is taken.
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
        """Take over a run without a living owner; durable when this returns.

        :param takeover_after: seconds without a heartbeat after which a run is taken from its owner.
        :raises RunNotFound: no run has this id.
        :raises RunEnded: it has ended.
        :raises RunIsOwned: a living process owns it.
        :raises StoreError: it could not be written.
        """
        log = RunLog(run_id, self._writer)

        def take(transaction: Transaction) -> None:
            sequence, cursor, log.unread = take_over(transaction, run_id, takeover_after)
            log.count_from(sequence, cursor)

        return await self._own(log, take)

    async def change_definition(self, run: NewRun) -> None:
        """Replace the definition of a run owned by this process; durable when this returns.

        :param run: the run as it would start with the new definition.
        :raises RunLost: another process owns it.
        :raises StoreError: it could not be written.
        """
        await self._writer.do(lambda transaction: change_definition(transaction, run))

    async def fork(self, checkpoint_id: str, new_id: str, at: int, *, again: Collection[str] = ()) -> None:
        """Copy a run's state at a checkpoint to a new paused run; the source is unchanged.

        :param at: milliseconds since the epoch.
        :param again: ended steps that are not copied: the new run runs them.
        :raises CheckpointNotFound: no checkpoint has this id.
        :raises StoreError: it could not be written.
        """
        from tideate_core.store.checkpoints import checkpoint_fork, fork

        def job(transaction: Transaction) -> None:
            fork(transaction, checkpoint_fork(transaction, checkpoint_id, new_id, at, again), None)

        await self._writer.do(job)

    async def fork_at_step(self, wanted: Fork) -> None:
        """Copy a run's state to a new paused run; the source is unchanged.

        :raises RunNotFound: the source is gone.
        :raises StoreError: it could not be written.
        """
        from tideate_core.store.checkpoints import fork

        request = None if wanted.request is None else pack(wanted.request)
        results = {step: pack(result) for step, result in wanted.results.items()}
        memos = {key: pack(value) for key, value in wanted.step_memos.items()}
        await self._writer.do(lambda transaction: fork(transaction, wanted, request, results, memos))

    async def send_control_request(self, run_id: str, request: ControlRequest) -> None:
        """Send a request to a run's owner: within 50 ms to another process, at once within this one.

        A message outlives the owner: the process that resumes the run gets it until a model has read it.

        :raises RunNotFound: no run has this id.
        :raises RunNotActive: no living process owns it.
        :raises StoreError: it could not be written.
        """

        def job(transaction: Transaction) -> None:
            owner, kept = add_control_request(transaction, run_id, request)
            if owner == transaction.owner.id:
                transaction.after.append(partial(self._writer.owned_runs.pass_on, run_id, kept))

        await self._writer.do(job)

    async def checkpoint(self, run_id: str, *, at: int) -> CheckpointRow:
        """Create a manual checkpoint at a run's current position; retention keeps it.

        :param at: milliseconds since the epoch.
        :raises RunNotFound: no run has this id.
        :raises StoreError: it could not be written.
        """
        from tideate_core.store.checkpoints import make_checkpoint

        return await self._writer.do(lambda transaction: make_checkpoint(transaction, run_id, at))

    async def prune(self, policy: Retention, *, at: int, dry_run: bool = False) -> Pruned:
        """Delete ended runs beyond a policy's limits.

        :param at: milliseconds since the epoch.
        :param dry_run: only return the runs to delete.
        :raises StoreError: it could not be written.
        """
        from tideate_core.store.retention import prune

        return await self._writer.do(lambda transaction: prune(transaction, policy, at, dry_run=dry_run))

    async def write(self, job: Callable[[Transaction], None]) -> None:
        """Run a write of another module of this package in its own transaction; durable when this returns.

        :raises StoreError: it could not be written.
        """
        await self._writer.do(job)

    def reader(self) -> Reader:
        """Return the store's reader, always the same object; its methods block."""
        from tideate_core.store.reader import Reader

        if self._reader is None:
            self._reader = Reader(self._private)
        return self._reader

    def close(self) -> None:
        """Write the buffers, release all owned runs, and close.

        :raises StoreError: a buffer could not be written.
        """
        self._writer.close()

    async def _own(self, log: RunLog, take: Callable[[Transaction], None]) -> RunLog:
        def job(transaction: Transaction) -> None:
            take(transaction)
            transaction.after.append(partial(self._writer.attach, log))

        done = asyncio.ensure_future(self._writer.do(job))
        try:
            await asyncio.shield(done)
        except asyncio.CancelledError:
            # no caller will get the log: release the run
            done.add_done_callback(partial(_release_later, log))
            raise
        return log


def _release_later(log: RunLog, done: asyncio.Future[None]) -> None:
    if not done.cancelled() and done.exception() is None:
        log.release_later()
