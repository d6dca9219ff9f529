"""Request of a work-loop turn: converts messages to and from the model library, streams the answer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters.base import NewPart, Usage
from tideate_core.adapters.conversation import ModelTurn, RequestedCall, ToolResult, UserMessage
from tideate_core.adapters.retry import report_retry
from tideate_core.errors import InvalidReply
from tideate_core.util.half_characters import mended_json
from tideate_core.util.uncancelled import run_cancelled_once

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

    from tideate_core.adapters.base import OfferedTool, OnText
    from tideate_core.adapters.conversation import Conversation
    from tideate_core.adapters.translate import Origin

LONGEST: Final = 4 << 20
"""Most characters of an answer with its thoughts and calls."""


class AnswerStream:
    """Forwards and counts the streamed text of an answer; a typed one is validated only when it is complete.

    :param answers: names of the tools whose arguments are the answer and stream, too; None: all tools.
    :param longest: most characters, with thoughts and calls; a longer answer never ends.
    :param attempts: most attempts at a typed answer.
    """

    def __init__(
        self,
        on_token: OnText = None,
        on_reasoning: OnText = None,
        *,
        answers: Collection[str] | None = (),
        longest: int = LONGEST,
        attempts: int = 1,
    ) -> None:
        self.characters = 0
        """Characters of the current answer."""
        self.shown = False
        """Text of any answer was forwarded."""
        self._on_token = on_token
        self._on_reasoning = on_reasoning
        self._answers = answers
        self._longest = longest
        self._attempts = attempts
        self._begun = 0
        """Answers begun in one conversation; each but the first corrects the previous one."""
        self._streamed: set[int] = set()
        """Indexes of calls whose arguments stream."""
        self._last: object = None
        """The last forwarded part."""

    def restart(self) -> None:
        """Forget the answers of an earlier request."""
        self._begun = 0

    def take(self, event: object) -> None:
        """Process one event of the library's stream.

        :raises InvalidReply: the answer is too long.
        """
        from pydantic_ai.messages import (
            PartDeltaEvent,
            PartStartEvent,
            TextPart,
            TextPartDelta,
            ThinkingPart,
            ThinkingPartDelta,
        )

        part: object
        match event:
            case PartStartEvent(index=index, part=part):
                self._begin(index, getattr(part, "tool_name", None))
            case PartDeltaEvent(index=index, delta=part):
                pass
            case _:
                return  # a part is repeated at its end
        text = getattr(part, "content", None) or getattr(part, "content_delta", None) or ""
        arguments = arguments_of(part)
        self.characters += len(text) + len(arguments)
        if self.characters > self._longest:
            raise InvalidReply(
                f"the model's answer has more than {self._longest} characters",
                limit=f"characters of one answer ({self._longest})",
            )
        if isinstance(part, TextPart | TextPartDelta):
            self._say(text, (self._begun, "text", index))
        elif index in self._streamed:
            self._say(arguments, (self._begun, "call", index))
        elif isinstance(part, ThinkingPart | ThinkingPartDelta) and text and self._on_reasoning:
            self._on_reasoning(text)

    def _begin(self, index: int, tool: str | None) -> None:
        self._streamed.discard(index)
        if tool is not None and (self._answers is None or tool in self._answers):
            self._streamed.add(index)
        if index == 0:
            self._begun += 1
            self.characters = 0
            if 1 < self._begun <= self._attempts:
                report_retry(f"answer refused, asking again ({self._begun} of {self._attempts})")

    def _say(self, text: str, part: object) -> None:
        if not text:
            return
        self.shown = True
        if self._on_token:
            self._on_token(text if self._last in (None, part) else NewPart(f"\n\n{text}"))
        self._last = part


def arguments_of(part: object) -> str:
    """Return a stream part's piece of call arguments as text; some providers send an object."""
    arguments = getattr(part, "args", None) or getattr(part, "args_delta", None) or ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


async def request_turn(
    model: Model,
    conversation: Conversation,
    tools: Sequence[OfferedTool],
    settings: ModelSettings,
    stream: AnswerStream,
    origin: Origin,
) -> ModelTurn:
    """Request the next turn and return it complete.

    :raises InvalidReply: the turn has no text, calls or thoughts.
    """
    from pydantic_ai.direct import model_request_stream

    made_by = f"{model.system}:{model.model_name} {origin.address}".strip()

    async def ask() -> ModelResponse:
        parameters = _parameters(tools)
        messages = _messages(conversation, made_by)
        async with model_request_stream(
            model, messages, model_settings=settings, model_request_parameters=parameters
        ) as response:
            async for event in response:
                stream.take(event)
            return response.get()

    # a second cancellation would make the library leave the connection open
    return replace(_turn(await run_cancelled_once(ask()), origin), made_by=made_by)


def _parameters(tools: Sequence[OfferedTool]) -> ModelRequestParameters:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.tools import ToolDefinition

    offered = [
        ToolDefinition(
            name=tool.name,
            parameters_json_schema=dict(tool.schema),
            description=tool.description,
            strict=False,
        )
        for tool in tools
    ]
    return ModelRequestParameters(function_tools=offered)


def _messages(conversation: Conversation, made_by: str) -> list[ModelMessage]:
    from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart

    messages: list[ModelMessage] = []
    parts: list[ModelRequestPart] = []

    def close() -> None:
        if parts:
            instructions = conversation.system or None
            messages.append(ModelRequest(parts=list(parts), instructions=instructions))
            parts.clear()

    for message in conversation.messages:
        match message:
            case UserMessage(text):
                parts.append(UserPromptPart(text))
            case ToolResult(call, text):
                parts.append(ToolReturnPart(call.name, text, call.id))
            case ModelTurn():
                close()
                messages.append(_response(message, made_by))
    close()
    return messages


def _response(turn: ModelTurn, made_by: str) -> ModelMessage:
    """Return a turn in the library's form: unchanged for its own model, otherwise text and calls."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart

    if turn.raw and turn.made_by == made_by:
        (message,) = ModelMessagesTypeAdapter.validate_json(turn.raw)
        return message
    text = [TextPart(turn.text)] if turn.text else []
    calls = [ToolCallPart(call.name, call.arguments or {}, call.id) for call in turn.calls]
    return ModelResponse(parts=[*text, *calls])


def _turn(response: ModelResponse, origin: Origin) -> ModelTurn:
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    text = response.text or ""
    calls = tuple(
        RequestedCall(call.tool_call_id, call.tool_name, _arguments(call.args))
        for call in response.tool_calls
    )
    if not text.strip() and not calls and not (response.thinking or "").strip():
        raise InvalidReply(f"adapter {origin.name!r} ({origin.address}) gave an empty answer")
    return ModelTurn(
        text=text,
        calls=calls,
        model=origin.cut(response.model_name or ""),
        reasoning=response.thinking or "",
        usage=_usage(response),
        truncated=response.finish_reason == "length",
        raw=json.dumps(
            mended_json(ModelMessagesTypeAdapter.dump_python([response], mode="json")), ensure_ascii=False
        ),
    )


def _arguments(args: str | dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a call's arguments, None if they are no JSON object."""
    if args is None or args == "":
        return {}
    if isinstance(args, dict):
        return args
    try:
        read = json.loads(args)
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


def _usage(response: ModelResponse) -> Usage:
    used = response.usage
    try:
        cost = float(response.cost().total_price)
    except (AssertionError, LookupError, ValueError):
        cost = None  # the model's price is unknown
    return Usage(used.input_tokens, used.output_tokens, cost, used.cache_read_tokens)
