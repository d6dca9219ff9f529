"""Serve local clients over streamable HTTP, with admission control and eviction of idle sessions."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

from tideate_core.mcp.transport.admission import CHALLENGE, HOST, PATH, AdmissionPolicy
from tideate_core.mcp.transport.signals import StopSignals

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from mcp.server.mcpserver import MCPServer
    from mcp.server.streamable_http import EventStore
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from tideate_core.mcp.transport.admission import Token

MAX_SESSIONS = 64
"""Open HTTP sessions; a session ends after 30 idle minutes, or is evicted for a new one."""
REQUEST_TIME = 30.0
"""Seconds for a whole request, head and body, to arrive."""
GRACE = 0
"""Seconds that open streams have to end on shutdown; they never end by themselves."""


class AdmissionMiddleware:
    """Middleware that rejects requests by the admission policy before they have any effect."""

    def __init__(self, app: ASGIApp, policy: AdmissionPolicy) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = (headers.getlist(name) for name in ("host", "origin", "authorization"))
        if refused := self._policy.refusal(*given):
            status, words = refused
            challenge = {"WWW-Authenticate": CHALLENGE} if status == 401 else {}
            await PlainTextResponse(words, status, challenge)(scope, receive, send)
            return
        # nothing behind this needs the token
        kept = [(name, value) for name, value in scope["headers"] if name != b"authorization"]
        await self._app({**scope, "headers": kept}, receive, send)


class SessionEviction:
    """Middleware that evicts the longest idle session when a new one needs its slot.

    A client that disconnects silently leaves its session open until the idle timeout. A session with an open
    request or stream is not idle.

    :param path: the URL path that opens sessions.
    :param most: open sessions at once.
    """

    def __init__(self, app: ASGIApp, path: str, most: int) -> None:
        self._app = app
        self._path = path
        self._most = most
        self._busy: Counter[str] = Counter()
        self._idle: dict[str, None] = {}
        """In the order in which they became idle; some may have ended."""
        self._opening = 0
        """Requests for a session that are not answered yet."""
        self._evicting = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        session = headers.get(MCP_SESSION_ID_HEADER)
        if session is not None and (session in self._idle or session in self._busy):
            await self._continue_session(session, scope, receive, send)
        elif session is None and self._opens_session(scope, headers):
            await self._open_session(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _opens_session(self, scope: Scope, headers: Headers) -> bool:
        version = headers.get(MCP_PROTOCOL_VERSION_HEADER)
        return (
            scope["type"] == "http"
            and (scope["method"], scope["path"]) == ("POST", self._path)
            and (version is None or version in HANDSHAKE_PROTOCOL_VERSIONS)
        )

    async def _continue_session(self, session: str, scope: Scope, receive: Receive, send: Send) -> None:
        self._mark_busy(session)
        try:
            await self._app(scope, receive, send)
        finally:
            self._mark_idle(session)

    async def _open_session(self, scope: Scope, receive: Receive, send: Send) -> None:
        # not held during the request: its client may be slow
        async with self._evicting:
            await self._evict_idle(scope)
            self._opening += 1
        answered = False
        session: str | None = None

        async def watch(message: Message) -> None:
            nonlocal answered, session
            if message["type"] == "http.response.start":
                answered = True
                self._opening -= 1
                # marked before the client gets the id: it may use the session during this request
                if message["status"] < 400:
                    session = Headers(raw=message["headers"]).get(MCP_SESSION_ID_HEADER)
                if session is not None:
                    self._mark_busy(session)
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            self._opening -= not answered
            if session is not None:
                self._mark_idle(session)

    def _mark_busy(self, session: str) -> None:
        self._idle.pop(session, None)
        self._busy[session] += 1

    def _mark_idle(self, session: str) -> None:
        self._busy[session] -= 1
        if not self._busy[session]:
            del self._busy[session]
            self._idle[session] = None

    async def _evict_idle(self, scope: Scope) -> None:
        while self._idle and len(self._idle) + len(self._busy) + self._opening >= self._most:
            session = next(iter(self._idle))
            del self._idle[session]
            await self._end_session(session, scope)

    async def _end_session(self, session: str, scope: Scope) -> None:
        """End a session as its client would; if it has already ended, the error answer is ignored."""
        kept = [(name, value) for name, value in scope["headers"] if name in (b"host", b"origin")]
        named = (MCP_SESSION_ID_HEADER.lower().encode(), session.encode())
        status = 0

        async def nothing() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def watch(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)

        await self._app({**scope, "method": "DELETE", "headers": [*kept, named]}, nothing, watch)
        logging.getLogger(__name__).info("session %s was idle the longest, ended: %d", session, status)


class PromptRequests(H11Protocol):
    """HTTP connection that is closed if a request does not arrive completely in time.

    uvicorn limits only the time between requests.
    """

    patience = REQUEST_TIME
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._adjust_deadline()

    def handle_events(self) -> None:
        # also called for data that arrived while the previous request was answered
        super().handle_events()
        self._adjust_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def _is_partial(self) -> bool:
        """True if part of a request is missing; a pipelined request may wait for the answer before it."""
        if self.cycle is None or self.cycle.more_body:
            return True
        return self.cycle.response_complete and bool(self.conn.trailing_data[0])

    def _adjust_deadline(self) -> None:
        if not self._is_partial:
            self._stop_waiting()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.patience, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def http_app(server: MCPServer[Any], policy: AdmissionPolicy, events: EventStore | None = None) -> Starlette:
    """Create the ASGI application, with admission control before everything else.

    :param events: stores events for clients that reconnect; without it they repeat the call.
    """
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        # hosts and origins are checked by the admission policy
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_sessions=MAX_SESSIONS,
        event_store=events,
    )
    app.add_middleware(SessionEviction, path=PATH, most=MAX_SESSIONS)
    # added last, runs first: a foreign page must not end any session
    app.add_middleware(AdmissionMiddleware, policy=policy)
    return app


def serve_http(
    server: MCPServer[Any], listening: socket.socket, token: Token, announce: Callable[[str], None]
) -> int:
    """Serve on a listening socket until a signal arrives; return the exit status.

    :param announce: called with the server's address once it is ready.
    """
    app = http_app(server, AdmissionPolicy(token, listening.getsockname()[1]))
    return serve_app(app, listening, announce)


def serve_app(app: ASGIApp, listening: socket.socket, announce: Callable[[str], None]) -> int:
    """Serve an ASGI application, as `serve_http` does."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        log_level=logging.CRITICAL,
        timeout_graceful_shutdown=GRACE,
        server_header=False,
        ws="none",
        http=PromptRequests,
    )
    with listening:
        announce(f"http://{HOST}:{listening.getsockname()[1]}{PATH}")
        return asyncio.run(_over_http(_Uvicorn(config), listening))


async def _over_http(web: uvicorn.Server, listening: socket.socket) -> int:
    def stop() -> None:
        web.should_exit = True

    with StopSignals(stop) as signals:
        await web.serve(sockets=[listening])
    return signals.status


class _Uvicorn(uvicorn.Server):
    """Server without uvicorn's signal handlers, which raise the signal again after an orderly end."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
