"""Types of the work loop's conversations: message, model turn, tool call; interface `TurnAdapter`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from tideate_core.adapters.base import Origin, Turn, Usage
from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.adapters.base import OfferedTool, OnText


@dataclass(frozen=True, slots=True)
class RequestedCall:
    """A tool call requested by a model."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    """None if the model's arguments are no JSON object."""


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One answer of a model: text, tool calls or both."""

    text: str
    calls: tuple[RequestedCall, ...]
    model: str
    reasoning: str = ""
    """The provider's account of the reasoning; never part of the answer."""
    usage: Usage = field(default_factory=Usage)
    truncated: bool = False
    """The model stopped at its length limit."""
    raw: str = ""
    """The turn in the model library's format, returned only to the model that made it."""
    made_by: str = ""
    """Provider, model and address of `raw`."""
    notice: str = ""
    """Remark for the user, shown once in a run."""

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "calls": [asdict(call) for call in self.calls]}

    @classmethod
    def of_json(cls, shape: Mapping[str, Any]) -> ModelTurn:
        """Restore the value that `as_json` returned."""
        calls = tuple(RequestedCall(**call) for call in shape["calls"])
        return cls(**{**shape, "calls": calls, "usage": Usage(**shape["usage"])})


@dataclass(frozen=True, slots=True)
class UserMessage:
    """Message to the model: the task, or a user's remark during the work."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Result of a tool call, for the model."""

    call: RequestedCall
    text: str


Message: TypeAlias = UserMessage | ModelTurn | ToolResult


@dataclass(frozen=True, slots=True)
class Conversation:
    """Input of a model's next turn."""

    system: str
    messages: Sequence[Message] = ()
    origin: Origin = field(default=Origin(), compare=False)

    def as_json(self) -> dict[str, Any]:
        return {"system": self.system, "messages": [_shape(message) for message in self.messages]}

    @classmethod
    def of_json(cls, shape: Mapping[str, Any]) -> Conversation:
        """Restore the value that `as_json` returned."""
        return cls(shape["system"], tuple(_message(one) for one in shape["messages"]))

    @property
    def turns(self) -> int:
        """Number of model turns."""
        return sum(isinstance(message, ModelTurn) for message in self.messages)

    def after(self, turn: int) -> Conversation:
        """Return the conversation after a turn, before that turn's calls.

        :param turn: turn number, from 1.
        :raises InvalidInput: there is no such turn.
        """
        places = [index for index, one in enumerate(self.messages) if isinstance(one, ModelTurn)]
        if not 1 <= turn <= len(places):
            count = f"{len(places)} turn{'' if len(places) == 1 else 's'}"
            raise InvalidInput(f"there is no turn {turn}: the conversation has {count}")
        kept = self.messages[: places[turn - 1] + 1]
        return Conversation(self.system, kept).answered()

    def answered(self) -> Conversation:
        """Return the conversation without trailing calls that have no result, which providers reject."""
        messages = list(self.messages)
        end = next((i for i in reversed(range(len(messages))) if isinstance(messages[i], ModelTurn)), None)
        if end is None:
            return self
        last = messages[end]
        results = [one.call.id for one in messages[end + 1 :] if isinstance(one, ToolResult)]
        assert isinstance(last, ModelTurn)  # noqa: S101 it was looked for
        if all(call.id in results for call in last.calls):
            return self
        said = [replace(last, calls=(), raw="")] if last.text.strip() else []
        return Conversation(self.system, (*messages[:end], *said))

    def reopened(self, name: str, text: str) -> tuple[Conversation, tuple[RequestedCall, ...]]:
        """Split the last turn at a result: return the conversation before it, and the calls from there on.

        :param name: the tool's name.
        :param text: the result. If the turn does not have it, return the whole conversation and no calls.
        """
        for at in range(len(self.messages) - 1, -1, -1):
            match self.messages[at]:
                case ToolResult(call, told) if (call.name, told) == (name, text):
                    end = max(i for i in range(at) if isinstance(self.messages[i], ModelTurn))
                    turn = self.messages[end]
                    assert isinstance(turn, ModelTurn)  # noqa: S101 it was looked for
                    kept = replace(self, messages=self.messages[:at])
                    return kept, turn.calls[at - end - 1 :]
                case ToolResult():
                    continue
                case _:
                    break
        return self, ()

    def exchanges(self) -> tuple[Turn, ...]:
        """Return the texts for a model without tools; calls and their results are dropped."""
        said: list[Turn] = []
        asked: list[str] = []
        for message in self.messages:
            match message:
                case UserMessage(text):
                    asked.append(text)
                case ModelTurn(text=text) if text.strip() and asked:
                    said.append(Turn("\n\n".join(asked), text))
                    asked = []
                case ModelTurn(text=text) if text.strip() and said:
                    said[-1] = Turn(said[-1].user, f"{said[-1].assistant}\n\n{text}")
        return tuple(said)


def _shape(message: Message) -> dict[str, Any]:
    match message:
        case UserMessage(text):
            return {"user": text}
        case ToolResult(call, text):
            return {"call": asdict(call), "result": text}
        case ModelTurn():
            return {"turn": message.as_json()}


def _message(shape: Mapping[str, Any]) -> Message:
    if "user" in shape:
        return UserMessage(shape["user"])
    if "turn" in shape:
        return ModelTurn.of_json(shape["turn"])
    return ToolResult(RequestedCall(**shape["call"]), shape["result"])


@runtime_checkable
class TurnAdapter(Protocol):
    """Adapter of a model that takes turns and may request tool calls."""

    tools: bool
    """False if the model cannot call tools."""

    async def take_turn(
        self,
        conversation: Conversation,
        tools: Sequence[OfferedTool],
        *,
        on_token: OnText = None,
        on_reasoning: OnText = None,
    ) -> ModelTurn:
        """Return the model's next turn without calling tools; see `Adapter.ask`.

        :param on_reasoning: called with each piece of the provider's account of the reasoning.
        """
        ...
