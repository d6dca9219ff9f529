"""The terminal as front end: show a run, ask about it, print its result."""

from __future__ import annotations

import asyncio
import sys
import termios
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from rich.text import Text

from tideate_core.app import Project, next_command, open_runner, recover_before, short_id
from tideate_core.cli.confirmations import has_person
from tideate_core.cli.interruption import Interruption, RunCancellation
from tideate_core.cli.process import DECLINED, DONE, FAILED, USAGE
from tideate_core.cli.questions import Questions, answered, subject_matter
from tideate_core.cli.render.output import (
    markdown_source,
    messages,
    note,
    path_line,
    print_json,
    print_result,
    tell,
)
from tideate_core.cli.render.progress import Progress
from tideate_core.cli.render.words import TASK
from tideate_core.cli.review import ENDED
from tideate_core.cli.typed_lines import TypedLines
from tideate_core.engine import (
    REOPENED,
    ConfirmationRequest,
    EventName,
    PolicyFrontEnd,
    declined_unasked,
    read_begun,
    request_of,
)
from tideate_core.errors import RunNotFound, TideateError
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
    from typing import Any

    from rich.console import Console

    from tideate_core.engine import Event, WorkflowResult, WorkflowRunner
    from tideate_core.workflows import Catalog, Decision

__all__ = ["Interaction", "TerminalFrontEnd", "run_to_end"]

INVALID_FILES: Final = frozenset({"ConfigError", "InvalidDefinitionFile", "InvalidWorkflowFile"})
"""Error codes that are wrong usage even when a run comes upon them on its way."""
STORE: Final = frozenset({"RunLost", "StateError", "StoreError", "StoreIsNewer"})
"""Error codes of failures, even when no run has begun."""
STARTS: Final = frozenset({EventName.WORKFLOW_RESTORED, EventName.WORKFLOW_STARTED})


@dataclass(frozen=True, slots=True)
class Interaction:
    """Interaction of a run with whoever started it."""

    policy: bool | None = None
    """The answer to every confirmation; None asks a person where there is one."""
    json: bool = False

    @property
    def asks(self) -> bool:
        """A person answers its confirmations."""
        return self.policy is None and has_person()


async def run_to_end(
    project: Project,
    catalog: Catalog,
    interaction: Interaction,
    start: Callable[[WorkflowRunner], Coroutine[Any, Any, WorkflowResult]],
    notices: Iterable[str] = (),
) -> int:
    """Run something at the terminal to its end; return the exit status.

    :param notices: of the workflow.
    :raises TideateError: what `start` raises.
    """
    console = messages()
    for notice in (*project.loaded.notices, *notices):
        note(notice)
    await recover_before(project.root, note)
    with TerminalFrontEnd(console, None if interaction.asks else PolicyFrontEnd(interaction.policy)) as front:
        cancellation = RunCancellation(console, front.restore_terminal)
        front.leave = cancellation.leave_run
        with Interruption(cancellation.cancel, cancellation.notify_again, cancellation.leave) as interruption:
            async with open_runner(project, catalog, front) as runner, front.passing_on(runner.say):
                result = await cancellation.wait_for(runner, start(runner))
    if result is None:
        return interruption.status
    try:
        _print_notes(result, interaction, console)
        if result.reason == "declined" and front.asked in REOPENED and not result.rollback_performed:
            words = f"kept; `tideate review {short_id(result.execution_id)}` opens it again"
            console.print(words, style="dim", soft_wrap=True)
        _print_result(result, interaction, console)
    except OSError:
        if not interruption.happened:
            raise
        return interruption.status  # the signal was of a terminal that is gone
    if result.cancelled:
        return interruption.status if interruption.happened or cancellation.left else DECLINED
    proposed = result.next_run
    if proposed is not None and await _wants(proposed, result, interaction, console):
        request = request_of(proposed)
        return await run_to_end(project, catalog, interaction, lambda runner: runner.run(request))
    return _exit_status(result, began=front.began)


