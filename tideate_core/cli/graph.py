"""`tideate graph`: any workflow as a drawing, its steps or its states."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.text import Text

from tideate_core.cli import machine_graph
from tideate_core.cli.arguments import STDIN
from tideate_core.cli.files import write_output
from tideate_core.cli.machine_graph import format_of
from tideate_core.cli.output import fail, results, visible
from tideate_core.cli.wiring import build_catalog, locate
from tideate_core.errors import TideateError
from tideate_core.workflows import WorkflowDefinition, draw_steps

if TYPE_CHECKING:
    from tideate_core.cli.machine_graph import Format

__all__ = ["graph"]

STEP_LINE = re.compile(r"^ *\d* .[●┌├└] (\S+)", re.MULTILINE)


def graph(
    name: str,
    root: str | None,
    *,
    format: Format | None,  # noqa: A002 the option's name
    out: str | None,
) -> int:
    """Draw a workflow on stdout or to a file; returns the exit status."""
    try:
        known = None if name == STDIN else build_catalog(locate(root)).look_at(name)
        if known is not None and isinstance(known.definition, WorkflowDefinition):
            kind = format or format_of(out)
            console = results()
            drawing = draw_steps(known.definition, kind, width=console.width)
            if out in (None, "-") and kind == "text" and console.is_terminal:
                console.print(_coloured(drawing), soft_wrap=True)
            else:
                write_output(out, drawing, known.path)
            return 0
    except TideateError as error:
        fail(error)
        return 2
    return machine_graph.graph(name, root, format=format, out=out, obfuscate=False, current=None)


def _coloured(drawing: str) -> Text:
    text = Text(visible(drawing).removesuffix("\n"))
    text.highlight_regex(r"^ *\d* .[●┌├└]|^ *│$|←", "dim")
    for match in STEP_LINE.finditer(text.plain):
        text.stylize("cyan", *match.span(1))
    return text
