"""What stands before the SDK's HTTP application: who may ask, and room for one more session."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import TYPE_CHECKING

from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

from tideate_core.mcp.admission import CHALLENGE

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from tideate_core.mcp.admission import Door

__all__ = ["Admission", "SessionRoom", "security"]


def security(door: Door) -> TransportSecuritySettings:
    """Return what the SDK's own check is told, behind ours."""
    return TransportSecuritySettings(allowed_hosts=door.hosts, allowed_origins=door.origins)


class Admission:
    """Refuses requests that the door does, before they can do anything."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = (headers.getlist(name) for name in ("host", "origin", "authorization"))
        if refused := self._door.refuses(*given):
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


class SessionRoom:
    """Ends the session that has been idle the longest when there is no room for a new one.

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
        self._door = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        session = headers.get(MCP_SESSION_ID_HEADER)
        if session is not None and (session in self._idle or session in self._busy):
            await self._visit(session, scope, receive, send)
        elif session is None and self._opens(scope, headers):
            await self._open(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _opens(self, scope: Scope, headers: Headers) -> bool:
        version = headers.get(MCP_PROTOCOL_VERSION_HEADER)
        return (
            scope["type"] == "http"
            and (scope["method"], scope["path"]) == ("POST", self._path)
            and (version is None or version in HANDSHAKE_PROTOCOL_VERSIONS)
        )

    async def _visit(self, session: str, scope: Scope, receive: Receive, send: Send) -> None:
        self._enter(session)
        try:
            await self._app(scope, receive, send)
        finally:
            self._leave(session)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._door:
            await self._make_room(scope)
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
                    self._enter(session)
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            self._opening -= not answered
            if session is not None:
                self._leave(session)

    def _enter(self, session: str) -> None:
        self._idle.pop(session, None)
        self._busy[session] += 1

    def _leave(self, session: str) -> None:
        self._busy[session] -= 1
        if not self._busy[session]:
            del self._busy[session]
            self._idle[session] = None

    async def _make_room(self, scope: Scope) -> None:
        while self._idle and len(self._idle) + len(self._busy) + self._opening >= self._most:
            session = next(iter(self._idle))
            del self._idle[session]
            await self._end(session, scope)

    async def _end(self, session: str, scope: Scope) -> None:
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
