"""`tideate mcp`: the arguments. The MCP SDK is imported when a server starts; it takes its time."""

from __future__ import annotations

import errno
import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter, validators

from tideate_core.cli.arguments import STDIN, Root, machine_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.mcpserver import MCPServer

__all__ = ["mcp"]

DEFAULT_PORT = 8000

REFUSED_PORT = {
    errno.EADDRINUSE: "another program has it",
    errno.EACCES: "only an administrator may take it",
}

mcp = App(name="mcp", help="Offer what tideate knows to other programs over the Model Context Protocol.")
serve = App(name="serve", help="Run an MCP server until its client leaves, or Ctrl-C.")
mcp.command(serve)

Transport = Annotated[
    Literal["stdio", "http"],
    Parameter(help="stdio serves the program that started it; http all programs of this machine."),
]
Port = Annotated[
    int | None,
    Parameter(
        help=f"For http, on 127.0.0.1; 0 takes a free one. Default: {DEFAULT_PORT}.",
        validator=validators.Number(gte=0, lte=65535),
    ),
]


@serve.command(usage="tideate mcp serve transitions --workflow FILE|NAME [OPTIONS]")
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
    shared_position: Annotated[
        bool, Parameter(help="All clients walk together. Otherwise each has its own position.")
    ] = False,
    transport: Transport = "stdio",
    port: Port = None,
    root: Root = None,
) -> int:
    """Serve a state machine: a model walks it with the tool `transition`, and makes no other move."""
    from tideate_core.cli.output import fail
    from tideate_core.cli.wiring import log_to_file
    from tideate_core.errors import InvalidInput, TideateError

    try:
        if port is not None and transport == "stdio":
            raise InvalidInput("--port is for --transport http; over stdio there is no port")
        build = _transitions(workflow, root, obfuscate=obfuscate, shared_position=shared_position)
        log_to_file()  # before the SDK is used: it would log to the terminal
    except TideateError as error:
        fail(error)
        return 2
    return _serve(build, transport, DEFAULT_PORT if port is None else port)


def _transitions(
    name: str, root: str | None, *, obfuscate: bool, shared_position: bool
) -> Callable[[], MCPServer[Any]]:
    """Read the workflow; what is returned makes its server.

    :raises TideateError: it cannot be found or used.
    """
    from tideate_core.cli.machine_source import open_machine
    from tideate_core.errors import InvalidInput
    from tideate_core.machines.language import Workflow

    if name in ("-", STDIN):
        raise InvalidInput("stdin is the client's; name a FILE or a workflow")
    if name.startswith("-"):
        raise InvalidInput(f"--workflow needs a FILE or a workflow's name, not the option {name}")
    found = open_machine(name, root, obfuscate=obfuscate)
    machine = Workflow(found.machine)

    def build() -> MCPServer[Any]:
        from tideate_core.mcp.servers.transitions import transitions_server

        return transitions_server(machine, obfuscator=found.obfuscator, shared_position=shared_position)

    return build


def _serve(build: Callable[[], MCPServer[Any]], transport: str, port: int) -> int:
    from tideate_core.mcp.serving import listen, serve_http, serve_stdio

    if transport == "stdio":
        return serve_stdio(build())
    try:
        listening = listen(port)
    except OSError as error:
        why = REFUSED_PORT.get(error.errno or 0, error.strerror)
        sys.stderr.write(
            f"error: cannot listen on port {port}: {why}; choose another with --port, 0 takes a free one\n"
        )
        return 1
    return serve_http(build(), listening, _announce)


def _announce(url: str) -> None:
    sys.stderr.write(f"serving on {url} (Ctrl-C ends it)\n")
    sys.stderr.flush()
