"""MCP server process: serve one server until its client leaves, without the command line parser."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.mcpserver import MCPServer

    from tideate_core.mcp.transport import Token

    Build = Callable[[], MCPServer[Any]]

DEFAULT_PORT: Final = 8000
STDIO: Final = "stdio"
REFUSED_PORT: Final = {
    errno.EADDRINUSE: "another program has it",
    errno.EACCES: "only an administrator may take it",
}


def serve_project(name: str, root: str | None, transport: str = STDIO, port: int | None = None) -> int:
    """Serve a named server for a project; return the exit status."""

    def prepare() -> Build:
        from tideate_core.mcp.servers import checked_root, make_server

        directory = checked_root(name, root)
        return lambda: make_server(name, directory)

    return serve(prepare, transport, port)


def serve(prepare: Callable[[], Build], transport: str, port: int | None) -> int:
    """Serve until the client leaves or a signal arrives; return the exit status.

    :param prepare: validates the request and returns the server's factory.
    """
    from tideate_core.cli.process import log_to_file
    from tideate_core.errors import InvalidInput, TideateError

    token: Token | None = None
    try:
        if port is not None and transport == STDIO:
            raise InvalidInput("--port is for --transport http or websocket; over stdio there is no port")
        build = prepare()
        if transport != STDIO:
            from tideate_core.mcp.transport import token_from_environment

            token = token_from_environment(os.environ)
        log_to_file()  # before the SDK is used: it would log to the terminal
    except TideateError as error:
        from tideate_core.cli.render.output import fail

        fail(error)
        return 2
    if token is None:
        return _over_stdio(build)
    return _at_address(build, transport, DEFAULT_PORT if port is None else port, token)


def _over_stdio(build: Build) -> int:
    from tideate_core.util.garbage import garbage_collection_paused

    with garbage_collection_paused():
        from tideate_core.mcp.transport import serve_stdio

        server = build()
    return serve_stdio(server)


def _at_address(build: Build, transport: str, port: int, token: Token) -> int:
    from tideate_core.mcp.transport import listen_on_loopback
    from tideate_core.util.garbage import garbage_collection_paused

    try:
        listening = listen_on_loopback(port)
    except OSError as error:
        why = REFUSED_PORT.get(error.errno or 0, error.strerror)
        sys.stderr.write(
            f"error: cannot listen on port {port}: {why}; choose another with --port, 0 takes a free one\n"
        )
        return 1
    with garbage_collection_paused():
        if transport == "http":
            from tideate_core.mcp.transport import serve_http as serving
        else:
            from tideate_core.mcp.transport import serve_websocket as serving
        server = build()
    return serving(server, listening, token, lambda url: _announce(url, token))


def _announce(url: str, token: Token) -> None:
    """Print the address, and the token if it was generated; it is shown nowhere else."""
    from tideate_core.mcp.transport import TOKEN_VARIABLE

    sys.stderr.write(f"serving on {url} (Ctrl-C ends it)\n")
    if token.generated:
        sys.stderr.write(
            f"its token, for `Authorization: Bearer …`; ${TOKEN_VARIABLE} chooses another: {token.secret}\n"
        )
    sys.stderr.flush()
