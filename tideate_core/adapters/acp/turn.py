"""Record of an agent's turn: texts and calls of limited size, forwarded in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters.acp.updates import CallUpdate, CostUpdate, SaidText, one_line
from tideate_core.adapters.base import Usage
from tideate_core.util.half_characters import SurrogateJoiner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tideate_core.adapters.acp.updates import AgentUpdate

    OnUpdate = Callable[[AgentUpdate], None]

MOST_TEXT: Final = 4 << 20
"""Characters of an answer, and of its thoughts; the rest is dropped."""
MOST_CALLS: Final = 10_000
"""Tool calls of a turn; further ones are not shown."""


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """End of an agent's turn."""

    text: str
    stop_reason: str
    """`end_turn`, `max_tokens`, `max_turn_requests`, `refusal`, `cancelled`, or another word of the agent."""
    usage: Usage
    truncated: bool = False
    """The answer is cut: the agent reached a limit, or the text was too long."""


@dataclass(slots=True)
class _Text:
    """A text joined from pieces, with a limit."""

    parts: list[str] = field(default_factory=list)
    is_cut: bool = False
    _length: int = 0
    _joiner: SurrogateJoiner = field(default_factory=SurrogateJoiner)

    def add(self, piece: str) -> str:
        """Add a piece, and return the part within the limit."""
        text = self._joiner.feed(piece)
        kept = text[: max(0, MOST_TEXT - self._length)]
        self.is_cut |= len(kept) < len(text)
        self._length += len(kept)
        if kept:
            self.parts.append(kept)
        return kept

    def break_before(self, piece: str) -> str:
        """Return the blank line that separates a piece from the text so far, if there is none."""
        needed = self.parts and not self.parts[-1].endswith("\n") and not piece.startswith("\n")
        return "\n\n" if needed else ""


class TurnRecord:
    """Updates of one turn.

    :param on_update: called with each update to show.
    :param cost: US dollars of the session before the turn.
    """

    def __init__(self, on_update: OnUpdate, cost: float = 0.0) -> None:
        self.cost = cost
        """US dollars of the session so far."""
        self._before = cost
        self._on_update = on_update
        self._said, self._thoughts = _Text(), _Text()
        self._calls: set[str] = set()
        self._message = ""
        self._is_new_part = False
        """True if a call followed the last text, or the message ended."""

    def take(self, updates: Sequence[AgentUpdate]) -> None:
        """Record updates, and forward them."""
        for update in updates:
            match update:
                case SaidText():
                    self._say(update)
                    continue
                case CallUpdate(identity):
                    self._is_new_part = True
                    if identity not in self._calls and len(self._calls) >= MOST_CALLS:
                        continue
                    self._calls.add(identity)
                case CostUpdate(amount):
                    if amount < self._before:
                        self._before = 0.0  # the agent's count starts at 0 in a continued session
                    self.cost = amount
                    update = CostUpdate(max(0.0, amount - self._before))
            self._on_update(update)

    def _say(self, update: SaidText) -> None:
        piece, into = update.text, self._thoughts if update.is_thought else self._said
        if not update.is_thought:
            self._is_new_part |= update.message != self._message
            if self._is_new_part:
                # agents send no break between two messages
                piece = self._said.break_before(piece) + piece
            self._message, self._is_new_part = update.message, False
        if shown := into.add(piece):
            self._on_update(SaidText(shown, update.is_thought))

    def end(self, answer: Mapping[str, Any]) -> TurnEnd:
        """Return the end of the turn.

        :param answer: the agent's answer to the prompt, unchecked JSON.
        """
        reason = one_line(answer.get("stopReason"), 50) or "end_turn"
        is_cut = self._said.is_cut or reason in {"max_tokens", "max_turn_requests"}
        used = answer.get("usage")
        usage = _usage(used if isinstance(used, dict) else {}, max(0.0, self.cost - self._before))
        return TurnEnd("".join(self._said.parts), reason, usage, is_cut)


def _usage(usage: Mapping[str, Any], cost: float) -> Usage:
    def count(name: str) -> int:
        value = usage.get(name)
        return value if isinstance(value, int) and 0 <= value < 1 << 53 else 0

    cached = count("cachedReadTokens")
    asked = count("inputTokens") + cached + count("cachedWriteTokens")
    return Usage(asked, count("outputTokens"), cost or None, cached)
