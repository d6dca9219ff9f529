"""`tideate list` and `tideate graph`: list and draw workflows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter
from rich.table import Table
from rich.text import Text

from tideate_core.app import STDIN, build_catalog, locate_project, machine_state, open_machine
from tideate_core.cli.arguments import Called, Current, Json, Machine, Obfuscate, Out, Root, Workflow
from tideate_core.cli.files import write_output
from tideate_core.cli.process import DONE
from tideate_core.cli.render.output import (
    messages,
    print_json,
    print_line,
    report_usage_errors,
    results,
)
from tideate_core.cli.render.tables import hint_resumable, page
from tideate_core.errors import InvalidInput
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tideate_core.workflows import Registration

SUFFIXES: Final[Mapping[str, Format]] = {
    ".txt": "text",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
    ".svg": "svg",
}
STEP_LINE = re.compile(r"^ *\d* .[●┌├└] (\S+)", re.MULTILINE)

Format = Literal["text", "mermaid", "svg"]
FormatOption = Annotated[
    Format | None, Parameter(name="--format", help="Default: by the suffix of OUT, else text.")
]
SOURCES: Mapping[str, str] = {"user": "yours", "project": "this project's", "package": "a package's"}
"""Phrases for the origin of a machine."""


@report_usage_errors
def list_workflows(*, json: Json = False, root: Root = None) -> int:
    """Print every workflow with its steps; return the exit status."""
    found = locate_project(root)
    catalog = build_catalog(found)
    known = catalog.list()
    for notice in catalog.notices:
        print_line(notice, "yellow", console=messages())
    if json:
        print_json({"ok": True, "workflows": [_workflow_json(one) for one in known]})
        return DONE
    table = Table("name", "steps", "description", box=None, header_style="dim", padding=(0, 2, 0, 0))
    for one in known:
        table.add_row(one.definition.name, outline(one), Text(visible(one.definition.description)))
    page().print(table)
    hint_resumable(found)
    return DONE


def outline(known: Registration) -> str:
    """Return the steps of a graph, or the number of states and the origin of a machine."""
    names = known.definition.step_names
    if known.kind == "graph":
        return " → ".join(names)
    source = "" if known.source == "builtin" else f" ({SOURCES.get(known.source, known.source)})"
    return f"machine, {len(names)} state{'' if len(names) == 1 else 's'}{source}"


def _workflow_json(known: Registration) -> dict[str, object]:
    from tideate_core.workflows import MachineWorkflow

    definition = known.definition
    shape: dict[str, object] = {
        "name": definition.name,
        "description": definition.description,
        "kind": known.kind,
        "needs": list(definition.needs),
        "source": known.source,
    }
    if not isinstance(definition, MachineWorkflow):
        return {**shape, "steps": list(definition.step_names)}
    path = str(definition.path) if definition.path else None
    return {**shape, "steps": [], "states": list(definition.step_names), "path": path}


@report_usage_errors
def graph(
    name: Workflow,
    /,
    *,
    format: FormatOption = None,  # noqa: A002 the option's name
    out: Out = None,
    root: Root = None,
) -> int:
    """Draw a workflow on stdout or to a file; return the exit status."""
    from tideate_core.workflows import WorkflowDefinition, draw_steps

    known = None if name == STDIN else build_catalog(locate_project(root)).look_at(name)
    if known is not None and isinstance(known.definition, WorkflowDefinition):
        kind, width = format or format_of(out), results().width
        _print_drawing(draw_steps(known.definition, kind, width=width), kind, out, known.path, _colour_steps)
        return DONE
    return graph_machine(name, format=format, out=out, root=root)


@report_usage_errors
def graph_machine(
    file: Machine,
    /,
    *,
    format: FormatOption = None,  # noqa: A002 the option's name
    out: Out = None,
    obfuscate: Obfuscate = False,
    current: Current = None,
    called: Called = None,
    root: Root = None,
) -> int:
    """Draw a machine on stdout or to a file; return the exit status."""
    from tideate_core.machines.language import draw

    kind = format or format_of(out)
    workflow = open_machine(file, root, obfuscate=obfuscate, called=called)
    marked = None if current is None else machine_state(workflow, current)
    drawing = draw(workflow.machine, kind, width=results().width, current=marked)

    def colour(text: str) -> Text:
        return _colour_states(text, workflow.machine.states, marked)

    _print_drawing(drawing, kind, out, workflow.path, colour)
    return DONE


def format_of(out: str | None) -> Format:
    """Return the format for the suffix of `-o`; text for stdout.

    :raises InvalidInput: the suffix is unknown.
    """
    if out is None or out == "-":
        return "text"
    try:
        return SUFFIXES[Path(out).suffix.lower()]
    except KeyError:
        known = ", ".join(SUFFIXES)
        raise InvalidInput(f"-o {out}: give a --format, or a name that ends in one of {known}") from None


def _print_drawing(
    drawing: str, kind: Format, out: str | None, source: Path | None, colour: Callable[[str], Text]
) -> None:
    console = results()
    if out in (None, "-") and kind == "text" and console.is_terminal:
        # the drawing fits the width; its truncated lines must not wrap
        console.print(colour(drawing), soft_wrap=True)
    else:
        write_output(out, drawing, source)


def _colour_states(drawing: str, states: Iterable[str], current: str | None) -> Text:
    text = Text(visible(drawing).removesuffix("\n"))
    names = "|".join(map(re.escape, sorted(states, key=len, reverse=True)))
    text.highlight_regex(r"[─-╿▲-◿←-⇿]+", "dim")
    if names:
        text.highlight_regex(rf"(?<!\w)(?:{names})(?!\w)", "cyan")
    if current is not None:
        text.highlight_regex(rf"(?<!\w){re.escape(current)}(?!\w)", "bold reverse")
    return text


def _colour_steps(drawing: str) -> Text:
    text = Text(visible(drawing).removesuffix("\n"))
    text.highlight_regex(r"^ *\d* .[●┌├└]|^ *│$|←", "dim")
    for match in STEP_LINE.finditer(text.plain):
        text.stylize("cyan", *match.span(1))
    return text
