"""Signals during a run: Ctrl-C cancels the run; SIGTERM and SIGHUP leave it for a later resume."""

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

T = TypeVar("T")

PATIENCE: Final = 5.0
"""Seconds for a regular end after Ctrl-C: programs are killed after 2 seconds, files take milliseconds."""


class Interruption:
    """Context in which signals stop a run, or compared runs; ignored signals stay ignored.

    Only SIGINT, a request of the person, cancels. SIGTERM and SIGHUP, such as from a closed terminal, leave
    the run for a resume. Each further Ctrl-C cancels again, which kills running programs. After `PATIENCE`,
    Ctrl-C quits at once: store and journal hold everything that another process needs to end the run.

    :param several: the runs are compared; after leaving them, no question is asked.
    :param keeps: SIGINT leaves the run, too, with the decisions of the person.
    """

    def __init__(
        self, console: Console, restore: Callable[[], None], *, several: bool = False, keeps: bool = False
    ) -> None:
        self._console = console
        self._restore = restore
        self._several = several
        self._keeps = keeps
        self._runner: WorkflowRunner | None = None
        self._task: asyncio.Task[Any] | None = None
        self._stopped = False
        self._notified = False
        self._first = 0.0
        self.happened = False
        self.status = INTERRUPTED
        """Exit status for the first signal."""
        self.left = False
        """Whether the run was left for a later resume."""

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._caught = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        for number in self._caught:
            self._loop.add_signal_handler(number, self._on_signal, number)
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the handlers. After a signal, SIGINT stays handled: the process is about to end."""
        for number in self._caught:
            if not (self.happened and number == signal.SIGINT):
                self._loop.remove_signal_handler(number)

    async def wait_for(self, runner: WorkflowRunner, run: Coroutine[Any, Any, T]) -> T | None:
        """Wait for a run; return its result, or None if a signal stopped it before it started."""
        self._runner, self._task = runner, (task := asyncio.create_task(run))
        if self._stopped:
            self.cancel()
        try:
            return await task
        except asyncio.CancelledError:
            if not self._stopped:
                raise
            return None

    def cancel(self) -> None:
        """Cancel the run; a repeated call kills running programs at once."""
        if self._keeps:
            self.leave_run()
            return
        self._stopped = True
        if self._runner is None or self._task is None:
            return
        if not self._runner.cancel():
            self._task.cancel()  # at a question before the run starts in this process

    def leave_run(self) -> None:
        """Leave the active runs for a later resume; if none is active, cancel the start."""
        self._stopped = self.left = True
        if self._runner is None or self._task is None:
            return
        runs = self._runner.leave()
        if not runs or self._several:
            self._task.cancel()

    def _on_signal(self, number: int) -> None:
        if self.happened:
            return
        self.happened = True
        self.status = SIGNALLED + number
        self._first = time.monotonic()
        if signal.SIGINT in self._caught:
            self._loop.remove_signal_handler(signal.SIGINT)
            # not the loop's handler: a blocked loop can be left, too
            signal.signal(signal.SIGINT, self._on_another)
        if number == signal.SIGINT:
            self.cancel()
        else:
            self.leave_run()

    def _on_another(self, _number: int, _frame: FrameType | None) -> None:
        left = self._first + PATIENCE - time.monotonic()
        if left <= 0:
            self.tell_left()
            os._exit(INTERRUPTED)
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._cancel_again, left)

    def _cancel_again(self, left: float) -> None:
        if not self._notified:
            self._notified = True
            words = (
                "already stopping; running programs are killed now. "
                f"If that takes longer than {left:.0f} s, Ctrl-C quits at once"
            )
            tell(self._console, Text(words, style="yellow"))
        self.cancel()

    def tell_left(self) -> None:
        """Print how to end or resume the run, without buffers and locks."""
        runs = self._runner.running if self._runner else []
        known = [short_id(run.id) for run in runs[-1:]]
        ways = [f"`tideate cancel {it}` ends it, `tideate resume {it}` resumes it" for it in known]
        words = "; ".join(["quit before the run was stopped", *ways])
        self._restore()
        visible_cursor = "\x1b[?25h" if sys.stderr.isatty() else ""
        with contextlib.suppress(OSError):  # the terminal may be gone
            os.write(sys.stderr.fileno(), f"{visible_cursor}\n{words}\n".encode())
