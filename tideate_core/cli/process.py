"""Exit statuses, and the standard streams of the process."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from tideate_core.errors import (
    DefinitionChanged,
    PersonNeeded,
    RunEnded,
    RunIsOwned,
    RunNotActive,
    SnapshotNotFound,
    StateError,
    StoreError,
    WorkspaceError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from typing import Any, TextIO

    from tideate_core.errors import TideateError

__all__ = [
    "DECLINED",
    "DONE",
    "FAILED",
    "INTERRUPTED",
    "SIGNALLED",
    "SIGNALS",
    "USAGE",
    "finish",
    "interruptible",
    "run_async",
    "status_of",
    "with_streams",
]

T = TypeVar("T")

DONE, FAILED, USAGE, DECLINED, SIGNALLED, INTERRUPTED = 0, 1, 2, 3, 128, 130
"""Of `SIGNALLED`, the signal's number is added."""
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a command."""
_FAILURES: Final = (PersonNeeded, RunEnded, RunIsOwned, RunNotActive, StateError, StoreError, WorkspaceError)
"""Errors of valid requests that cannot be fulfilled."""


def status_of(error: TideateError) -> int:
    """Return the exit status of a command that ends with an error."""
    if isinstance(error, DefinitionChanged):
        return DECLINED
    if isinstance(error, SnapshotNotFound):
        return USAGE
    return FAILED if isinstance(error, _FAILURES) else USAGE


@contextmanager
def interruptible() -> Iterator[None]:
    """Have Ctrl-C raise KeyboardInterrupt; elsewhere it ends the process at once.

    Python drops the exception in some callbacks of imports, and shows a traceback for it in others.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine to its end; Ctrl-C cancels it."""
    import asyncio  # here, because `--help` needs none

    with interruptible():
        return asyncio.run(work)


async def finish(
    work: Callable[[Callable[[], None]], Coroutine[Any, Any, T]], note: Callable[[str], None]
) -> T:
    """Return the result of work that writes; a signal cancels it only before its first write.

    A Ctrl-C after the first signal quits at once; the next command rolls back unfinished writes.

    :param work: makes the coroutine, from a function to call before the first write.
    :param note: prints a message when a signal arrives during the writes.
    :raises SystemExit: a signal cancelled the work.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    caught = [one for one in SIGNALS if signal.getsignal(one) is not signal.SIG_IGN]
    writes, status = False, DONE

    def begin() -> None:
        nonlocal writes
        writes = True

    def on_signal(number: int) -> None:
        nonlocal status
        if status:  # a terminal that is closed sends SIGHUP twice
            return
        status = SIGNALLED + number
        if signal.SIGINT in caught:
            signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
        if not writes:
            task.cancel()
            return
        with suppress(OSError):  # the terminal may be gone
            note("tideate finishes writing first; Ctrl-C again quits at once")

    task = asyncio.ensure_future(work(begin))
    for number in caught:
        loop.add_signal_handler(number, on_signal, number)
    await asyncio.wait({task})
    for number in caught:
        loop.remove_signal_handler(number)
    if status and task.cancelled():
        sys.exit(status)
    return task.result()


def with_streams(command: Callable[[], object]) -> None:
    """Run a command, which exits itself if it has a status.

    Exit with 1 if a stream cannot be used, or the working directory was deleted. Ctrl-C raises
    KeyboardInterrupt only in what is `interruptible`.
    """
    _open_closed()
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        try:
            command()
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        finally:
            _flush_messages()
            sys.stdout.flush()
    except OSError as error:
        if error.filename is not None:
            raise
        if not _has_directory():
            sys.stderr.write("error: the working directory was deleted; change to another one\n")
            sys.exit(1)
        # of a stream: its other end has gone, it is full or closed; the interpreter's own flush at exit must
        # not complain either
        _discard(sys.stdout)
        ended = error.__context__
        if isinstance(ended, SystemExit) and isinstance(ended.code, int) and ended.code > SIGNALLED:
            sys.exit(ended.code)  # a signal closed the terminal, too
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"error: stdin or stdout cannot be used: {error.strerror}\n")
        sys.exit(1)


def _flush_messages() -> None:
    """Write what is left of the messages; if nobody reads them, the interpreter does not try again."""
    try:
        sys.stderr.flush()
    except OSError:
        _discard(sys.stderr)


def _discard(stream: TextIO) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _has_directory() -> bool:
    """Tell whether the working directory is there: the system names no file where it is asked for it."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def _open_closed() -> None:
    """Open standard streams that are closed, so that to read or write them is an error and no crash."""
    wrong_ways = {"stdin": os.O_WRONLY, "stdout": os.O_RDONLY, "stderr": os.O_WRONLY}
    for descriptor, (name, flags) in enumerate(wrong_ways.items()):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, flags)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
            # open as long as the process is
            stream = open(descriptor, "r" if name == "stdin" else "w", encoding="utf-8")  # noqa: PTH123, SIM115
            setattr(sys, name, stream)
