"""`tideate mcp serve`: the servers, and their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter, validators

from tideate_core.app import STDIN
from tideate_core.cli.arguments import Root, machine_names
from tideate_core.cli.mcp_server import DEFAULT_PORT, serve, serve_project

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.mcpserver import MCPServer

__all__ = ["app"]

app = App(name="serve")

Transport = Annotated[
    Literal["stdio", "http", "websocket"],
    Parameter(
        help="stdio serves the program that started it; the others all programs of this machine that know "
        "the token: $TIDEATE_MCP_TOKEN, else one that is made and shown at the start."
    ),
]
Port = Annotated[
    int | None,
    Parameter(
        help=f"For http and websocket, on 127.0.0.1; 0 takes a free one. Default: {DEFAULT_PORT}.",
        validator=validators.Number(gte=0, lte=65535),
    ),
]
Served = Annotated[
    str | None,
    Parameter(
        name="--root",
        metavar="DIR",
        help="The directory that is served, and nothing outside of it; needed. Not your home directory, nor "
        "one above it.",
    ),
]


@app.command(usage="tideate mcp serve git --root DIR [OPTIONS]")
def git(*, root: Served = None, transport: Transport = "stdio", port: Port = None) -> int:
    """Serve a git repository: inspect, stage, commit."""
    return serve_project("git", root, transport, port)


@app.command(usage="tideate mcp serve filesystem --root DIR [OPTIONS]")
def filesystem(*, root: Served = None, transport: Transport = "stdio", port: Port = None) -> int:
    """Serve the files of a directory: read, search, edit; each change can be rolled back."""
    return serve_project("filesystem", root, transport, port)


@app.command(usage="tideate mcp serve test --root DIR [OPTIONS]")
def test(*, root: Served = None, transport: Transport = "stdio", port: Port = None) -> int:
    """Serve a project's tests: list them, run them."""
    return serve_project("test", root, transport, port)


@app.command(usage="tideate mcp serve build --root DIR [OPTIONS]")
def build(*, root: Served = None, transport: Transport = "stdio", port: Port = None) -> int:
    """Serve a project's build: find it, run it, clean up after it."""
    return serve_project("build", root, transport, port)


@app.command(usage="tideate mcp serve transitions --workflow FILE|NAME [OPTIONS]")
def transitions(
    *,
    workflow: Annotated[
        str,
        Parameter(
            metavar="FILE|NAME",
            help="A `.workflow` file, or a workflow's name.",
            completer=machine_names,
            allow_leading_hyphen=True,
        ),
    ],
    obfuscate: Annotated[
        bool,
        Parameter(
            help="Tokens in place of the states' names in all that the server says and takes. "
            "The workflow's own name is not hidden."
        ),
    ] = False,
    walk: Annotated[
        bool, Parameter(help="Refuse a move from a state where the client's walk does not stand.")
    ] = False,
    shared_position: Annotated[
        bool, Parameter(help="All clients take one walk together, guarded as with --walk.")
    ] = False,
    transport: Transport = "stdio",
    port: Port = None,
    root: Root = None,
) -> int:
    """Serve a state machine: a model walks it with the tool `transition`, and makes no other move."""

    def prepare() -> Callable[[], MCPServer[Any]]:
        options = {"walk": walk, "shared_position": shared_position}
        return _prepare_transitions(workflow, root, obfuscate=obfuscate, **options)

    return serve(prepare, transport, port)


def _prepare_transitions(
    name: str, root: str | None, *, obfuscate: bool, walk: bool, shared_position: bool
) -> Callable[[], MCPServer[Any]]:
    """Read the workflow; what is returned makes its server.

    :raises TideateError: it cannot be found or used.
    """
    from tideate_core.app import open_machine
    from tideate_core.errors import InvalidInput
    from tideate_core.machines.language import Workflow

    if name in ("-", STDIN):
        raise InvalidInput("cannot read a workflow from stdin while serving on it; name a FILE or a workflow")
    if name.startswith("-"):
        raise InvalidInput(f"--workflow needs a FILE or a workflow's name, not the option {name}")
    found = open_machine(name, root, obfuscate=obfuscate)
    machine = Workflow(found.machine)

    def make() -> MCPServer[Any]:
        from tideate_core.mcp.servers import transitions_server

        names = found.obfuscator
        return transitions_server(machine, obfuscator=names, walk=walk, shared_position=shared_position)

    return make