class TerminalFrontEnd:
    """Implements the engine's `FrontEnd`.

    :param policy: what answers instead of a person; None asks at the terminal.
    """

    editor = None
    leave: Callable[[], None] | None = None
    """Called at the end of input: the run is left at its question, to be resumed. None: that declines."""

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
        self._lines: TypedLines | None = None
        """What the person types while it is shown; None: nothing is read."""
        self._run = ""
        """The id of the run that it is for."""
        self._last_text: tuple[str, str] | None = None
        """A machine's last step and its text, until a question has shown them."""
        self.asked = ""
        """The kind of the last question."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.close()

    @property
    def began(self) -> bool:
        """A run was accepted and has started."""
        return self._progress.began

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        """Show the subject of a question, whoever answers: the log of an unattended run has it, too."""
        async with self._asking, AsyncExitStack() as question:
            if self._lines is not None and not self._is_answered(request):
                await question.enter_async_context(self._lines.paused())
            with self._progress.paused():
                return await self._confirm(request)

    @asynccontextmanager
    async def passing_on(self, say: Callable[[str, str], Awaitable[object]]) -> AsyncIterator[None]:
        """Pass each line that a person types at the terminal, once a run has started, on to its model.

        :param say: called with the run's id and the line.
        """
        if not has_person():
            yield
            return
        typed: asyncio.Queue[str] = asyncio.Queue()
        self._lines = TypedLines(
            typed.put_nowait, self._progress.typed, self._progress.paused, draws=self._live
        )
        passing = asyncio.create_task(self._pass_on(typed, say))
        try:
            yield
        finally:
            self._lines.close()
            passing.cancel()
            with suppress(asyncio.CancelledError):
                await passing
            left = [typed.get_nowait() for _ in range(typed.qsize())]
            for text in filter(str.strip, [*left, self._lines.unfinished]):
                self._progress.warn(f"not sent, as the run has ended: {text}")

    async def _pass_on(self, typed: asyncio.Queue[str], say: Callable[[str, str], Awaitable[object]]) -> None:
        while True:
            text = (await typed.get()).strip()
            if not text:
                continue
            try:
                await say(self._run, text)
            except RunNotFound:
                self._progress.warn(f"not sent, as the run has ended: {text}")
            except TideateError as error:
                self._progress.warn(f"your message was not passed on: {error}")

    def restore_terminal(self) -> None:
        """Give the terminal the settings that it had."""
        if self._lines is not None:
            self._lines.restore()

    def _is_answered(self, request: ConfirmationRequest) -> bool:
        """Tell whether nobody is asked."""
        return self._policy is not None or declined_unasked(request) is not None

    async def _confirm(self, request: ConfirmationRequest) -> Decision:
        last = self._pop_last_text()
        if self._policy is None:
            decision = declined_unasked(request)
        else:
            request, decision = (await read_begun(request)).request, await self._policy.confirm(request)
        if decision is None:
            try:
                decision = await Questions(self._console).ask(request, last)
            except (OSError, termios.error) as error:
                self._progress.warn(f"the question cannot be asked: {error}")
                decision = ENDED
            if decision is ENDED and self.leave is not None:
                self._progress.warn("")
                self.leave()
                await asyncio.Event().wait()  # until the run's end cancels it
            return decision
        matter = (*last, *subject_matter(request, rendered=self._live), answered(request, decision))
        self._progress.tell(*matter, soft_wrap=not self._live)
        return decision

    def emit(self, event: Event) -> None:
        began = self.began
        self._progress.emit(event)
        if self._lines is not None and self.began and not began:
            self._run = event.execution_id
            self._lines.begin()
        if event.name in STARTS and event.data["kind"] == "machine":
            self._machines.add(event.execution_id)
        elif event.name is EventName.CONFIRMATION_REQUIRED:
            self.asked = event.data["kind"]
        elif event.name is EventName.STEP_COMPLETED and self._is_of_machine(event):
            said = event.data["result"]
            # a task's stages give objects, which are shown for what they are where they are asked about
            self._last_text = (event.data["step"], said) if said and isinstance(said, str) else None

    def _is_of_machine(self, event: Event) -> bool:
        return event.execution_id in self._machines

    def _pop_last_text(self) -> list[Text]:
        """Return the text of a machine's last state: the person decides by it whether to continue."""
        if self._last_text is None:
            return []
        (step, text), self._last_text = self._last_text, None
        shown = markdown_source(text) if self._live else Text(visible(text))
        return [Text(visible(f"{step}:"), style="bold"), shown]

    async def present(self, text: str, filetype: str) -> None:
        """Do nothing: the text is the run's response, printed at its end."""


async def _wants(
    proposed: Mapping[str, Any], result: WorkflowResult, interaction: Interaction, console: Console
) -> bool:
    """Ask whether to go on with the run that was proposed; where nobody is asked, say how to.

    `--yes` is the answer to the questions of the run that was asked for, and begins no other.
    """
    words = f"`{next_command(proposed)}` goes on with it"
    if interaction.asks and not interaction.json and proposed["asks"]:
        question = f"{proposed['message']}. Go on as {proposed['workflow']} with the same conversation?"
        request = ConfirmationRequest(result.execution_id, result.workflow, "next", "gate", question)
        if (await Questions(console).ask(request)).accepted:
            return True
    else:
        words = f"{proposed['message']}; {words}"
    tell(console, Text(visible(words), style="yellow"))
    return False


def _print_notes(result: WorkflowResult, interaction: Interaction, console: Console) -> None:
    if result.reason == "declined" and not interaction.asks and interaction.policy is None:
        console.print("there is no terminal to ask on; --yes accepts", style="yellow")
    if result.path and result.workflow != TASK:  # its stages and gates were told
        tell(console, path_line([result.path[0]["from"], *(move["to"] for move in result.path)]))
    # of a task that broke off, its rollback said what is left and why
    if result.files and (result.ok or result.rollback_performed is None):
        console.print(f"roll back: tideate rollback {result.execution_id}", style="dim", soft_wrap=True)


def _print_result(result: WorkflowResult, interaction: Interaction, console: Console) -> None:
    if interaction.json:
        shape = result.as_json()
        if result.next_run is not None:
            shape["next"] = {**result.next_run, "command": next_command(result.next_run)}
        print_json(shape)
    elif result.ok:
        print_result(result)
    elif result.response is not None:
        words = "unfinished: this is the last text that was written; --json has those of all states"
        tell(console, Text(words, style="yellow"))
        print_result(result)


def _exit_status(result: WorkflowResult, *, began: bool) -> int:
    if result.ok:
        return DONE
    if result.error_code in STORE:
        return FAILED
    return FAILED if began and result.error_code not in INVALID_FILES else USAGE
