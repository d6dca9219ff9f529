"""The shell as a front end: shows a run on stderr and asks the person, or a policy."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Final, Self

from rich.text import Text

from tideate_core.cli.output import markdown_source, visible
from tideate_core.cli.progress import Progress
from tideate_core.cli.questions import Questions, answered, subject_matter
from tideate_core.engine import EventName, declined_unasked

if TYPE_CHECKING:
    from rich.console import Console

    from tideate_core.engine import ConfirmationRequest, Event, PolicyFrontEnd
    from tideate_core.workflows import Decision

__all__ = ["TerminalFrontEnd"]


STARTS: Final = frozenset({EventName.WORKFLOW_RESTORED, EventName.WORKFLOW_STARTED})


class TerminalFrontEnd:
    """Implements the engine's `FrontEnd`.

    :param policy: what answers instead of a person; None asks at the terminal.
    """

    def __init__(self, console: Console, policy: PolicyFrontEnd | None) -> None:
        self._console = console
        self._policy = policy
        # not console.is_terminal: FORCE_COLOR makes colours in a log, but no terminal of it
        self._live = sys.stderr.isatty() and not console.is_dumb_terminal
        self._progress = Progress(console, live=self._live)
        self._machines: set[str] = set()
        """The runs that are of machines."""
        self._asking = asyncio.Lock()
        """One question at a time, though steps run side by side."""
        self._said: tuple[str, str] | None = None
        """A machine's last step and its text, until a question has shown them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.close()

    @property
    def began(self) -> bool:
        """A run was accepted and has started."""
        return self._progress.began

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        """Show what is asked about, whoever answers: the log of an unattended run has it, too."""
        async with self._asking:
            with self._progress.paused():
                return await self._confirm(request)

    async def _confirm(self, request: ConfirmationRequest) -> Decision:
        said = self._take_said()
        decision = declined_unasked(request) if self._policy is None else await self._policy.confirm(request)
        if decision is None:
            return await Questions(self._console).ask(request, said)
        for part in (*said, *subject_matter(request, rendered=self._live), answered(request, decision)):
            self._console.print(part, soft_wrap=not self._live)
        return decision

    def emit(self, event: Event) -> None:
        self._progress.emit(event)
        if event.name in STARTS and event.data["kind"] == "machine":
            self._machines.add(event.execution_id)
        elif event.name is EventName.STEP_COMPLETED and self._is_of_machine(event):
            said = event.data["result"]
            # a task's stages give objects, which are shown for what they are where they are asked about
            self._said = (event.data["step"], said) if said and isinstance(said, str) else None

    def _is_of_machine(self, event: Event) -> bool:
        return event.execution_id in self._machines

    def _take_said(self) -> list[Text]:
        """Return what a machine's last state wrote: who is asked whether to go on judges by it."""
        if self._said is None:
            return []
        (step, text), self._said = self._said, None
        shown = markdown_source(text) if self._live else Text(visible(text))
        return [Text(visible(f"{step}:"), style="bold"), shown]

    async def present(self, text: str, filetype: str) -> None:
        """Nothing to do: the text is the run's response, printed at its end."""
