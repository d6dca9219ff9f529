"""Compaction of a work loop's conversation: old tool results become references when the window fills up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters import ModelTurn, OfferedTool, ToolResult
from tideate_core.util.tokens import FEWEST_CHARACTERS_PER_TOKEN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.adapters import Message

READ_RESULT: Final = "read_result"
FULL: Final = 0.75
"""Share of the window at which old results are replaced."""
FREED: Final = 0.4
"""Share of the window in use after that; low, so that the provider's cache is seldom invalidated."""
CACHED: Final = 300.0
"""Seconds for which providers keep a conversation in their cache."""
_ABOUT: Final = {"read_file": "path", "run_check": "check"}
"""Arguments that name what a call is about; the others select a part of it."""
SHORT: Final = 600
"""Characters of a result that is always kept: its reference would be nearly as long."""
SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "call": {"type": "integer", "minimum": 1, "description": "The number of the call."},
        "first": {"type": "integer", "minimum": 1, "description": "First line, from 1."},
        "last": {"type": "integer", "minimum": 1, "description": "Last line."},
    },
    "required": ["call"],
    "additionalProperties": False,
}


class Compaction:
    """Replaces old results by references in the messages sent, and restores one on request.

    :param window: tokens shared by the conversation and the next turn; None: unknown.
    """

    def __init__(self, window: int | None) -> None:
        self._window = window
        self._results: list[str] = []
        self._left_out: set[int] = set()
        """Positions of the replaced results; the conversation itself keeps all of them."""

    def tool(self) -> OfferedTool:
        """Return the tool that shows a replaced result again."""

        async def call(arguments: dict[str, Any], _key: str) -> str:
            return self._read(arguments)

        return OfferedTool(
            READ_RESULT,
            "Show the result of an earlier tool call again that was left out to save room.",
            SCHEMA,
            call,
        )

    def sent(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages to send, some results replaced by references."""
        sent: list[Message] = []
        self._results = []
        for place, message in enumerate(messages):
            if isinstance(message, ToolResult):
                self._results.append(message.text)
                if place in self._left_out:
                    message = _reference(message, len(self._results))
            sent.append(message)
        return sent

    def make_room(self, messages: Sequence[Message], *, refused: bool = False) -> int:
        """Replace the oldest results if the window is nearly full; return how many.

        :param refused: the provider refused the conversation as too long.
        """
        size = sum(len(_text(message)) for message in self.sent(messages))
        if refused:  # the window is now known to be smaller than this
            refused_tokens = size // FEWEST_CHARACTERS_PER_TOKEN
            self._window = min(self._window or refused_tokens, refused_tokens)
        if self._window is None:
            return 0
        limit = self._window * FEWEST_CHARACTERS_PER_TOKEN
        if size <= limit * FULL and not refused:
            return 0
        wanted = min(size, limit) * FREED
        newly = 0
        end, replaced = len(messages) if refused else _last_turn(messages), _replaced(messages)
        for place in sorted(range(end), key=lambda place: (place not in replaced, place)):
            if size <= wanted:
                break
            size -= (freed := self._leave_out(messages, place))
            newly += freed > 0
        return newly

    def drop_replaced(self, messages: Sequence[Message]) -> int:
        """Replace results superseded by later ones; return their number.

        Only for a conversation that has left the provider's cache: a replacement would invalidate the cache.
        """
        return sum(self._leave_out(messages, place) > 0 for place in sorted(_replaced(messages)))

    def _leave_out(self, messages: Sequence[Message], place: int) -> int:
        """Replace a long result and return its size; 0 for any other message."""
        message = messages[place]
        if place in self._left_out or not isinstance(message, ToolResult) or len(message.text) <= SHORT:
            return 0
        self._left_out.add(place)
        return len(message.text)

    def _read(self, arguments: Mapping[str, Any]) -> str:
        number, first = arguments.get("call"), arguments.get("first") or 1
        if not isinstance(number, int) or not 1 <= number <= len(self._results):
            return f"error: there is no call {number}; calls have the numbers 1 to {len(self._results)}"
        lines = self._results[number - 1].split("\n")
        return "\n".join(lines[first - 1 : arguments.get("last")])


def _replaced(messages: Sequence[Message]) -> set[int]:
    """Return the positions of results that a later one replaces.

    The later result is of the same whole check, the same whole file, or the same call.
    """
    found, later = set[int](), set[str]()
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if not isinstance(message, ToolResult) or message.text.startswith("error:"):
            continue
        name, given = message.call.name, message.call.arguments or {}
        about = _ABOUT.get(name)
        keys = [f"{name} {given}", *([f"{name} {given.get(about)}"] if about else [])]
        if not later.isdisjoint(keys):
            found.add(place)
        whole = {key for key, value in given.items() if value} <= {about, "numbers"}
        later.update(keys if whole else keys[:1])
    return found


def _last_turn(messages: Sequence[Message]) -> int:
    """Return the position of the last turn; the model has not seen the messages after it."""
    turns = (at for at, message in enumerate(messages) if isinstance(message, ModelTurn))
    return max(turns, default=0)


def _text(message: Message) -> str:
    match message:
        case ModelTurn(text=text, calls=calls):
            return text + "".join(str(call.arguments) for call in calls)
        case _:
            return message.text


def _reference(result: ToolResult, number: int) -> ToolResult:
    words = (
        f"[the result of call {number}, {result.call.name}, was left out to save room: "
        f"{len(result.text)} characters; {READ_RESULT} shows it again]"
    )
    return replace(result, text=words)
