"""Validate transitions of one workflow machine and remember each session's position.

The SDK gives a connection of the handshake protocols one `client_params` object for its lifetime, over stdio
and
HTTP. This object identifies the session here, and the session's memory ends with it. The protocol of
2026-07-28
has no sessions, so nothing is remembered for it.
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

MAX_MOVES = 500
"""Latest moves that a session remembers."""

MAX_PATH_CHARACTERS = 65_536
"""Characters of all remembered moves; the oldest are dropped first."""
PAGE = 200
LISTED = 40
"""State names in an error message."""
SEARCHED = 2_000
"""State names compared for the nearest one: those of the most similar length."""
NO_SESSION = (
    "this protocol version has no sessions, so the server remembers no position for you: keep it yourself, "
    "and name it"
)


@dataclass(slots=True)
class Walk:
    """Position and history of one session."""

    position: str | None = None
    """The current state; `*` after the end, None before the first move."""
    moves: deque[MoveShape] = field(default_factory=deque)
    forgotten: int = 0
    """Old moves that were dropped to stay within the limits."""
    _size: int = 0

    def record(self, move: MoveShape) -> None:
        """Record a move; one from another state than the position starts a new history."""
        if self.position not in (None, move.source):
            self.moves.clear()
            self.forgotten = self._size = 0
        self.position = move.target
        self.moves.append(move)
        self._size += move.characters
        while len(self.moves) > MAX_MOVES or self._size > MAX_PATH_CHARACTERS:
            self._size -= self.moves.popleft().characters
            self.forgotten += 1


class Sessions:
    """Walks of all open sessions, or the single shared walk."""

    def __init__(self, *, shared: bool) -> None:
        self.shared = Walk() if shared else None
        self._walks: dict[int, Walk] = {}

    def __len__(self) -> int:
        return len(self._walks)

    def walk(self, session: ServerSession) -> Walk | None:
        """Return the walk of a request's session, or None without a session."""
        if self.shared is not None:
            return self.shared
        identity = session.client_params
        if identity is None or session.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return None
        key = id(identity)
        if key not in self._walks:
            self._walks[key] = Walk()
            # an id is reused only after its object is gone, and the walk is removed first
            weakref.finalize(identity, self._walks.pop, key, None).atexit = False
        return self._walks[key]


class Guide:
    """Answers of the transitions tools for one machine.

    :param quote: repeat an unknown name in the answer; False if names are secret.
    :param guarded: reject a move from a state other than the session's position; otherwise answer for the
        given state and follow the move.
    """

    def __init__(self, workflow: Workflow, sessions: Sessions, *, quote: bool, guarded: bool = False) -> None:
        self._workflow = workflow
        self._sessions = sessions
        self._quote = quote
        self._guarded = guarded

    def move(self, context: Context[Any, Any], current: str, target: str, notes: dict[str, str]) -> Answer:
        """Make a transition for the session, or return the valid ones; an error changes nothing."""
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
            walk.record(MoveShape(source=current, target=target, notes=notes))
        return Answer(
            status="success",
            current_state=result.next_state,
            valid_transitions=shapes(result.valid_actions),
            guidance=result.guidance,
            ended=result.ended,
            position_remembered=walk is not None,
        )

    def describe_state(self, context: Context[Any, Any], state: str) -> Answer:
        """Describe a state, by default the session's position."""
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
        """Return a page of the machine's states."""
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
            moves=list(walk.moves),
            forgotten=walk.forgotten,
            shared=self._sessions.shared is not None,
        )

    def _walk(self, context: Context[Any, Any]) -> Walk | None:
        return self._sessions.walk(context.request_context.session)

    def _next(self, state: str) -> list[str]:
        return [action.action for action in self._workflow.valid_actions(state)]

    def _may_move_from(self, walk: Walk, current: str) -> bool:
        """Tell whether a move may start here; a session may restart its own walk, but not the shared one."""
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
