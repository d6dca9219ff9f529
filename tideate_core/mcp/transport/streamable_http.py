"""Serve clients on this machine over streamable HTTP, with admission control and session eviction."""

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
from starlette.datastructures import Headers, MutableHeaders
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

__all__ = [
    "MAX_SESSIONS",
    "AdmissionMiddleware",
    "PromptRequests",
    "SessionEviction",
    "http_app",
    "serve_app",
    "serve_http",
    "transport_security",
]
MAX_SESSIONS = 64
"""HTTP sessions open at once; one ends after 30 idle minutes, or is evicted for a new one."""
REQUEST_TIME = 30.0
"""Seconds that the head and the body of one request may take to arrive."""
GRACE = 0
"""Seconds that open streams have to end when the server is told to: left alone, they never do."""


def transport_security(policy: AdmissionPolicy) -> TransportSecuritySettings:
    """Return what the SDK's own check is told, behind ours."""
    return TransportSecuritySettings(allowed_hosts=policy.hosts, allowed_origins=policy.origins)


class AdmissionMiddleware:
    """Middleware that refuses requests by the admission policy, before they can do anything."""

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
        await self._app(_as_admitted(scope), receive, send)


def _as_admitted(scope: Scope) -> Scope:
    """Return the request as the SDK compares it, letter by letter, and without what is nobody else's."""
    headers = MutableHeaders(raw=list(scope["headers"]))
    for name in ("host", "origin"):
        if name in headers:
            headers[name] = headers[name].lower()
    del headers["authorization"]
    return {**scope, "headers": headers.raw}


class SessionEviction:
    """Middleware that evicts the session idle the longest when there is no room for a new one.

    A client that goes without a word leaves its session behind; without this the next one would wait
    for the idle timeout. A session with a request or a stream open is not idle.

    :param path: where sessions are opened.
    :param most: how many sessions may be open at once.
    """

    def __init__(self, app: ASGIApp, path: str, most: int) -> None:
        self._app = app
        self._path = path
        self._most = most
        self._busy: Counter[str] = Counter()
        self._idle: dict[str, None] = {}
        """In the order in which they became idle; some may have ended since."""
        self._opening = 0
        self._policy = asyncio.Lock()

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
        async with self._policy:
            await self._evict_idle(scope)
            self._opening += 1
        answered = False
        session: str | None = None

        async def watch(message: Message) -> None:
            nonlocal answered, session
            if message["type"] == "http.response.start":
                answered = True
                self._opening -= 1
                # known before the client is: it may use the session while this request goes on
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
        """End it as its client would; where it has ended already, that is answered and does no harm."""
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
    """HTTP connection that is closed if a request does not arrive whole in time.

    uvicorn bounds only the time between two requests.
    """

    patience = REQUEST_TIME
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._adjust_deadline()

    def handle_events(self) -> None:
        # also called for what came while the request before was answered
        super().handle_events()
        self._adjust_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def _is_partial(self) -> bool:
        """A part of a request has to come; a request behind one that is answered may wait."""
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
    """Return the application: every request must come in by the door.

    :param events: keeps what a client missed while it was away; without it such a client calls again.
    """
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=transport_security(policy),
        max_sessions=MAX_SESSIONS,
        event_store=events,
    )
    app.add_middleware(SessionEviction, path=PATH, most=MAX_SESSIONS)
    # added last, asked first: a foreign page must not end anybody's session
    app.add_middleware(AdmissionMiddleware, policy=policy)
    return app


def serve_http(
    server: MCPServer[Any], listening: socket.socket, token: Token, announce: Callable[[str], None]
) -> int:
    """Serve on a socket that listens on `HOST` until a signal; returns the exit status.

    :param announce: is given the server's address as soon as it can be used.
    """
    app = http_app(server, AdmissionPolicy(token, listening.getsockname()[1]))
    return serve_app(app, listening, announce)


def serve_app(app: ASGIApp, listening: socket.socket, announce: Callable[[str], None]) -> int:
    """As `serve_http`, for an application."""
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
    """Server without uvicorn's own signal handlers, which raise them again after an orderly end."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
