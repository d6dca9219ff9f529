"""Signals: Ctrl-C cancels the run, SIGTERM and SIGHUP leave it to be resumed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Final, Self, TypeVar

from rich.text import Text

from tideate_core.app import short_id
from tideate_core.cli.process import INTERRUPTED, SIGNALLED, SIGNALS
from tideate_core.cli.render.output import tell

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import FrameType
    from typing import Any

    from rich.console import Console

    from tideate_core.engine import WorkflowRunner

__all__ = ["Interruption", "RunCancellation"]

T = TypeVar("T")

PATIENCE: Final = 5.0
"""Seconds that a person gives the end: programs are killed after 2 of them, files take milliseconds."""


class Interruption:
    """While entered, SIGINT, SIGTERM and SIGHUP call `cancel`; a signal the parent ignored stays so.

    Each further Ctrl-C calls it again, which ends what still ends by itself at once. One that comes after
    `PATIENCE` quits at once: whatever the end waits for, the store and the journal have all
    that another process needs to bring the run to its end.

    :param cancel: called with whether the person asked for it, by SIGINT.
    :param again: called with the seconds left, at the second Ctrl-C only.
    :param leave: called before the process quits; reports what a person can do then.
    """

    def __init__(
        self, cancel: Callable[[bool], object], again: Callable[[float], None], leave: Callable[[], None]
    ) -> None:
        self._cancel = cancel
        self._notify_again = again
        self._leave = leave
        self._notified = False
        self._first = 0.0
        self.happened = False
        self.status = INTERRUPTED
        """The exit status that tells of the first signal."""

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._caught = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        for number in self._caught:
            self._loop.add_signal_handler(number, self._on_signal, number)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop waiting for signals. After one, the process is about to end: none break into that."""
        for number in self._caught:
            if not (self.happened and number == signal.SIGINT):
                self._loop.remove_signal_handler(number)

    def _on_signal(self, number: int) -> None:
        if self.happened:
            return
        self.happened = True
        self.status = SIGNALLED + number
        self._first = time.monotonic()
        if signal.SIGINT in self._caught:
            self._loop.remove_signal_handler(signal.SIGINT)
            # not the loop's: also one that does not turn any more is left
            signal.signal(signal.SIGINT, self._on_another)
        self._cancel(number == signal.SIGINT)

    def _on_another(self, _number: int, _frame: FrameType | None) -> None:
        left = self._first + PATIENCE - time.monotonic()
        if left <= 0:
            self._leave()
            os._exit(INTERRUPTED)
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._cancel_again, left)

    def _cancel_again(self, left: float) -> None:
        if not self._notified:
            self._notified = True
            self._notify_again(left)
        self._cancel(True)


class RunCancellation:
    """Response to signals of what runs: one run, or several that are compared.

    Only the person cancels. Any other signal, as of a terminal that was closed, leaves the run as it is.

    :param restore: gives the terminal the settings that it had.
    :param several: they are compared, and nothing is asked any more once they are left.
    """

    def __init__(self, console: Console, restore: Callable[[], None], *, several: bool = False) -> None:
        self._console = console
        self._several = several
        self._restore = restore
        self._runner: WorkflowRunner | None = None
        self._task: asyncio.Task[Any] | None = None
        self._stopped = False
        self.left = False
        """What runs was left, to be resumed: the terminal is gone, or the process was to end."""

    async def wait_for(self, runner: WorkflowRunner, run: Coroutine[Any, Any, T]) -> T | None:
        """Wait for a run; returns its result, None where it was stopped before it went on."""
        self._runner, self._task = runner, (task := asyncio.create_task(run))
        if self._stopped:
            self.cancel(by_person=True)
        try:
            return await task
        except asyncio.CancelledError:
            if not self._stopped:
                raise
            return None

    def cancel(self, by_person: bool) -> None:
        """Cancel the run; once more ends at once what was given time to end by itself.

        :param by_person: otherwise the run is left, to be resumed.
        """
        if not by_person:
            self.leave_run()
            return
        self._stopped = True
        if self._runner is None or self._task is None:
            return
        if self._runner.cancel():
            return
        self._task.cancel()  # at a question before the run is this process's

    def leave_run(self) -> None:
        """Leave what runs, to be resumed; if nothing runs yet, give it up."""
        self._stopped = self.left = True
        if self._runner is None or self._task is None:
            return
        runs = self._runner.leave()
        if not runs or self._several:
            self._task.cancel()

    def notify_again(self, left: float) -> None:
        """Report that the run is stopping already."""
        words = (
            "already stopping; running programs are killed now. "
            f"If that takes longer than {left:.0f} s, Ctrl-C quits at once"
        )
        tell(self._console, Text(words, style="yellow"))

    def leave(self) -> None:
        """Report how to end or resume the run without this process, past every buffer and lock."""
        runs = self._runner.running if self._runner else []
        known = [short_id(run.id) for run in runs[-1:]]
        ways = [f"`tideate cancel {it}` ends it, `tideate resume {it}` resumes it" for it in known]
        words = "; ".join(["quit before the run was stopped", *ways])
        self._restore()
        visible_cursor = "\x1b[?25h" if sys.stderr.isatty() else ""
        with contextlib.suppress(OSError):  # the terminal may be gone
            os.write(sys.stderr.fileno(), f"{visible_cursor}\n{words}\n".encode())
