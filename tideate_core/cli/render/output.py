"""Print results to stdout and messages to stderr, without control characters."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec

from rich.console import Console
from rich.text import Text

from tideate_core.cli.process import USAGE, status_of
from tideate_core.errors import (
    ConfigError,
    InvalidDefinitionFile,
    InvalidWorkflowFile,
    RunNotFound,
    StoreError,
    TideateError,
)
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rich.markdown import Markdown

    from tideate_core.engine import WorkflowResult

__all__ = [
    "fail",
    "hint_of_state",
    "markdown",
    "markdown_source",
    "messages",
    "note",
    "path_line",
    "print_json",
    "print_result",
    "print_text",
    "report_errors",
    "report_usage_errors",
    "results",
    "tell",
    "tell_mistakes",
]

P = ParamSpec("P")

LONGEST_PATH = 12
MOST_COLOURED = 100_000
"""Characters of a text; to colour more would be felt."""


def markdown(text: str) -> Markdown:
    """Render a model's Markdown; links show where they lead."""
    # here, as most of what is printed is no Markdown: it brings a parser and all highlighters
    from rich.markdown import Markdown

    return Markdown(visible(text), hyperlinks=False)


def markdown_source(text: str) -> Text:
    """Colour Markdown as it is written: rendered, `__init__` would lose its underscores."""
    if len(text) > MOST_COLOURED:
        return Text(visible(text).rstrip("\n"))
    from rich.syntax import Syntax  # here for the same reason

    return Syntax("", "markdown", theme="ansi_dark").highlight(visible(text).rstrip("\n"))


class _Console(Console):
    """A console whose reader may go away: that is an OSError like any other, and no end of the process."""

    def on_broken_pipe(self) -> NoReturn:
        raise  # the BrokenPipeError that is being handled


def messages() -> Console:
    """Return the console of everything that is not a result."""
    return _Console(stderr=True, highlight=False, markup=False, emoji=False)


def results() -> Console:
    """Return the console of results that are made for people; without a terminal they are plain."""
    return _Console(highlight=False, markup=False, emoji=False)


def tell(console: Console, text: Text, *, indent: int = 2) -> None:
    """Print a message: on a terminal broken between words, elsewhere line by line, as tools read it.

    :param indent: of the lines that a long one is broken into.
    """
    if console.file.isatty():
        text = Text("\n").join(part for line in text.split("\n") for part in _hung(line, indent, console))
    console.print(text, soft_wrap=True)


def note(words: str) -> None:
    """Print a note beside the result."""
    tell(messages(), Text(f"note: {visible(words)}", style="yellow"))


def tell_mistakes(console: Console, text: Text) -> None:
    """Print explained mistakes. The quoted lines, indented, stay whole: the caret stands below its place."""
    if not console.file.isatty():
        console.print(text, soft_wrap=True)
        return
    for line in text.split("\n"):
        if line.plain.startswith("  "):
            line.truncate(console.width, overflow="ellipsis")
            console.print(line, soft_wrap=True)
        else:
            tell(console, line, indent=4)


def _hung(line: Text, indent: int, console: Console) -> list[Text]:
    first, *rest = line.wrap(console, max(console.width - indent, 1)) or [line]
    for part in (first, *rest):
        part.rstrip()
    return [first, *(Text(" " * indent) + part for part in rest)]


def path_line(states: Sequence[str]) -> Text:
    """Return the way through a machine in one line; of a long one both ends."""
    if len(states) > LONGEST_PATH:
        states = [*states[:3], f"… {len(states) - 8} more …", *states[-5:]]
    return Text(visible(" → ".join(states)), style="dim")


def print_text(text: str) -> None:
    """Write a text to stdout: what a terminal would obey is shown to it, and left as it is elsewhere."""
    shown = visible(text) if sys.stdout.isatty() else text
    sys.stdout.write(shown.removesuffix("\n") + "\n")
    sys.stdout.flush()


def print_json(shape: Any) -> None:
    """Write one JSON object and a line end to stdout."""
    sys.stdout.write(json.dumps(shape, default=str) + "\n")
    sys.stdout.flush()


def print_result(result: WorkflowResult) -> None:
    """Print a run's response: rendered on a terminal, as it is elsewhere."""
    response = result.response
    text = response if isinstance(response, str) else json.dumps(response, indent=2, default=str)
    if not sys.stdout.isatty():
        sys.stdout.write(text.removesuffix("\n") + "\n")
    elif _is_prose(result):
        _Console().print(markdown(text))
    else:
        results().print(Text(visible(text)))
    sys.stdout.flush()


def _is_prose(result: WorkflowResult) -> bool:
    """Return whether the response is text: a step that writes files or code answers with an object."""
    if result.rollback_performed is not None:
        return isinstance(result.response, str)  # the summary of a task, which no step gave
    return isinstance(result.response, str) and result.response in result.results.values()


def report_errors(command: Callable[P, int]) -> Callable[P, int]:
    """Decorate a command: it prints its error, as JSON with `--json`, and returns the exit status of it."""
    return _reporting(command, status_of)


def report_usage_errors(command: Callable[P, int]) -> Callable[P, int]:
    """Decorate a command in the same way; every error but one of the database is wrong usage."""
    return _reporting(command, lambda error: status_of(error) if isinstance(error, StoreError) else USAGE)


def _reporting(command: Callable[P, int], status: Callable[[TideateError], int]) -> Callable[P, int]:
    @wraps(command)
    def reporting(*args: P.args, **options: P.kwargs) -> int:
        try:
            return command(*args, **options)
        except TideateError as error:
            fail(error, as_json=bool(options.get("json")))
            if isinstance(error, RunNotFound):
                _hint_of_moved(options.get("root"))
            return status(error)

    return reporting


def hint_of_state(root: Path) -> None:
    """Print a hint on stderr: state that may be this project's."""
    # here, because most projects have state, or never had any
    from tideate_core.app import moved_words

    for words in moved_words(root):
        note(words)


def _hint_of_moved(root: object) -> None:
    """Print a hint if the missing run may be older than the move of its project to this directory."""
    from tideate_core.app import locate_project

    with suppress(ConfigError):  # another error was printed already
        if (project := locate_project(root if isinstance(root, str) else None)) is not None:
            hint_of_state(project)


def fail(error: TideateError, *, as_json: bool = False) -> None:
    """Print an error, for a person or as JSON."""
    if as_json:
        shape: dict[str, Any] = {"ok": False, "error": str(error), "error_code": error.code}
        if isinstance(error, InvalidDefinitionFile | InvalidWorkflowFile) and error.execution_id:
            shape["execution_id"] = error.execution_id
        if isinstance(error, InvalidWorkflowFile):
            from tideate_core.app import diagnostic_json

            shape["diagnostics"] = [diagnostic_json(one) for one in error.diagnostics]
        print_json(shape)
    elif isinstance(error, InvalidWorkflowFile):
        # each of its lines says of itself where it is
        tell_mistakes(messages(), Text(visible(str(error))))
    else:
        tell(messages(), Text.assemble(("error: ", "bold red"), visible(str(error))))
