"""Stopping a run at the terminal: what each Ctrl-C does to it, and what is said."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from typing import TYPE_CHECKING

from rich.text import Text

from tideate_core.cli.output import tell
from tideate_core.cli.runs import short

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from rich.console import Console

    from tideate_core.engine import WorkflowResult, WorkflowRunner

__all__ = ["Stopping"]


class Stopping:
    """The run that signals stop."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._runner: WorkflowRunner | None = None
        self._task: asyncio.Task[WorkflowResult] | None = None
        self._stopped = False

    async def outlast(
        self, runner: WorkflowRunner, run: Coroutine[Any, Any, WorkflowResult]
    ) -> WorkflowResult | None:
        """Wait for a run; returns its result, None where it was stopped before it went on."""
        self._runner, self._task = runner, asyncio.create_task(run)
        if self._stopped:
            self.cancel(asked=True)
        try:
            return await self._task
        except asyncio.CancelledError:
            if not self._stopped:
                raise
            return None

    def cancel(self, asked: bool) -> None:
        """Cancel the run; once more ends at once what was given time to end by itself.

        :param asked: by the person; a paused run that is not is left as it is, to be resumed.
        """
        self._stopped = True
        if self._runner is None or self._task is None:
            return
        runs = self._runner.running
        if not asked and runs and all(run.is_paused for run in runs):
            self._runner.leave()
            return
        if self._runner.cancel():
            return
        self._task.cancel()  # at a question before the run is this process's

    def told_again(self, left: float) -> None:
        """Say that there is nothing more to stop."""
        words = (
            "already stopping; what is under way is ended at once now. "
            f"If that takes longer than {left:.0f} s, Ctrl-C leaves it"
        )
        tell(self._console, Text(words, style="yellow"))

    def leave(self) -> None:
        """Say how the run goes on without this process, past every buffer and lock."""
        runs = self._runner.running if self._runner else []
        known = [short(run.id) for run in runs[-1:]]
        ways = [f"`tideate cancel {it}` brings it to its end, `tideate resume {it}` goes on" for it in known]
        words = "; ".join(["left in the middle of stopping", *ways])
        visible_cursor = "\x1b[?25h" if sys.stderr.isatty() else ""
        with contextlib.suppress(OSError):  # the terminal may be gone
            os.write(sys.stderr.fileno(), f"{visible_cursor}\n{words}\n".encode())
