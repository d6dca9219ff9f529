"""Terminal front end: runs a workflow and its follow-up runs to the end, and prints the result."""

from __future__ import annotations

import asyncio
import sys
import termios
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self, TypeVar

from rich.text import Text

from tideate_core.app import Project, next_command, open_runner, recover_before, short_id
from tideate_core.cli.confirmations import has_person
from tideate_core.cli.interruption import Interruption
from tideate_core.cli.process import DECLINED, DONE, FAILED, USAGE
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
from tideate_core.cli.typed_lines import TypedLines
from tideate_core.engine import (
    ConfirmationRequest,
    EventName,
    LeavingFrontEnd,
    PolicyFrontEnd,
    RecordedAnswers,
    declined_unasked,
    read_begun,
)
from tideate_core.errors import RunNotFound, TideateError
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
    from typing import Any

    from rich.console import Console

    from tideate_core.engine import Event, WorkflowResult, WorkflowRunner
    from tideate_core.workflows import Catalog, Decision

T = TypeVar("T")

INVALID_FILES: Final = frozenset({"ConfigError", "InvalidDefinitionFile", "InvalidWorkflowFile"})
"""Error codes that count as wrong usage even after a run has started."""
STORE: Final = frozenset({"RunLost", "StateError", "StoreError", "StoreIsNewer"})
"""Error codes that count as failures even if no run has started."""
STARTS: Final = frozenset({EventName.WORKFLOW_RESTORED, EventName.WORKFLOW_STARTED})


@dataclass(frozen=True, slots=True)
class Interaction:
    """Answer policy and output form of a run."""

    policy: bool | None = None
    """Answer to every confirmation; None asks at the terminal, if there is one."""
    json: bool = False
    show: Callable[[dict[str, Any]], None] = print_json
    """Print the JSON form of the result."""
    leaves: bool = False
    """Leave the run at a question that needs a person."""
    remote: str | None = None
    """Remote to publish a left run to; by default `[ci] remote`."""
    keeps: bool = False
    """Ctrl-C leaves the run, so that the person's decisions stay."""
    recorded: Mapping[str, tuple[Decision, str]] = field(default_factory=dict)
    """Answers that were given elsewhere, with their authors; see `RecordedAnswers`."""

    @property
    def asks(self) -> bool:
        """True if a person answers confirmations."""
        return self.policy is None and not self.leaves and has_person()

    def rules(self) -> PolicyFrontEnd | None:
        """Return the front end that answers instead of a person; None if a person answers."""
        if self.leaves:
            return LeavingFrontEnd(self.policy)
        return None if self.asks else PolicyFrontEnd(self.policy)


async def attend(
    project: Project,
    catalog: Catalog,
    interaction: Interaction,
    start: Callable[[WorkflowRunner, TerminalFrontEnd], Coroutine[Any, Any, T]],
    notices: Iterable[str] = (),
    *,
    several: bool = False,
) -> tuple[T | None, TerminalFrontEnd, Interruption]:
    """Run workflows at the terminal with signal handling; no result if a signal prevents the start.

    :param several: the runs are compared; they take no typed messages.
    """
    console = messages()
    for notice in (*project.loaded.notices, *notices):
        note(notice)
    await recover_before(project.root, note)
    with (
        TerminalFrontEnd(console, interaction.rules(), RecordedAnswers(interaction.recorded, note)) as front,
        Interruption(
            console, front.restore_terminal, several=several, keeps=interaction.keeps
        ) as interruption,
    ):
        front.leave = interruption.leave_run
        async with (
            open_runner(project, catalog, front) as runner,
            nullcontext() if several else front.passing_on(runner.say),
        ):
            result = await interruption.wait_for(runner, start(runner, front))
    return result, front, interruption


async def run_to_end(
    project: Project,
    catalog: Catalog,
    interaction: Interaction,
    start: Callable[[WorkflowRunner], Coroutine[Any, Any, WorkflowResult]],
    notices: Iterable[str] = (),
    *,
    quiet: bool = False,
) -> int:
    """Run a workflow at the terminal to its end, and proposed follow-up runs; return the exit status.

    :param start: starts or resumes the run.
    :param notices: notices about the workflow.
    :param quiet: leave stdout to another program.
    :raises TideateError: an error of `start`.
    """
    console = messages()
    result, front, interruption = await attend(
        project, catalog, interaction, lambda runner, _front: start(runner), notices
    )
    if result is None:
        return interruption.status
    if front.left is not None and result.cancelled and not interruption.happened:
        from tideate_core.cli.leaving import publish_left  # here: few runs are left

        return await publish_left(project, result.execution_id, front.left, remote=interaction.remote)
    try:
        from tideate_core.engine import REOPENED, request_of  # here: not needed before a run's end

        _print_notes(result, interaction, console)
        if result.reason == "declined" and front.asked in REOPENED and not result.rollback_performed:
            words = f"kept; `tideate review {short_id(result.execution_id)}` opens it again"
            console.print(words, style="dim", soft_wrap=True)
        if not quiet:
            _print_result(result, interaction, console)
    except OSError:
        if not interruption.happened:
            raise
        return interruption.status  # the terminal is gone, as the signal said
    if result.cancelled:
        return interruption.status if interruption.happened or interruption.left else DECLINED
    proposed = result.next_run
    if proposed is not None and await _wants(proposed, result, interaction, console):
        request = request_of(proposed)
        return await run_to_end(project, catalog, interaction, lambda runner: runner.run(request))
    return _exit_status(result, began=front.began)


