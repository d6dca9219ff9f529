"""Process of a command: exit status of an error, event loop, standard streams, log file."""

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
    FleetError,
    PersonNeeded,
    RunEnded,
    RunIsHere,
    RunIsOwned,
    RunNotActive,
    SessionNotFound,
    SnapshotNotFound,
    StateError,
    StoreError,
    WorkspaceError,
)
from tideate_core.project import make_project_state
from tideate_core.util.groups import ungrouped

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from typing import Any, TextIO

    from tideate_core.errors import TideateError

T = TypeVar("T")

DONE, FAILED, USAGE, DECLINED, LEFT, SIGNALLED, INTERRUPTED = 0, 1, 2, 3, 4, 128, 130
"""`SIGNALLED` plus the signal's number is the status after a signal."""
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a command."""
_FAILURES: Final = (
    FleetError,
    PersonNeeded,
    RunEnded,
    RunIsHere,
    RunIsOwned,
    RunNotActive,
    StateError,
    StoreError,
    WorkspaceError,
)
"""Errors of valid requests that fail."""


def status_of(error: TideateError) -> int:
    """Return the exit status for an error."""
    if isinstance(error, DefinitionChanged):
        return DECLINED
    if isinstance(error, (SessionNotFound, SnapshotNotFound)):
        return USAGE
    return FAILED if isinstance(error, _FAILURES) else USAGE


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt; outside of this context it ends the process at once.

    Python would drop the exception in some import callbacks, and print a traceback in others.
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
    """Run a coroutine in a new event loop; Ctrl-C cancels it.

    Of a group of tideate's errors, the first is raised.
    """
    import asyncio  # here, because `--help` needs none

    with interruptible(), ungrouped():
        return asyncio.run(work)


async def finish(
    work: Callable[[Callable[[], None]], Coroutine[Any, Any, T]], note: Callable[[str], None]
) -> T:
    """Await work that writes files; signals cancel it only before its first write.

    Ctrl-C after a first signal quits at once; the next command rolls back unfinished writes.

    :param work: takes a function to call before the first write, and returns the coroutine.
    :param note: prints a message if a signal arrives during the writes.
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
        if status:  # a closed terminal sends SIGHUP twice
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
    """Run a command with usable standard streams; the command itself exits with its status.

    Exit with 1 if a stream cannot be used or the working directory was deleted. Ctrl-C raises
    KeyboardInterrupt only within `interruptible`.
    """
    _open_closed()
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        try:
            command()
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        finally:
            try:
                sys.stderr.flush()
            except OSError:
                _discard(sys.stderr)  # so that the interpreter's own flush succeeds
            sys.stdout.flush()
    except OSError as error:
        if error.filename is not None:
            raise
        try:
            Path.cwd()
        except FileNotFoundError:
            sys.stderr.write("error: the working directory was deleted; change to another one\n")
            sys.exit(1)
        # a stream failed: broken pipe, full disk or closed; the interpreter's flush must stay silent
        _discard(sys.stdout)
        ended = error.__context__
        if isinstance(ended, SystemExit) and isinstance(ended.code, int) and ended.code > SIGNALLED:
            sys.exit(ended.code)  # a signal also closed the terminal
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"error: stdin or stdout cannot be used: {error.strerror}\n")
        sys.exit(1)


def _discard(stream: TextIO) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _open_closed() -> None:
    """Replace closed standard streams by unusable ones, so that their use raises OSError."""
    wrong_ways = {"stdin": os.O_WRONLY, "stdout": os.O_RDONLY, "stderr": os.O_WRONLY}
    for descriptor, (name, flags) in enumerate(wrong_ways.items()):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, flags)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
            # open for the life of the process
            stream = open(descriptor, "r" if name == "stdin" else "w", encoding="utf-8")  # noqa: PTH123, SIM115
            setattr(sys, name, stream)


def log_to_file() -> Path:
    """Log to a private file instead of the terminal; return its path.

    :raises ConfigError: the log directory cannot be used.
    """
    from tideate_core.util.log_file import log_to  # here, because few commands log

    path = make_project_state(None) / "shell.log"
    log_to(path)
    return path
