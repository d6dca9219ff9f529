"""Serves an MCP server to one client over stdio. What other transports need is not imported here."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING, Any, cast

from mcp.server.stdio import stdio_server

from tideate_core.mcp.refusals import Refusing
from tideate_core.mcp.signals import Signals
from tideate_core.mcp.stdin import Lines
from tideate_core.mcp.stdout import Answers, claimed_stdout

if TYPE_CHECKING:
    import anyio
    from mcp.server.mcpserver import MCPServer

__all__ = ["serve_stdio"]


def serve_stdio(server: MCPServer[Any]) -> int:
    """Serve one client until it closes the stream, or a signal; returns the exit status.

    Nothing but the protocol is written to stdout; records of the log go to stderr.

    :raises OSError: stdout cannot be written, for another reason than that nobody reads it any more.
    """
    return asyncio.run(_over_stdio(server))


async def _over_stdio(server: MCPServer[Any]) -> int:
    # Python has no `sys.stdin` where the process was started without one
    stdin = Lines(sys.stdin.fileno() if sys.stdin else None)
    lowlevel = server._lowlevel_server
    broken: OSError | None = None
    # ended as if the client had closed the stream: the SDK does not take a cancellation in good order
    with Signals(stdin.close) as signals:
        try:
            # of its files the SDK asks no more than lines of the one and `write` of the other
            with claimed_stdout() as wire:
                files = cast("anyio.AsyncFile[str]", stdin), cast("anyio.AsyncFile[str]", Answers(wire))
                async with stdio_server(*files) as (read, write):
                    await lowlevel.run(Refusing(read, write), write, lowlevel.create_initialization_options())
        except* (BrokenPipeError, ConnectionResetError):
            # the client has gone without a word: that is an end like any other
            logging.getLogger(__name__).info("the client closed its end")
        except* OSError as found:
            broken = _first(found)
    if broken is not None:
        raise broken
    return signals.status


def _first(group: BaseExceptionGroup[OSError]) -> OSError:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
