"""`tideate machine`: format and export machines, reveal state names; table of its other commands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import App, Parameter

from tideate_core.app import Source, Unreadable, locate_project, open_machine, read_sources
from tideate_core.cli.arguments import RUN_HELP, Called, Json, Machine, Machines, Obfuscate, Out, Root
from tideate_core.cli.commands.check import described
from tideate_core.cli.files import write_output, write_text
from tideate_core.cli.process import DONE, FAILED, USAGE
from tideate_core.cli.render.output import (
    messages,
    print_json,
    print_line,
    print_text,
    report_usage_errors,
    tell_mistakes,
)
from tideate_core.errors import ConfigError, InvalidInput, UnknownToken
from tideate_core.project import project_state
from tideate_core.util.escaping import label

if TYPE_CHECKING:
    from tideate_core.workflows import MachineWorkflow

COMMANDS_AT: Final = "tideate_core.cli.commands"

app = App(
    name="machine",
    help_epilogue="FILE is a `.workflow` file, the name of a workflow such as PLANNER, or `-` for stdin "
    "(not of `run`).\n\n"
    "Exit status: 0 done, 1 an invalid move, a file to format, or a failed run, "
    "2 wrong usage or an invalid file, 3 declined or cancelled, 130 interrupted.",
)
app.command(
    f"{COMMANDS_AT}.check:check_machines",
    name="check",
    help="Check `.workflow` files; list all mistakes with their positions.",
    usage="tideate machine check [OPTIONS] FILE...",
)
app.command(
    f"{COMMANDS_AT}.workflows:graph_machine",
    name="graph",
    help="Draw a machine: as text, for Mermaid, or as SVG.",
    usage="tideate machine graph [OPTIONS] FILE",
)
app.command(
    f"{COMMANDS_AT}.machine_walk:step",
    name="step",
    help="Walk through a machine by hand.\n\n"
    "Shows the guidance of each state and asks for the next one. Without a terminal, one choice is read from "
    "each line of stdin, and an invalid one ends the walk with status 1.",
    usage="tideate machine step [OPTIONS] FILE [STATE [NEXT]]",
)
app.command(
    f"{COMMANDS_AT}.run:run",
    name="run",
    help=RUN_HELP,
    usage="tideate machine run [OPTIONS] FILE [PROMPT...]",
)


@app.command(name="format", usage="tideate machine format [OPTIONS] FILE...")
@report_usage_errors
def format_files(
    *files: Machines,
    check: Annotated[bool, Parameter(name="--check", help="Only list files that would change.")] = False,
    stdout: Annotated[bool, Parameter(name="--stdout", help="Print the text instead of writing it.")] = False,
    root: Root = None,
) -> int:
    """Format `.workflow` files.

    A file with errors is left unchanged. `-` is printed.
    """
    if check and stdout:
        raise InvalidInput("--check cannot be used with --stdout")
    worst = DONE
    for read in read_sources(files, root):
        worst = max(worst, _format_one(read, check=check, stdout=stdout))
    return worst


@app.command(usage="tideate machine export [OPTIONS] FILE")
@report_usage_errors
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
    from tideate_core.machines.language import write_definition

    workflow = open_machine(file, root, obfuscate=obfuscate, called=called)
    write_output(out, write_definition(workflow.machine), workflow.path)
    return DONE


@app.command(usage="tideate machine reveal [OPTIONS] FILE TOKEN...")
@report_usage_errors
def reveal(
    file: Machine,
    /,
    *tokens: Annotated[str, Parameter(help="Token of an obfuscated export, log or client.")],
    json: Json = False,
    called: Called = None,
    root: Root = None,
) -> int:
    """Print the state names that tokens replace, one per line.

    Needs the project's key, and FILE under the name it had: tokens depend on the workflow's name.
    """
    if not tokens:
        raise InvalidInput("name the TOKENs to reveal")
    names = _names(_with_key(file, root, called), tokens)
    if json:
        print_json({"ok": True, "names": dict(zip(tokens, names, strict=True))})
    else:
        print_text("\n".join(names))
    return DONE


def formatted(text: str) -> str:
    """Format the text of a `.workflow` file; keep its byte order mark."""
    from tideate_core.machines.language import format_text
    from tideate_core.workflows import BOM

    mark = BOM if text.startswith(BOM) else ""
    return mark + format_text(text.removeprefix(BOM))


def _format_one(read: Source | Unreadable, *, check: bool, stdout: bool) -> int:
    console = messages()
    mistakes = () if isinstance(read, Unreadable) else read.parse().errors
    for part in described(read, tuple(mistakes)):
        tell_mistakes(console, part)
    if isinstance(read, Unreadable) or mistakes:
        return USAGE
    text = formatted(read.raw)
    if check:
        if text == read.raw:
            return DONE
        print_line(f"would be formatted: {label(read.label)}")
        return FAILED
    if stdout or read.path is None:
        sys.stdout.buffer.write(text.encode())  # bytes: no translation of line ends
        sys.stdout.buffer.flush()
    elif text != read.raw:
        write_text(read.path, text, replaces=read.raw)
        print_line(f"formatted: {label(read.label)}", console=console)
    return DONE


def _with_key(file: str, root: str | None, called: str | None) -> MachineWorkflow:
    """Open a machine with the project's existing key: a new key has made no tokens."""
    from tideate_core.workflows import key_file

    key = key_file(project_state(locate_project(root)))
    if not key.exists():
        raise ConfigError(f"this project has no key, so it has made no tokens: {key} does not exist")
    return open_machine(file, root, obfuscate=True, called=called)


def _names(workflow: MachineWorkflow, tokens: tuple[str, ...]) -> list[str]:
    obfuscator = workflow.obfuscator
    if obfuscator is None:
        raise InvalidInput(f"workflow {workflow.name!r} has no tokens")
    try:
        return [obfuscator.reveal(token) for token in tokens]
    except UnknownToken as error:
        raise UnknownToken(
            f"{error} (tokens depend on the workflow's name, here {workflow.name!r}, and on its states)"
        ) from error
