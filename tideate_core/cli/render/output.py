"""Output of results to stdout and messages to stderr, without control characters; error reports."""

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
from tideate_core.util.groups import ungrouped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rich.markdown import Markdown

    from tideate_core.engine import WorkflowResult

P = ParamSpec("P")

LONGEST_PATH = 12
MOST_COLOURED = 100_000
"""Maximum characters of a coloured text; colouring more takes noticeable time."""


def markdown(text: str) -> Markdown:
    """Render a model's Markdown; links show their targets."""
    # here, because most output is not Markdown, and this imports a parser and all highlighters
    from rich.markdown import Markdown

    return Markdown(visible(text), hyperlinks=False)


def markdown_source(text: str) -> Text:
    """Colour a Markdown source: rendered, `__init__` would lose its underscores."""
    if len(text) > MOST_COLOURED:
        return Text(visible(text).rstrip("\n"))
    from rich.syntax import Syntax  # here for the same reason

    return Syntax("", "markdown", theme="ansi_dark").highlight(visible(text).rstrip("\n"))


class _Console(Console):
    """Console that raises BrokenPipeError, like any other OSError, instead of ending the process."""

    def on_broken_pipe(self) -> NoReturn:
        raise  # the BrokenPipeError that is being handled


def messages() -> Console:
    """Return the console for messages, on stderr."""
    return _Console(stderr=True, highlight=False, markup=False, emoji=False)


def results() -> Console:
    """Return the console for human-readable results, on stdout; plain without a terminal."""
    return _Console(highlight=False, markup=False, emoji=False)


def tell(console: Console, text: Text, *, indent: int = 2) -> None:
    """Print a message: wrapped between words on a terminal, with unchanged lines elsewhere.

    :param indent: indent of wrapped lines.
    """
    if console.file.isatty():
        text = Text("\n").join(part for line in text.split("\n") for part in _hung(line, indent, console))
    console.print(text, soft_wrap=True)


def print_message(words: str, style: str = "") -> None:
    """Print a message on stderr, escaped, wrapped as by `tell`."""
    tell(messages(), Text(visible(words), style=style))


def print_line(words: str | Text, style: str = "", *, console: Console | None = None) -> None:
    """Print a line, escaped if it is a string, without wrapping between words.

    :param console: by default for results.
    """
    text = Text(visible(words), style=style) if isinstance(words, str) else words
    (console or results()).print(text, soft_wrap=True)


def note(words: str) -> None:
    """Print a note on stderr."""
    print_message(f"note: {words}", "yellow")


def tell_mistakes(console: Console, text: Text) -> None:
    """Print diagnostics with source lines; indented lines are not wrapped, to keep the caret in place."""
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
    """Return the path through a machine as one line; a long path without its middle."""
    if len(states) > LONGEST_PATH:
        states = [*states[:3], f"… {len(states) - 8} more …", *states[-5:]]
    return Text(visible(" → ".join(states)), style="dim")


def print_text(text: str) -> None:
    """Write a text to stdout; on a terminal, escape control characters."""
    shown = visible(text) if sys.stdout.isatty() else text
    sys.stdout.write(shown.removesuffix("\n") + "\n")
    sys.stdout.flush()


def print_json(shape: Any) -> None:
    """Write one JSON object as a line to stdout."""
    sys.stdout.write(json.dumps(shape, default=str) + "\n")
    sys.stdout.flush()


def print_result(result: WorkflowResult) -> None:
    """Print a run's response: rendered on a terminal, unchanged elsewhere."""
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
    """Return whether the response is Markdown text: steps that write files or code return objects."""
    if result.rollback_performed is not None:
        return isinstance(result.response, str)  # the summary of a task, which no step returned
    return isinstance(result.response, str) and result.response in result.results.values()


def report_errors(command: Callable[P, int]) -> Callable[P, int]:
    """Decorate a command to print errors, with `--json` as JSON, and return their exit status."""
    return _reporting(command, status_of)


def report_usage_errors(command: Callable[P, int]) -> Callable[P, int]:
    """Decorate a command as `report_errors` does; every error except a StoreError is wrong usage."""
    return _reporting(command, lambda error: status_of(error) if isinstance(error, StoreError) else USAGE)


def _reporting(command: Callable[P, int], status: Callable[[TideateError], int]) -> Callable[P, int]:
    @wraps(command)
    def reporting(*args: P.args, **options: P.kwargs) -> int:
        try:
            with ungrouped():
                return command(*args, **options)
        except TideateError as error:
            fail(error, as_json=bool(options.get("json")))
            if isinstance(error, RunNotFound):
                _hint_of_moved(options.get("root"))
            return status(error)

    return reporting


def hint_of_state(root: Path) -> None:
    """Print hints on stderr about private state of a project that may have been moved here."""
    # here, because most commands print no such hint
    from tideate_core.app import moved_words

    for words in moved_words(root):
        note(words)


def _hint_of_moved(root: object) -> None:
    """Print a hint if the missing run may belong to a moved project."""
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
        # each line of the message has its own position
        tell_mistakes(messages(), Text(visible(str(error))))
    else:
        tell(messages(), Text.assemble(("error: ", "bold red"), visible(str(error))))
