"""`tideate mcp serve`: serve tools of a directory, or a state machine, over MCP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from cyclopts import App, Parameter, validators

from tideate_core.app import STDIN
from tideate_core.cli.arguments import Root, machine_names
from tideate_core.cli.mcp_server import DEFAULT_PORT, serve, serve_project

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.mcpserver import MCPServer

app = App(name="serve")

Transport = Annotated[
    Literal["stdio", "http", "websocket"],
    Parameter(
        help="stdio serves the program that started it; the others serve all programs of this machine with "
        "the token: $TIDEATE_MCP_TOKEN, else one that is generated and shown at the start."
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
        help="Directory to serve, required; nothing outside of it is served. Not your home directory or one "
        "above it.",
    ),
]


SERVERS: Final = {
    "git": "Serve a git repository: inspect, stage, commit.",
    "filesystem": "Serve the files of a directory: read, search, edit; each change can be rolled back.",
    "test": "Serve a project's tests: list them, run them.",
    "build": "Serve a project's build: find it, run it, clean up after it.",
}


def _add_server(name: str, help_text: str) -> None:
    def command(*, root: Served = None, transport: Transport = "stdio", port: Port = None) -> int:
        return serve_project(name, root, transport, port)

    app.command(command, name=name, help=help_text, usage=f"tideate mcp serve {name} --root DIR [OPTIONS]")


for _name, _help in SERVERS.items():
    _add_server(_name, _help)


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
            help="Use tokens instead of state names in all messages of the server. "
            "The workflow's name is not hidden."
        ),
    ] = False,
    walk: Annotated[
        bool, Parameter(help="Refuse a move from a state other than the client's current state.")
    ] = False,
    shared_position: Annotated[
        bool, Parameter(help="All clients share one walk, guarded as with --walk.")
    ] = False,
    transport: Transport = "stdio",
    port: Port = None,
    root: Root = None,
) -> int:
    """Serve a state machine: a model moves through it only with the tool `transition`."""

    def prepare() -> Callable[[], MCPServer[Any]]:
        options = {"walk": walk, "shared_position": shared_position}
        return _prepare_transitions(workflow, root, obfuscate=obfuscate, **options)

    return serve(prepare, transport, port)


def _prepare_transitions(
    name: str, root: str | None, *, obfuscate: bool, walk: bool, shared_position: bool
) -> Callable[[], MCPServer[Any]]:
    """Open the workflow and return the factory of its server.

    :raises TideateError: the workflow cannot be found or used.
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
