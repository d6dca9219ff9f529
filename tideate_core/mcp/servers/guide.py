"""What the transitions server answers: moves, guidance, states and the path, for one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.errors import did_you_mean
from tideate_core.machines.language import BOUNDARY, Failure
from tideate_core.mcp.careful import short
from tideate_core.mcp.servers.answers import Answer, MoveShape, PathShape, StateShape, StatesShape, shapes
from tideate_core.mcp.sessions import Move

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

    from tideate_core.machines.language import Workflow
    from tideate_core.mcp.sessions import Sessions, Walk

__all__ = ["Guide"]

PAGE = 200
LISTED = 40
"""How many names an error message lists."""
SEARCHED = 2_000
"""Among how many names the nearest is looked for: those whose length is nearest."""

NO_SESSION = (
    "this protocol version has no sessions, so the server remembers no position for you: keep it yourself, "
    "and name it"
)


class Guide:
    """Answers for one machine.

    :param quote: whether a wrong name is repeated in the answer; not where names are secret.
    """

    def __init__(self, workflow: Workflow, sessions: Sessions, *, quote: bool) -> None:
        self._workflow = workflow
        self._sessions = sessions
        self._quote = quote

    def move(self, context: Context[Any, Any], current: str, target: str, notes: dict[str, str]) -> Answer:
        """Make a move for the session, or say what is valid instead; an error changes nothing."""
        walk = self._walk(context)
        if not self._workflow.is_valid_state(current):
            return self._error(walk, "", self._unknown(current))
        if walk is not None and not self._may_move_from(walk, current):
            return self._stale(walk, current)
        if not self._workflow.is_valid_state(target):
            return self._error(walk, current, self._unknown(target))
        result = self._workflow.transition(current, target)
        if isinstance(result, Failure):
            return self._error(walk, current, result.message)
        if walk is not None:
            walk.add(Move(current, target, notes))
        return Answer(
            status="success",
            current_state=result.next_state,
            valid_transitions=shapes(result.valid_actions),
            guidance=result.guidance,
            ended=result.ended,
            position_remembered=walk is not None,
        )

    def look(self, context: Context[Any, Any], state: str) -> Answer:
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
        shown = f" {short(name)}" if self._quote else ""
        more = f" and {len(names) - LISTED} more (see `list_states`)" if len(names) > LISTED else ""
        return (
            f"unknown state{shown}{did_you_mean(name[:200], nearby)} "
            f"(known: {', '.join(names[:LISTED])}{more}; * is the beginning and the end)"
        )


def _boundary_guidance(*, ended: bool) -> str:
    if ended:
        return "The walk has ended. A new one begins with `transition` from `*`."
    return "The walk has not begun. Begin it with `transition` from `*` to one of the valid transitions."
