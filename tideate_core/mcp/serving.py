"""Serves an MCP server to one client over stdio, or to many on this machine over streamable HTTP."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, cast

import uvicorn
from mcp.server.stdio import stdio_server

from tideate_core.mcp.refusals import Refusing
from tideate_core.mcp.stdin import Lines
from tideate_core.mcp.web import Admission, SessionRoom, security

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import anyio
    from mcp.server.mcpserver import MCPServer
    from starlette.applications import Starlette

__all__ = ["HOST", "MAX_SESSIONS", "http_app", "listen", "serve_http", "serve_stdio"]

HOST = "127.0.0.1"
PATH = "/mcp"
MAX_SESSIONS = 64
"""How many HTTP sessions may be open at once; one ends after 30 idle minutes, or to make room."""

GRACE = 0
"""Seconds that open streams have to end when the server is told to: left alone, they never do."""

INTERRUPTED = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve_stdio(server: MCPServer[Any]) -> int:
    """Serve one client until it closes the stream, or a signal; returns the exit status.

    Nothing but the protocol is written to stdout; records of the log go to stderr.
    """
    return asyncio.run(_over_stdio(server))


async def _over_stdio(server: MCPServer[Any]) -> int:
    # Python has no `sys.stdin` where the process was started without one
    stdin = Lines(sys.stdin.fileno() if sys.stdin else None)
    lowlevel = server._lowlevel_server
    # ended as if the client had closed the stream: the SDK does not take a cancellation in good order
    with _Signals(stdin.close) as signals:
        try:
            # the SDK asks no more of the file than its lines
            async with stdio_server(stdin=cast("anyio.AsyncFile[str]", stdin)) as (read, write):
                await lowlevel.run(Refusing(read, write), write, lowlevel.create_initialization_options())
        except* (BrokenPipeError, ConnectionResetError):
            # the client has gone without a word: that is an end like any other
            _log().info("the client closed its end")
    return signals.status


def _log() -> logging.Logger:
    return logging.getLogger(__name__)


def listen(port: int) -> socket.socket:
    """Open the server's port on the loopback interface.

    :param port: 0 takes a free one.
    :raises OSError: the port is in use, or not allowed.
    """
    return socket.create_server((HOST, port))


def http_app(server: MCPServer[Any], port: int) -> Starlette:
    """Return the application: every request must name this server as its host, and come from no other site.

    A page that a browser shows could otherwise have its own name point here and use the server.
    """
    allowed = security((HOST, "localhost"), port)
    app = server.streamable_http_app(
        streamable_http_path=PATH, transport_security=allowed, max_sessions=MAX_SESSIONS
    )
    app.add_middleware(SessionRoom, path=PATH, most=MAX_SESSIONS)
    # added last, asked first: a foreign page must not end anybody's session
    app.add_middleware(Admission, settings=allowed)
    return app


def serve_http(server: MCPServer[Any], listening: socket.socket, announce: Callable[[str], None]) -> int:
    """Serve on a socket of `listen` until a signal; returns the exit status.

    :param announce: is given the server's address as soon as it can be used.
    """
    port = listening.getsockname()[1]
    config = uvicorn.Config(
        http_app(server, port),
        log_config=None,
        access_log=False,
        log_level=logging.CRITICAL,
        timeout_graceful_shutdown=GRACE,
        server_header=False,
    )
    with listening:
        announce(f"http://{HOST}:{port}{PATH}")
        return asyncio.run(_over_http(_Uvicorn(config), listening))


async def _over_http(web: uvicorn.Server, listening: socket.socket) -> int:
    def stop() -> None:
        web.should_exit = True

    with _Signals(stop) as signals:
        await web.serve(sockets=[listening])
    return signals.status


class _Uvicorn(uvicorn.Server):
    """Leaves the signals to us: its own way raises them again after an orderly end."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Signals:
    """While entered, the first SIGINT, SIGTERM or SIGHUP calls `stop`; a second one kills."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self.status = 0
        """The exit status: 130 after SIGINT."""

    def __enter__(self) -> Self:
        self._numbers = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        for number in self._numbers:
            asyncio.get_running_loop().add_signal_handler(number, self._on_signal, number)
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._numbers:
            asyncio.get_running_loop().remove_signal_handler(number)

    def _on_signal(self, number: signal.Signals) -> None:
        self.status = INTERRUPTED if number is signal.SIGINT else 0
        for each in self._numbers:
            asyncio.get_running_loop().remove_signal_handler(each)
            signal.signal(each, signal.SIG_DFL)
        self._stop()