class TerminalFrontEnd:
    """Implements the engine's `FrontEnd`.

    :param policy: answers instead of a person; None asks at the terminal.
    :param recorded: answers that count first.
    """

    editor = None
    leave: Callable[[], None] | None = None
    """Called at the end of input to leave the run at its question; None declines the question."""

    def __init__(
        self, console: Console, policy: PolicyFrontEnd | None, recorded: RecordedAnswers | None = None
    ) -> None:
        self._console = console
        self._policy = policy
        self._recorded = recorded
        # not console.is_terminal: FORCE_COLOR colours a log, but a log is no terminal
        self._live = sys.stderr.isatty() and not console.is_dumb_terminal
        self._progress = Progress(console, live=self._live)
        self._machines: set[str] = set()
        """Ids of the runs of state machines."""
        self._asking = asyncio.Lock()
        """Serializes questions of parallel steps."""
        self._lines: TypedLines | None = None
        """Reader of typed messages; None if nothing is read."""
        self._run = ""
        """Id of the run that receives typed messages."""
        self._last_text: tuple[str, str] | None = None
        """Last step of a machine and its text, not yet shown with a question."""
        self.asked = ""
        """Kind of the last question."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.close()

    @property
    def began(self) -> bool:
        """True once a run has started."""
        return self._progress.began

    @property
    def left(self) -> ConfirmationRequest | None:
        """The question at which the run was left for a reviewer elsewhere."""
        return self._policy.left if isinstance(self._policy, LeavingFrontEnd) else None

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        """Show a question and return its answer; an unattended run's log shows the question, too."""
        async with self._asking, AsyncExitStack() as question:
            asks = self._policy is None and declined_unasked(request) is None
            if self._lines is not None and asks:
                await question.enter_async_context(self._lines.paused())
            with self._progress.paused():
                return await self._confirm(request)

    @asynccontextmanager
    async def passing_on(self, say: Callable[[str, str], Awaitable[object]]) -> AsyncIterator[None]:
        """Deliver lines that the person types during a run to its model.

        :param say: called with run id and line.
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
        """Restore the original terminal settings."""
        if self._lines is not None:
            self._lines.restore()

    async def _confirm(self, request: ConfirmationRequest) -> Decision:
        # here, because many runs ask nothing
        from tideate_core.cli.questions import Questions, answered, subject_matter
        from tideate_core.cli.review import ENDED

        last = self._pop_last_text()
        if self._recorded is not None and (decision := self._recorded.take(request)) is not None:
            return decision
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
        elif event.name is EventName.STEP_COMPLETED and event.execution_id in self._machines:
            said = event.data["result"]
            # stages of a task return objects, which their own questions render
            self._last_text = (event.data["step"], said) if said and isinstance(said, str) else None

    def _pop_last_text(self) -> list[Text]:
        """Return and clear the text of a machine's last state, the basis of the person's decision."""
        if self._last_text is None:
            return []
        (step, text), self._last_text = self._last_text, None
        shown = markdown_source(text) if self._live else Text(visible(text))
        return [Text(visible(f"{step}:"), style="bold"), shown]

    async def present(self, text: str, filetype: str) -> None:
        """Do nothing: the run's response is printed at its end."""


async def _wants(
    proposed: Mapping[str, Any], result: WorkflowResult, interaction: Interaction, console: Console
) -> bool:
    """Ask whether to start a proposed follow-up run; without a person, print its command.

    `--yes` answers questions of the requested run only, and starts no other run.
    """
    words = f"`{next_command(proposed)}` continues with it"
    if interaction.asks and not interaction.json and proposed["asks"]:
        question = f"{proposed['message']}. Continue as {proposed['workflow']} in the same conversation?"
        request = ConfirmationRequest(result.execution_id, result.workflow, "next", "gate", question)
        from tideate_core.cli.questions import Questions

        if (await Questions(console).ask(request)).accepted:
            return True
    else:
        words = f"{proposed['message']}; {words}"
    tell(console, Text(visible(words), style="yellow"))
    return False


def _print_notes(result: WorkflowResult, interaction: Interaction, console: Console) -> None:
    if result.reason == "declined" and not interaction.asks and interaction.policy is None:
        console.print("there is no terminal to ask on; --yes accepts", style="yellow")
    if result.path and result.workflow != TASK:  # a task's stages and gates were shown
        tell(console, path_line([result.path[0]["from"], *(move["to"] for move in result.path)]))
    # the rollback report of an aborted task has listed the remaining files
    if result.files and (result.ok or result.rollback_performed is None):
        console.print(f"roll back: tideate rollback {result.execution_id}", style="dim", soft_wrap=True)


def _print_result(result: WorkflowResult, interaction: Interaction, console: Console) -> None:
    if interaction.json:
        shape = result.as_json()
        if result.next_run is not None:
            shape["next"] = {**result.next_run, "command": next_command(result.next_run)}
        interaction.show(shape)
    elif result.ok:
        print_result(result)
    elif result.response is not None:
        words = "unfinished: this is the last text; --json has the texts of all states"
        tell(console, Text(words, style="yellow"))
        print_result(result)


def _exit_status(result: WorkflowResult, *, began: bool) -> int:
    if result.ok:
        return DONE
    if result.error_code in STORE:
        return FAILED
    return FAILED if began and result.error_code not in INVALID_FILES else USAGE
