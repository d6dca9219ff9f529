"""Conversation of the work loop: messages, a model's turns with the tool calls that it asks for."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from tideate_core.adapters.base import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tideate_core.adapters.base import OfferedTool

__all__ = [
    "Conversation",
    "Message",
    "ModelTurn",
    "RequestedCall",
    "ToolResult",
    "TurnAdapter",
    "UserMessage",
]


@dataclass(frozen=True, slots=True)
class RequestedCall:
    """A tool call that a model asks for."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    """None: what it wrote is no JSON object."""


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One answer of a model: text, or tool calls, or both."""

    text: str
    calls: tuple[RequestedCall, ...]
    model: str
    reasoning: str = ""
    """What the provider tells of its reasoning; never the answer."""
    usage: Usage = field(default_factory=Usage)
    truncated: bool = False
    """The model stopped at its length limit."""
    raw: str = ""
    """The turn as the model's library writes it: given back to the provider as it was."""

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "calls": [asdict(call) for call in self.calls]}

    @classmethod
    def of_json(cls, shape: Mapping[str, Any]) -> ModelTurn:
        """Return what `as_json` gave."""
        calls = tuple(RequestedCall(**call) for call in shape["calls"])
        return cls(**{**shape, "calls": calls, "usage": Usage(**shape["usage"])})


@dataclass(frozen=True, slots=True)
class UserMessage:
    """Words to the model: the task, or what a person says while it works."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one tool call, for the model."""

    call: RequestedCall
    text: str


Message: TypeAlias = UserMessage | ModelTurn | ToolResult


@dataclass(frozen=True, slots=True)
class Conversation:
    """All that a model is told before its next turn."""

    system: str
    messages: Sequence[Message] = ()

    def as_json(self) -> dict[str, Any]:
        return {"system": self.system, "messages": [_shape(message) for message in self.messages]}

    @classmethod
    def of_json(cls, shape: Mapping[str, Any]) -> Conversation:
        """Return what `as_json` gave."""
        return cls(shape["system"], tuple(_message(one) for one in shape["messages"]))


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
    """An adapter whose model takes turns and may ask for tool calls."""

    tools: bool
    """False: its model cannot call tools."""

    async def take_turn(
        self,
        conversation: Conversation,
        tools: Sequence[OfferedTool],
        *,
        on_token: Callable[[str], None] | None = None,
        on_reasoning: Callable[[str], None] | None = None,
    ) -> ModelTurn:
        """Return the model's next turn; no tool is called here. See `Adapter.ask`.

        :param on_reasoning: called with each piece of what the provider tells of its reasoning.
        """
        ...
