"""`tideate machine`: its arguments. What a command needs is imported when it runs."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import App, Parameter

from tideate_core.cli.arguments import Json, Machine, Machines, Obfuscate, Out, Root, StateName

__all__ = ["app"]

app = App(
    name="machine",
    help="State machines: look at `.workflow` files, walk through them, run them.",
    help_epilogue="FILE is a `.workflow` file, the name of a workflow such as PLANNER, or `-` for stdin "
    "(not of `run`).\n\n"
    "Exit status: 0 done, 1 an invalid move, a file to format, or a failed run, "
    "2 wrong usage or an invalid file, 3 declined or cancelled, 130 interrupted.",
)

Called = Annotated[
    str | None,
    Parameter(name="--name", help="What the workflow of stdin is called; its tokens depend on the name."),
]
Current = Annotated[StateName, Parameter(name="--current", help="Mark this state.")]


@app.command(usage="tideate machine check [OPTIONS] FILE...")
def check(
    *files: Machines,
    strict: Annotated[bool, Parameter(name="--strict", help="Warnings are errors, too.")] = False,
    json: Json = False,
    root: Root = None,
) -> int:
    """List all mistakes of `.workflow` files, with their places."""
    from tideate_core.cli.machine_check import check as command

    return command(files, root, strict=strict, as_json=json)


@app.command(usage="tideate machine graph [OPTIONS] FILE")
def graph(
    file: Machine,
    /,
    *,
    format: Annotated[  # noqa: A002 the option's name
        Literal["text", "mermaid", "dot", "svg"] | None,
        Parameter(name="--format", help="Default: what OUT's suffix says, else text."),
    ] = None,
    out: Out = None,
    obfuscate: Obfuscate = False,
    current: Current = None,
    called: Called = None,
    root: Root = None,
) -> int:
    """Draw a machine: as text, for Mermaid or Graphviz, or as SVG."""
    from tideate_core.cli.machine_graph import graph as command

    return command(file, root, format=format, out=out, obfuscate=obfuscate, current=current, called=called)


@app.command(usage="tideate machine step [OPTIONS] FILE [STATE [NEXT]]")
def step(
    file: Machine,
    state: Annotated[StateName, Parameter(help="Where to begin; default: the entry, `*`.")] = None,
    next: Annotated[StateName, Parameter(help="Try only this one move.")] = None,  # noqa: A002
    /,
    *,
    obfuscate: Obfuscate = False,
    json: Annotated[bool, Parameter(name="--json", help="Print the result of one move as JSON.")] = False,
    called: Called = None,
    root: Root = None,
) -> int:
    """Walk through a machine by hand.

    Shows the guidance of each state and asks where to go. Without a terminal, one choice is read from each
    line of stdin, and an invalid one ends the walk with status 1.
    """
    from tideate_core.cli.machine_step import step as command

    return command(file, state, next, root, obfuscate=obfuscate, as_json=json, called=called)


@app.command(name="format", usage="tideate machine format [OPTIONS] FILE...")
def format_files(
    *files: Machines,
    check: Annotated[bool, Parameter(name="--check", help="Only list what would change.")] = False,
    stdout: Annotated[bool, Parameter(name="--stdout", help="Print the text instead of writing it.")] = False,
    root: Root = None,
) -> int:
    """Write `.workflow` files in the usual form.

    A file with errors is left as it is. `-` is printed.
    """
    from tideate_core.cli.machine_format import format_files as command

    return command(files, root, check=check, stdout=stdout)


@app.command(usage="tideate machine export [OPTIONS] FILE")
def export(
    file: Machine,
    /,
    *,
    obfuscate: Obfuscate = False,
    out: Out = None,
    called: Called = None,
    root: Root = None,
) -> int:
    """Print a machine as `.workflow` text."""
    from tideate_core.cli.machine_export import export as command

    return command(file, root, obfuscate=obfuscate, out=out, called=called)


@app.command(usage="tideate machine reveal [OPTIONS] FILE TOKEN...")
def reveal(
    file: Machine,
    /,
    *tokens: Annotated[str, Parameter(help="What an obfuscated export, log or client shows.")],
    json: Json = False,
    called: Called = None,
    root: Root = None,
) -> int:
    """Print the names behind tokens, one a line.

    Needs the project's key, and FILE under the name that it had: tokens depend on the workflow's name.
    """
    from tideate_core.cli.machine_export import reveal as command

    return command(file, tokens, root, as_json=json, called=called)
