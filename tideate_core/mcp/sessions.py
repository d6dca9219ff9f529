"""Where each client of a machine stands, and the way it took.

The SDK gives a connection of the handshake protocols one `client_params` object for its whole life,
over stdio as over HTTP (where the session's id stands behind it); that object is the session's
identity here and its memory ends with it. The protocol of 2026-07-28 has no sessions: every request
stands alone, so nothing is remembered for it.
"""

from __future__ import annotations

import weakref
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from mcp.server.session import ServerSession

__all__ = ["MAX_MOVES", "MAX_PATH_CHARACTERS", "Move", "Sessions", "Walk"]

MAX_MOVES = 500
"""How many of its last moves a session remembers."""

MAX_PATH_CHARACTERS = 65_536
"""How many characters the remembered moves hold together; the oldest go first."""


@dataclass(frozen=True, slots=True)
class Move:
    """One successful transition, with what the client said about it."""

    source: str
    target: str
    notes: dict[str, str]

    @property
    def size(self) -> int:
        """Its characters, for the bound on a session's memory."""
        return len(self.source) + len(self.target) + sum(len(k) + len(v) for k, v in self.notes.items())


@dataclass(slots=True)
class Walk:
    """One walk through the machine."""

    position: str | None = None
    """The state it stands at, `*` after the exit, None before the first move."""
    moves: deque[Move] = field(default_factory=deque)
    forgotten: int = 0
    """How many of the oldest moves were dropped to stay within the bounds."""
    _size: int = 0

    def add(self, move: Move) -> None:
        """Remember a move and stand at its target; one from elsewhere begins a path of its own."""
        if self.position not in (None, move.source):
            self.moves.clear()
            self.forgotten = self._size = 0
        self.position = move.target
        self.moves.append(move)
        self._size += move.size
        while len(self.moves) > MAX_MOVES or self._size > MAX_PATH_CHARACTERS:
            self._size -= self.moves.popleft().size
            self.forgotten += 1


class Sessions:
    """The walks of all living sessions, or the one walk that they share."""

    def __init__(self, *, shared: bool) -> None:
        self.shared = Walk() if shared else None
        self._walks: dict[int, Walk] = {}

    def __len__(self) -> int:
        return len(self._walks)

    def walk(self, session: ServerSession) -> Walk | None:
        """Return the walk of a request's session, None if the request belongs to no session."""
        if self.shared is not None:
            return self.shared
        identity = session.client_params
        if identity is None or session.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return None
        key = id(identity)
        if key not in self._walks:
            self._walks[key] = Walk()
            # an id is given again only after its object is gone, and the walk goes first
            weakref.finalize(identity, self._walks.pop, key, None).atexit = False
        return self._walks[key]
