"""Our servers over HTTP for programs that cannot send a header.

It is the product's own application, and before it what adds the token. Run it as
``python -m scripts.conformance.served NAME ROOT``; `everything` is the suite's own server.
"""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp.server.streamable_http import EventMessage, EventStore

from scripts.conformance.everything import everything_server
from tideate_core.machines.language import Workflow
from tideate_core.mcp.servers import make_server, transitions_server
from tideate_core.mcp.transport import AdmissionPolicy, Token, http_app, listen_on_loopback, serve_app

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.streamable_http import EventCallback
    from mcp_types import JSONRPCMessage
    from starlette.types import ASGIApp, Receive, Scope, Send

WORKFLOW = "* to begun\nbegun to *\n"


class Knowing:
    """Sends the token along with every request."""

    def __init__(self, app: ASGIApp, token: Token) -> None:
        self._app = app
        self._header = (b"authorization", f"Bearer {token.secret}".encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], self._header]}
        await self._app(scope, receive, send)


class Kept(EventStore):
    """The messages of streams, so that they can be resumed."""

    def __init__(self) -> None:
        self._events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        if not last_event_id.isdigit() or not 0 < int(last_event_id) <= len(self._events):
            return None
        stream = self._events[int(last_event_id) - 1][0]
        for number, (of, message) in enumerate(self._events, 1):
            if of == stream and number > int(last_event_id) and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


def _server(name: str, root: Path) -> MCPServer[Any]:
    if name == "everything":
        return everything_server()
    if name == "transitions":
        return transitions_server(Workflow(WORKFLOW, "short"))
    return make_server(name, root)


def main() -> int:
    """Serve until a signal."""
    name, root = sys.argv[1], Path(sys.argv[2]).resolve()
    token = Token(secrets.token_urlsafe())
    listening = listen_on_loopback(0)
    door = AdmissionPolicy(token, listening.getsockname()[1])
    app = http_app(_server(name, root), door, Kept() if name == "everything" else None)
    return serve_app(Knowing(app, token), listening, lambda url: print(url, file=sys.stderr, flush=True))


if __name__ == "__main__":
    sys.exit(main())
