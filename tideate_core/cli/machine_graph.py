"""`tideate machine graph`: a machine as a drawing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from rich.text import Text

from tideate_core.cli.files import write_output
from tideate_core.cli.machine_source import open_machine, state_of
from tideate_core.cli.output import fail, results, visible
from tideate_core.errors import InvalidInput, TideateError
from tideate_core.machines.language import draw

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Format", "format_of", "graph"]

Format = Literal["text", "mermaid", "dot", "svg"]

SUFFIXES: Final[Mapping[str, Format]] = {
    ".txt": "text",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
    ".dot": "dot",
    ".gv": "dot",
    ".svg": "svg",
}


def graph(
    file: str,
    root: str | None,
    *,
    format: Format | None,  # noqa: A002 the option's name
    out: str | None,
    obfuscate: bool,
    current: str | None,
    called: str | None = None,
) -> int:
    """Draw a machine on stdout or to a file; returns the exit status."""
    try:
        kind = format or format_of(out)
        workflow = open_machine(file, root, obfuscate=obfuscate, called=called)
        marked = None if current is None else state_of(workflow, current)
        console = results()
        drawing = draw(workflow.machine, kind, width=console.width, current=marked)
        if out in (None, "-") and kind == "text" and console.is_terminal:
            # its lines fit, and what is cut off on purpose has to stay on its line
            console.print(_coloured(drawing, workflow.machine.states, marked), soft_wrap=True)
        else:
            write_output(out, drawing, workflow.path)
    except TideateError as error:
        fail(error)
        return 2
    return 0


def format_of(out: str | None) -> Format:
    """Return the format that the suffix of `-o` says; text without one.

    :raises InvalidInput: the suffix says none.
    """
    if out is None or out == "-":
        return "text"
    try:
        return SUFFIXES[Path(out).suffix.lower()]
    except KeyError:
        known = ", ".join(SUFFIXES)
        raise InvalidInput(f"-o {out}: give a --format, or a name that ends in one of {known}") from None


def _coloured(drawing: str, states: Iterable[str], current: str | None) -> Text:
    text = Text(visible(drawing).removesuffix("\n"))
    names = "|".join(map(re.escape, sorted(states, key=len, reverse=True)))
    text.highlight_regex(r"[─-╿▲-◿←-⇿]+", "dim")
    if names:
        text.highlight_regex(rf"(?<!\w)(?:{names})(?!\w)", "cyan")
    if current is not None:
        text.highlight_regex(rf"(?<!\w){re.escape(current)}(?!\w)", "bold reverse")
    return text
