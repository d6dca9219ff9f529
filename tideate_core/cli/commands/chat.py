"""`tideate chat`: a conversation at the terminal with one run per message; piped text is one message."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from tideate_core.app import build_catalog, chat_tip, open_project, short_id, title_of
from tideate_core.cli.arguments import Json, Root, Yes, read_stdin, run_ids
from tideate_core.cli.confirmations import has_person
from tideate_core.cli.process import DONE, interruptible, log_to_file, run_async
from tideate_core.cli.render.output import note, report_errors
from tideate_core.errors import InvalidInput, TideateError
from tideate_core.store import LAST, Reader
from tideate_core.util.escaping import one_line

if TYPE_CHECKING:
    from tideate_core.app import Project
    from tideate_core.cli.terminal import Interaction
    from tideate_core.engine import WorkflowResult, WorkflowRunner
    from tideate_core.workflows import Catalog

NEW: Final = "new"
PROMPT: Final = "> "


@report_errors
def chat(
    run: Annotated[
        str,
        Parameter(
            help="The run to continue, `last` or `new`. Default: the last chat.",
            completer=run_ids,
        ),
    ] = LAST,
    /,
    *,
    adapter: Annotated[str | None, Parameter(name="--adapter", metavar="NAME", help="Model adapter.")] = None,
    yes: Yes = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Take messages until the end of input; return 0, or the exit status of a piped message."""
    from tideate_core.cli.terminal import Interaction  # here, because the help needs no engine

    log_to_file()
    project = open_project(root)
    tip = None if run == NEW else chat_tip(Reader(project.private), run)
    talk = _Chat(
        project, build_catalog(project.root), Interaction(yes, json), adapter, tip.id if tip else None
    )
    if not has_person():
        text = read_stdin()
        if not text.strip():
            raise InvalidInput("no message came from stdin; without a terminal, stdin is one message")
        return talk.turn(text)
    if tip is not None:
        title = one_line(title_of(tip.prompt))
        note(f"continues {title!r} ({short_id(tip.id)}); `tideate chat new` begins another chat")
    note("Ctrl-D ends the chat, Ctrl-C cancels a turn")
    while (message := _message()) is not None:
        if message.strip():
            try:
                talk.turn(message)
            except TideateError as error:  # of the request; the run itself reports its own
                note(f"error: {error}")
    return DONE


class _Chat:
    """A chat and the run that its next message continues."""

    def __init__(
        self,
        project: Project,
        catalog: Catalog,
        interaction: Interaction,
        adapter: str | None,
        tip: str | None,
    ) -> None:
        self._project = project
        self._catalog = catalog
        self._interaction = interaction
        self._adapter = adapter
        self._tip = tip

    def turn(self, text: str) -> int:
        """Send a message, print the answer, and return the exit status."""
        from tideate_core.cli.terminal import run_to_end
        from tideate_core.engine import RunRequest

        request = RunRequest(name="chat", prompt=text, continues=self._tip, adapter=self._adapter)

        async def start(runner: WorkflowRunner) -> WorkflowResult:
            return await runner.run(request)

        status = run_async(run_to_end(self._project, self._catalog, self._interaction, start))
        # a message without an answer is no part of the conversation
        if tip := chat_tip(Reader(self._project.private), request.execution_id, or_none=True):
            self._tip = tip.id
        return status


def _message() -> str | None:
    """Read a message with line editing; pasted lines are one message. None at the end of input."""
    with suppress(ImportError):
        import readline  # noqa: F401 gives `input` its line editing
    while True:
        try:
            with interruptible():
                if sys.stdout.isatty():
                    return input(PROMPT)
                # `input` would write the prompt to stdout
                sys.stderr.write(PROMPT)
                sys.stderr.flush()
                line = sys.stdin.readline()
                return line.removesuffix("\n") if line else None
        except EOFError:
            sys.stderr.write("\n")
            return None
        except KeyboardInterrupt:
            sys.stderr.write("\n")
