"""Pause, resume, message or cancel a run of another process; end an abandoned run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tideate_core.app.runs import short_id
from tideate_core.errors import (
    InvalidInput,
    RollbackConflict,
    RunEnded,
    RunIsOwned,
    RunNotActive,
    WorkspaceError,
)
from tideate_core.project import project_state
from tideate_core.store import LAST, Message, Reader, resumable_runs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from pathlib import Path

    from tideate_core.errors import TideateError
    from tideate_core.store import RunRow, Store
    from tideate_core.workspace import Workspace

NOTIFY_AFTER: Final = 1.0
"""Seconds until the person is notified of a wait."""
POLL: Final = 0.05
"""Seconds between reads of the store; owners read requests as often."""


Notify = Callable[[str], object]
"""Notifies the person of a wait."""


@asynccontextmanager
async def opened_store(root: Path | None) -> AsyncIterator[Store]:
    """Open a project's store; close it on exit.

    :param root: None outside of a project.
    :raises ConfigError: the private state cannot be used.
    :raises StoreError: the store cannot be used.
    """
    from tideate_core.app.opening import open_store

    store = await asyncio.to_thread(open_store, root)
    try:
        yield store
    finally:
        await asyncio.to_thread(store.close)


async def wait_for_run(
    reader: Reader, run_id: str, reached: Callable[[RunRow], bool], within: float
) -> RunRow:
    """Wait until a run meets a condition or the time is over; return its last state.

    :param within: time limit in seconds.
    :raises RunNotFound: the run was pruned in the meantime.
    """
    end = time.monotonic() + within
    while True:
        run = await asyncio.to_thread(reader.run, run_id)
        if reached(run) or time.monotonic() >= end:
            return run
        await asyncio.sleep(POLL)


async def pause_run(wanted: str, root: Path | None, within: float, notify: Notify) -> RunRow:
    """Ask a run's process to pause it before its next step; return the run's last state.

    :param wanted: a run id or a prefix of one.
    :param within: seconds to wait; the run may still be running afterwards.
    :raises RunEnded: the run has ended, or ended before it could pause.
    """
    reader = Reader(project_state(root))
    run = await asyncio.to_thread(reader.run, wanted)
    if run.ended:
        raise RunEnded(f"run {short_id(run.id)} is {run.status}; there is nothing left to pause")
    if run.status != "paused":
        async with opened_store(root) as store:
            with _notify_if_slow(notify, store):
                await store.send_control_request(run.id, "pause")
        run = await wait_for_run(reader, run.id, lambda now: now.ended or now.status == "paused", within)
    if run.ended:
        raise RunEnded(f"run {short_id(run.id)} was {run.status} before it could pause")
    return run


async def say_to_run(wanted: str, text: str, root: Path | None, notify: Notify) -> RunRow:
    """Ask a run's process to deliver a message to its model; the run's events report the delivery.

    :param wanted: a run id or a prefix of one.
    :raises InvalidInput: the message is empty.
    :raises RunEnded: the run has ended.
    :raises RunNotActive: no living process owns the run.
    """
    if not text.strip():
        raise InvalidInput("there is nothing to say; add the message")
    reader = Reader(project_state(root))
    run = await asyncio.to_thread(reader.run, wanted)
    if run.ended:
        raise RunEnded(f"run {short_id(run.id)} is {run.status}; no model reads it any more")
    async with opened_store(root) as store:
        with _notify_if_slow(notify, store):
            await store.send_control_request(run.id, Message(text))
    return run


def run_to_resume(reader: Reader, wanted: str | None) -> RunRow:
    """Return the run to resume: the requested run, else the newest resumable run; blocking.

    :param wanted: a run id, a prefix of one, or `last`.
    :raises RunNotFound: no run has this id.
    :raises RunEnded: the run has ended.
    :raises InvalidInput: no run can be resumed, or the run is a step of another run.
    """
    if wanted is None or wanted.strip().lower() == LAST:
        runs = resumable_runs(reader)
        if not runs:
            raise InvalidInput("no run can be resumed; the history lists all runs")
        return runs[0]
    run = reader.run(wanted)
    if run.ended:
        raise RunEnded(
            f"run {short_id(run.id)} is {run.status}; only a run that has not ended can be resumed"
        )
    if run.parent is not None:
        parent = short_id(run.parent)
        raise InvalidInput(
            f"run {short_id(run.id)} is a step of the run {parent} and is resumed with it; resume {parent}"
        )
    return run


def paused_in(run: RunRow) -> int | None:
    """Return the pid of the living process that holds a paused run; None if there is none."""
    lease = run.lease
    return lease.pid if run.status == "paused" and lease is not None and lease.alive else None


async def continue_paused(root: Path | None, reader: Reader, run: RunRow, within: float) -> RunRow:
    """Ask the living process of a paused run to continue it.

    :param within: seconds to wait.
    :raises RunNotActive: the process did not continue it.
    """
    async with opened_store(root) as store:
        await store.send_control_request(run.id, "resume")
    now = await wait_for_run(reader, run.id, lambda now: now.status != "paused", within)
    if now.status == "paused":
        raise RunNotActive(
            f"process {paused_in(run)} did not continue the run {short_id(run.id)} within {within:.0f} s; "
            "end it and resume again"
        )
    return now


@dataclass(frozen=True, slots=True)
class Cancellation:
    """Files of unfinished steps after a cancellation."""

    restored: Sequence[str] = ()
    kept: Sequence[str] = ()
    """Files of a step that must not run twice."""
    error: TideateError | None = None
    """Reason for a rollback that failed as a whole."""


async def cancel_stored_run(
    store: Store,
    run_id: str,
    workspace: Callable[[], Workspace],
    on_write: Callable[[], object] = lambda: None,
) -> Cancellation | None:
    """Ask a run's process to cancel it; end an abandoned run in this process.

    :param workspace: returns the workspace to roll back an abandoned run; blocking.
    :param on_write: called before an abandoned run is ended.
    :returns: None if a process was asked.
    :raises RunNotFound: no run has this id.
    :raises RunEnded: the run has ended.
    :raises WorkspaceError: a rollback required before the end fails.
    """
    # here, because few commands write files
    from tideate_core.engine import end_abandoned_run, roll_back_abandoned_run

    try:
        await store.send_control_request(run_id, "cancel")
    except RunNotActive:
        run = await asyncio.to_thread(store.reader().run, run_id)
        place = await asyncio.to_thread(workspace)
        on_write()
        ended = await end_abandoned_run(store, run, place)
        try:
            done = await roll_back_abandoned_run(place, ended)
        except (RollbackConflict, WorkspaceError) as error:
            return Cancellation(error=error)
        return Cancellation(done.restored, done.kept)
    return None


async def cancel_run(
    wanted: str,
    root: Path | None,
    within: float,
    notify: Notify,
    workspace: Callable[[], Workspace],
    *,
    on_write: Callable[[], object] = lambda: None,
) -> tuple[RunRow, Cancellation]:
    """Cancel a run, owned or abandoned; return its last state and the rollback done in this process.

    Raises the errors of `cancel_stored_run`, too.

    :param wanted: a run id or a prefix of one.
    :param within: seconds to wait for the owner.
    :param workspace: see `cancel_stored_run`.
    :param on_write: see `cancel_stored_run`.
    :raises RunEnded: the run has ended, or ended before it could be cancelled.
    :raises RunIsOwned: its process did not end it in time.
    """
    reader = Reader(project_state(root))
    run = await asyncio.to_thread(reader.run, wanted)
    if run.ended:
        raise RunEnded(f"run {short_id(run.id)} is {run.status}; there is nothing left to cancel")
    async with opened_store(root) as store:
        with _notify_if_slow(notify, store):
            done = await cancel_stored_run(store, run.id, workspace, on_write)
    if done is not None:
        within = 0
    with _notify_if_slow(notify, None, run):
        run = await wait_for_run(reader, run.id, lambda now: now.ended, within)
    if not run.ended:
        who = f"process {run.lease.pid}" if run.lease else "its process"
        raise RunIsOwned(
            f"run {short_id(run.id)} did not end within {within:.0f} s, though {who} was asked; "
            "end that process and cancel again"
        )
    if run.status != "cancelled":
        raise RunEnded(f"{run.name} ({short_id(run.id)}) was {run.status} before it could be cancelled")
    return run, done or Cancellation()


@contextmanager
def _notify_if_slow(notify: Notify, store: Store | None, run: RunRow | None = None) -> Iterator[None]:
    """Notify the person of a long wait for the database or a run's owner.

    :param store: the store being written; None to wait for a run's owner.
    """
    if run is not None and run.lease is not None:
        words = f"waiting for process {run.lease.pid} to end the run"
    else:
        words = "waiting for the database, which another process keeps locked"

    loop = asyncio.get_running_loop()
    due: asyncio.TimerHandle

    def notify_if_stuck() -> None:
        nonlocal due
        if store is None or store.is_stuck:
            notify(words)
        else:
            due = loop.call_later(NOTIFY_AFTER, notify_if_stuck)

    due = loop.call_later(NOTIFY_AFTER, notify_if_stuck)
    try:
        yield
    finally:
        due.cancel()
