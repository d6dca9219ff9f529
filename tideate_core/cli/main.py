"""The `tideate` command's arguments. What a command needs is imported when it runs."""

from __future__ import annotations

import gc
import sys
from typing import Annotated, Literal

from cyclopts import App, Group, Parameter

from tideate_core import __version__
from tideate_core.cli.agents import app as agents
from tideate_core.cli.arguments import (
    STDIN,
    Json,
    Obfuscate,
    Out,
    Root,
    SchemaName,
    Workflow,
    Workflows,
    workflow_names,
)
from tideate_core.cli.checkpoint import app as checkpoint
from tideate_core.cli.context import app as context
from tideate_core.cli.machine import app as machine
from tideate_core.cli.mcp import mcp
from tideate_core.cli.mcp_client import add_to as add_mcp_tools
from tideate_core.cli.project import app as project
from tideate_core.cli.run_arguments import Yes, add_to
from tideate_core.cli.snapshot import app as snapshot
from tideate_core.cli.streams import with_streams
from tideate_core.util.garbage import collect_rarely

__all__ = ["app", "main"]

app = App(
    name="tideate",
    help="AI workflows that people can trust with their code.",
    help_format="plaintext",
    help_epilogue="Exit status: 0 done, 1 failed, 2 wrong usage or an invalid file, 3 declined or cancelled, "
    "130 interrupted.",
    default_parameter=Parameter(negative=(), show_default=False),
    version=f"tideate {__version__}",
)
WITH_VALUE = frozenset(
    {
        *(
            "--adapter",
            "--arguments",
            "--budget",
            "--current",
            "--days",
            "--definition",
            "--file",
            "--format",
            "--input",
        ),
        *(
            "--keep",
            "--limit",
            "--name",
            "--output",
            "--port",
            "--root",
            "--status",
            "--step",
            "--takeover-after",
        ),
        *("--timeout", "--token-env", "--transport", "--wait", "--workflow", "-i", "-o"),
    }
)
"""Options that take the next word, so that a `-` there is no FILE and no PROMPT."""
OTHER = Group("Other", sort_key=9)
app["--help"].group = app["--version"].group = (OTHER,)
app.register_install_completion_command(group=OTHER, help="Install shell completion for this shell.")


@machine.command(usage="tideate machine run [OPTIONS] FILE [PROMPT...]")
@app.command(usage="tideate run [OPTIONS] NAME|FILE [PROMPT...]")
def run(
    name: Annotated[
        str,
        Parameter(
            help="A workflow; `tideate list` names them. Or a file with one.", completer=workflow_names
        ),
    ],
    /,
    *prompt: Annotated[str, Parameter(help="What to do; `-` reads it from stdin.")],
    inputs: Annotated[
        tuple[str, ...],
        Parameter(name=["--input", "-i"], metavar="KEY=VALUE", help="Repeatable."),
    ] = (),
    file: Annotated[
        str | None,
        Parameter(name="--file", metavar="PATH[:FIRST-LAST]", help="The text to work on, or lines of it."),
    ] = None,
    adapter: Annotated[str | None, Parameter(name="--adapter", help="What answers prompts.")] = None,
    yes: Annotated[
        bool | None,
        Parameter(name="--yes", negative="--no", help="Answer all questions so."),
    ] = None,
    obfuscate: Obfuscate = False,
    json: Json = False,
    root: Root = None,
) -> int:
    """Run a workflow.

    Progress goes to stderr, the result to stdout. Without a terminal all is declined unless --yes.

    Edits of the demonstration model are applied only after a person's review.
    """
    if name == STDIN:
        return _refuse("a run reads no machine from stdin; write it to a .workflow file, and name that")
    from tideate_core.cli.run import Options, run_workflow

    options = Options(
        name=name,
        prompt=prompt,
        from_stdin=prompt == (STDIN,),
        inputs=inputs,
        file=file,
        adapter=adapter,
        policy=yes,
        obfuscate=obfuscate,
        json=json,
        root=root,
    )
    return run_workflow(options)


add_to(app)
app.command(agents)
app.command(checkpoint)
app.command(context)
app.command(machine)
add_mcp_tools(mcp)
app.command(mcp)
app.command(project)
app.command(snapshot)


@app.command(name="list")
def list_workflows(*, json: Json = False, root: Root = None) -> int:
    """List the workflows."""
    from tideate_core.cli.commands import list_workflows as command

    return command(root, as_json=json)


@app.command(usage="tideate check [OPTIONS] [FILE...]")
def check(*files: Workflows, json: Json = False, root: Root = None) -> int:
    """List all mistakes of workflows' files, with their places.

    Exit status 2 where one is an error; warnings are told only.
    """
    from tideate_core.cli.check import check as command

    return command(files, root, as_json=json)


@app.command(usage="tideate graph [OPTIONS] NAME|FILE")
def graph(
    name: Workflow,
    /,
    *,
    format: Annotated[  # noqa: A002 the option's name
        Literal["text", "mermaid", "dot", "svg"] | None,
        Parameter(name="--format", help="Default: what OUT's suffix says, else text."),
    ] = None,
    out: Out = None,
    root: Root = None,
) -> int:
    """Draw a workflow's steps or states: as text, for Mermaid or Graphviz, or as SVG."""
    from tideate_core.cli.graph import graph as command

    return command(name, root, format=format, out=out)


@app.command(usage="tideate schema [OPTIONS] [NAME]")
def schema(
    name: Annotated[SchemaName, Parameter(help="Of a workflow, or of a file of the handoff.")] = "workflow",
    /,
    *,
    out: Out = None,
) -> int:
    """Print the JSON Schema of workflows in YAML and JSON, for editors, or of a file of the handoff."""
    from tideate_core.cli.schema import schema as command

    return command(name, out)


@app.command
def doctor(*, json: Json = False, root: Root = None) -> int:
    """Check the installation, the configuration and what answers prompts."""
    from tideate_core.cli.doctor import doctor as command

    return command(root, as_json=json)


@app.command
def trust(
    file: Annotated[str | None, Parameter(help="Default: all files of the project that need it.")] = None,
    /,
    *,
    revoke: Annotated[bool, Parameter(help="Trust it no longer.")] = False,
    yes: Yes = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Trust a project's .tideate/config.toml, prompts, agents, workflows and commands as they are now.

    Shows what they would be able to run and what changed, and asks. After a change a file is not trusted any
    more. Without a terminal nothing is trusted unless --yes.
    """
    if revoke:
        from tideate_core.cli.trust import revoke as revoke_command

        return revoke_command(file, root, as_json=json)
    from tideate_core.cli.trust import trust as command

    return command(file, root, policy=yes, as_json=json)


@app.command
def completion(shell: Literal["bash", "zsh", "fish", "powershell"], /) -> int:
    """Print a completion script for a shell."""
    sys.stdout.write(app.generate_completion(shell=shell))
    return 0


def _tokens(argv: list[str]) -> list[str]:
    end = argv.index("--") if "--" in argv else len(argv)
    return [
        STDIN if word == "-" and at < end and before not in WITH_VALUE else word
        for at, (before, word) in enumerate(zip(["", *argv], argv, strict=False))
    ]


def _refuse(message: str) -> int:
    from tideate_core.cli.output import fail
    from tideate_core.errors import InvalidInput

    fail(InvalidInput(message))
    return 2


def main() -> None:
    """Run the command line and exit with its status."""
    collect_rarely()
    try:
        with_streams(lambda: app(_tokens(sys.argv[1:])))
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
