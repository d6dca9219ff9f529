"""Validate moves through one workflow machine and remember each session's position.

The SDK gives a connection of the handshake protocols one `client_params` object for its whole life, over
stdio as over HTTP (where the session's id stands behind it); that object is the session's identity here and
its memory ends with it. The protocol of 2026-07-28 has no sessions: every request stands alone, so nothing is
remembered for it.
"""

from __future__ import annotations

import weakref
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from tideate_core.errors import did_you_mean
from tideate_core.machines.language import BOUNDARY, Failure
from tideate_core.mcp.servers.schemas import short_repr
from tideate_core.mcp.servers.transitions.answers import (
    Answer,
    MoveShape,
    PathShape,
    StateShape,
    StatesShape,
    shapes,
)

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context
    from mcp.server.session import ServerSession

    from tideate_core.machines.language import Workflow

__all__ = ["MAX_MOVES", "MAX_PATH_CHARACTERS", "Guide", "Move", "Sessions", "Walk"]

MAX_MOVES = 500
"""Last moves that a session remembers."""

MAX_PATH_CHARACTERS = 65_536
"""Characters of the remembered moves together; the oldest go first."""
PAGE = 200
LISTED = 40
"""Names that an error message lists."""
SEARCHED = 2_000
"""Among how many names the nearest is looked for: those whose length is nearest."""
NO_SESSION = (
    "this protocol version has no sessions, so the server remembers no position for you: keep it yourself, "
    "and name it"
)


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
    """Oldest moves that were dropped to stay within the bounds."""
    _size: int = 0

    def record(self, move: Move) -> None:
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


class Guide:
    """Answers for one machine.

    :param quote: whether a wrong name is repeated in the answer; not where names are secret.
    :param guarded: a move is refused from where the session's walk does not stand; else the move is answered
        for the state that it names, and the walk follows it.
    """

    def __init__(self, workflow: Workflow, sessions: Sessions, *, quote: bool, guarded: bool = False) -> None:
        self._workflow = workflow
        self._sessions = sessions
        self._quote = quote
        self._guarded = guarded

    def move(self, context: Context[Any, Any], current: str, target: str, notes: dict[str, str]) -> Answer:
        """Make a move for the session, or say what is valid instead; an error changes nothing."""
        walk = self._walk(context)
        if not self._workflow.is_valid_state(current):
            return self._error(walk, "", self._unknown(current))
        if self._guarded and walk is not None and not self._may_move_from(walk, current):
            return self._stale(walk, current)
        if not self._workflow.is_valid_state(target):
            return self._error(walk, current, self._unknown(target))
        result = self._workflow.transition(current, target)
        if isinstance(result, Failure):
            return self._error(walk, current, result.message)
        if walk is not None:
            walk.record(Move(current, target, notes))
        return Answer(
            status="success",
            current_state=result.next_state,
            valid_transitions=shapes(result.valid_actions),
            guidance=result.guidance,
            ended=result.ended,
            position_remembered=walk is not None,
        )

    def describe_state(self, context: Context[Any, Any], state: str) -> Answer:
        """Tell about a state, by default the one where the session stands."""
        walk = self._walk(context)
        if not state and walk is None:
            return self._error(walk, "", f"{NO_SESSION} as `state`")
        here = state or (walk.position if walk else None) or BOUNDARY
        if not self._workflow.is_valid_state(here):
            return self._error(walk, "", self._unknown(here))
        ended = not state and walk is not None and walk.position == BOUNDARY
        return Answer(
            status="success",
            current_state=here,
            valid_transitions=shapes(self._workflow.valid_actions(here)),
            guidance=_boundary_guidance(ended=ended) if here == BOUNDARY else self._workflow.guidance(here),
            ended=ended,
            position_remembered=walk is not None,
        )

    def states(self, offset: int) -> StatesShape:
        """Return a page of the states from that one on."""
        definition = self._workflow.definition
        names = list(definition.states)
        page = names[offset : offset + PAGE]
        return StatesShape(
            workflow=self._workflow.name,
            entry=self._next(BOUNDARY),
            states=[StateShape(name=name, next=self._next(name)) for name in page],
            total=len(names),
            next_offset=offset + PAGE if offset + PAGE < len(names) else None,
        )

    def path(self, context: Context[Any, Any]) -> PathShape:
        """Return the session's moves.

        :raises ToolError: there is no session to remember them.
        """
        walk = self._walk(context)
        if walk is None:
            raise ToolError(f"{NO_SESSION} in every call of `transition`")
        return PathShape(
            position=walk.position or BOUNDARY,
            moves=[MoveShape(source=m.source, target=m.target, notes=m.notes) for m in walk.moves],
            forgotten=walk.forgotten,
            shared=self._sessions.shared is not None,
        )

    def _walk(self, context: Context[Any, Any]) -> Walk | None:
        return self._sessions.walk(context.request_context.session)

    def _next(self, state: str) -> list[str]:
        return [action.action for action in self._workflow.valid_actions(state)]

    def _may_move_from(self, walk: Walk, current: str) -> bool:
        """A session may begin its own walk anew; nobody may take the shared one away from the others."""
        anew = current == BOUNDARY and self._sessions.shared is None
        return anew or walk.position in (None, current)

    def _stale(self, walk: Walk, current: str) -> Answer:
        here = walk.position or BOUNDARY
        where = f"the walk stands at {here}, not at {current}: choose among the valid transitions from {here}"
        if self._sessions.shared is not None:
            return self._error(walk, here, f"all clients of this server walk together, and {where}")
        return self._error(walk, here, where if here == BOUNDARY else f"{where}, or begin anew from *")

    def _error(self, walk: Walk | None, state: str, message: str) -> Answer:
        return Answer(
            status="error",
            current_state=state,
            valid_transitions=shapes(self._workflow.valid_actions(state)) if state else [],
            guidance=message,
            position_remembered=walk is not None,
        )

    def _unknown(self, name: str) -> str:
        names = list(self._workflow.definition.states)
        nearby = sorted(names, key=lambda known: abs(len(known) - len(name)))[:SEARCHED]
        shown = f" {short_repr(name)}" if self._quote else ""
        more = f" and {len(names) - LISTED} more (see `list_states`)" if len(names) > LISTED else ""
        return (
            f"unknown state{shown}{did_you_mean(name[:200], nearby)} "
            f"(known: {', '.join(names[:LISTED])}{more}; * is the beginning and the end)"
        )


def _boundary_guidance(*, ended: bool) -> str:
    if ended:
        return "The walk has ended. A new one begins with `transition` from `*`."
    return "The walk has not begun. Begin it with `transition` from `*` to one of the valid transitions."
