"""`tideate pause` and `tideate cancel`: asks the process that has a run, and waits until it did."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from tideate_core.app import open_store
from tideate_core.cli.exits import DONE, FAILED, status_of
from tideate_core.cli.output import fail, messages, print_json, tell, visible
from tideate_core.cli.places import locate
from tideate_core.cli.runs import run_json, short
from tideate_core.errors import (
    RollbackConflict,
    RunEnded,
    RunIsOwned,
    RunNotActive,
    TideateError,
    WorkspaceError,
)
from tideate_core.project import project_state
from tideate_core.store import Reader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
    from pathlib import Path

    from tideate_core.store import RunRow, Store

__all__ = ["cancel", "opened", "pause", "until", "words_json"]

SLOW: Final = 1.0
"""Seconds after which it is said what is waited for."""
POLL: Final = 0.05
"""Seconds between two looks at the store: its owner hears a wish as fast as that."""


def pause(run_id: str, root: str | None, *, within: float, as_json: bool) -> int:
    """Stop a run before its next step; returns the exit status.

    :param within: seconds to wait for it.
    """
    return _done(lambda: _pause(run_id, locate(root), within, as_json), as_json)


def cancel(run_id: str, root: str | None, *, within: float, as_json: bool) -> int:
    """End a run, whether a process has it or not; returns the exit status.

    :param within: seconds to wait for its owner.
    """
    return _done(lambda: _cancel(run_id, locate(root), within, as_json), as_json)


@asynccontextmanager
async def opened(root: Path | None) -> AsyncIterator[Store]:
    """Give the store of a project, and close it afterwards.

    :param root: of the project, None outside of any.
    :raises ConfigError: the private state cannot be used.
    :raises StoreError: the store cannot be used.
    """
    store = await asyncio.to_thread(open_store, root)
    try:
        yield store
    finally:
        await asyncio.to_thread(store.close)


async def until(reader: Reader, run_id: str, reached: Callable[[RunRow], bool], within: float) -> RunRow:
    """Return a run as soon as it stands where it is wanted, or as it stands when the time is over.

    :param within: seconds.
    :raises RunNotFound: it was pruned meanwhile.
    """
    end = time.monotonic() + within
    while True:
        run = await asyncio.to_thread(reader.run, run_id)
        if reached(run) or time.monotonic() >= end:
            return run
        await asyncio.sleep(POLL)


def words_json(run: RunRow, words: str, *, as_json: bool, ok: bool = True) -> int:
    """Tell what became of a run; returns the exit status."""
    if as_json:
        print_json({"ok": ok, "message": words, **run_json(run)})
    else:
        tell(messages(), Text(visible(words), style="" if ok else "red"))
    return DONE if ok else FAILED


def _done(command: Callable[[], Coroutine[Any, Any, int]], as_json: bool) -> int:
    try:
        return asyncio.run(command())
    except TideateError as error:
        fail(error, as_json=as_json)
        return status_of(error)


async def _pause(wanted: str, root: Path | None, within: float, as_json: bool) -> int:
    reader = Reader(project_state(root))
    run = await asyncio.to_thread(reader.run, wanted)
    if run.ended:
        raise RunEnded(f"run {short(run.id)} is {run.status}; there is nothing left to pause")
    if run.status != "paused":
        async with opened(root) as store:
            with _told_if_slow(store):
                await store.wish(run.id, "pause")
        run = await until(reader, run.id, lambda now: now.ended or now.status == "paused", within)
    if run.ended:
        raise RunEnded(f"run {short(run.id)} was {run.status} before it could pause")
    name = f"{run.name} ({short(run.id)})"
    if run.status == "paused":
        return words_json(run, f"{name} is paused; `tideate resume {short(run.id)}` goes on", as_json=as_json)
    step = f"{run.current_step!r}" if run.current_step else "the step that runs"
    return words_json(run, f"{name} was asked to pause; it does after {step}", as_json=as_json)


async def _cancel(wanted: str, root: Path | None, within: float, as_json: bool) -> int:
    reader = Reader(project_state(root))
    run = await asyncio.to_thread(reader.run, wanted)
    if run.ended:
        raise RunEnded(f"run {short(run.id)} is {run.status}; there is nothing left to cancel")
    async with opened(root) as store:
        try:
            with _told_if_slow(store):
                await store.wish(run.id, "cancel")
        except RunNotActive:
            await _end_run(store, run, root)
            within = 0
    with _told_if_slow(None, run):
        run = await until(reader, run.id, lambda now: now.ended, within)
    if not run.ended:
        who = f"process {run.lease.pid}" if run.lease else "its process"
        raise RunIsOwned(
            f"run {short(run.id)} did not end within {within:.0f} s, though {who} was asked; "
            "end that process and cancel again"
        )
    name = f"{run.name} ({short(run.id)})"
    if run.status != "cancelled":
        raise RunEnded(f"{name} was {run.status} before it could be cancelled")
    undo = f"; undo: tideate rollback {short(run.id)}" if run.files else ""
    return words_json(run, f"{name} is cancelled{undo}", as_json=as_json)


@contextmanager
def _told_if_slow(store: Store | None, run: RunRow | None = None) -> Iterator[None]:
    """Say what is waited for, once it takes longer than a moment.

    :param store: into which something is written.
    :param run: whose owner is waited for.
    """
    if run is not None and run.lease is not None:
        words = f"waiting for process {run.lease.pid} to end the run"
    else:
        words = "waiting for the database, which another process keeps locked"

    def tell_it() -> None:
        if store is None or store.is_stuck:
            tell(messages(), Text(words, style="dim"))

    due = asyncio.get_running_loop().call_later(SLOW, tell_it)
    try:
        yield
    finally:
        due.cancel()


async def _end_run(store: Store, run: RunRow, root: Path | None) -> None:
    # here, because few commands write files
    from tideate_core.cli.wiring import open_project
    from tideate_core.engine import end_abandoned_run, roll_back_abandoned_run

    project = await asyncio.to_thread(open_project, None if root is None else str(root))
    ended_runs = await end_abandoned_run(store, run, project.workspace)
    try:
        done = await roll_back_abandoned_run(project.workspace, ended_runs)
    except (RollbackConflict, WorkspaceError) as error:
        tell(messages(), Text(f"note: {visible(str(error))}", style="yellow"))
    else:
        for path in done.restored:
            tell(messages(), Text(f"put back, its step had not ended: {visible(path)}"))
        if done.kept:
            words = (
                "note: a step that must not be done twice had not ended, so what it wrote stays: "
                f"{', '.join(done.kept)}; `tideate rollback {short(run.id)}` takes all of the run back"
            )
            tell(messages(), Text(visible(words), style="yellow"))
