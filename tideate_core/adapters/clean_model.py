"""Model wrapper that cleans answers: separates thoughts, joins split characters, makes call ids unique.

It imports the model library, so import this module only where a model is opened.
"""

from __future__ import annotations

import json
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from pydantic_ai.messages import (
    ModelResponse,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models import StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel

from tideate_core.adapters.thoughts import Kind, ThoughtSplitter
from tideate_core.util.half_characters import SurrogateJoiner, mended, mended_json

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Iterator, Sequence
    from datetime import datetime

    from pydantic_ai.messages import (
        ModelMessage,
        ModelResponsePart,
        ModelResponsePartDelta,
        ModelResponseStreamEvent,
    )
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

_OPEN, _CLOSE = "<think>", "</think>"
_TAGGED: Final = "content"
"""The library's id for thoughts that it cut out of the text."""
_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


class CleanModel(WrapperModel):
    """Wrapper of a model that cleans its answers."""

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        response = await super().request(messages, model_settings, model_request_parameters)
        return _clean(response, (), _ids(messages))

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: Any = None,
    ) -> AsyncGenerator[StreamedResponse]:
        async with super().request_stream(
            messages, model_settings, model_request_parameters, run_context
        ) as response:
            yield _CleanStream(response.model_request_parameters, response, _ids(messages))


@dataclass
class _CleanStream(StreamedResponse):
    """Response stream with its text split into thoughts and answer."""

    inner: StreamedResponse
    ids: frozenset[str]
    """Ids of earlier calls."""
    _events: AsyncIterator[ModelResponseStreamEvent] | None = field(default=None, init=False)
    _places: dict[object, int] = field(default_factory=dict, init=False)
    """Index of each part in this stream."""
    _next_place: int = field(default=0, init=False)
    _tagged: set[int] = field(default_factory=set, init=False)
    """Indexes of thoughts that the library cut out of the text; it misses split tags."""
    _text: _Text = field(default_factory=lambda: _Text(), init=False)
    _joiners: dict[int, SurrogateJoiner] = field(default_factory=dict, init=False)

    def __aiter__(self) -> AsyncIterator[ModelResponseStreamEvent]:
        if self._events is None:
            self._events = self._get_event_iterator()
        return self._events

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        async for event in self.inner:
            for one in self._sorted(event):
                yield one
        for one in self._end_text():
            yield one

    def _sorted(self, event: ModelResponseStreamEvent) -> Iterator[ModelResponseStreamEvent]:
        if (text := self._text_of(event)) is not None:
            yield from self._show(self._text.feed(*text, tagged=text[1] in self._tagged))
            return
        match event:
            case PartEndEvent():
                pass  # a part is repeated at its end
            case PartStartEvent(index=index, part=part):
                if not isinstance(part, ThinkingPart):
                    yield from self._end_text(before_call=True)
                yield replace(event, index=self._place(index), part=self._started(index, part))
            case PartDeltaEvent(index=index, delta=delta):
                yield replace(event, index=self._place(index), delta=self._continued(index, delta))
            case _:
                yield event

    def _text_of(self, event: ModelResponseStreamEvent) -> tuple[str, int] | None:
        """Return an event's text, including tags, and the index of its part; None for other events."""
        match event:
            case PartStartEvent(index=index, part=TextPart(content=text)):
                return text, index
            case PartStartEvent(index=index, part=ThinkingPart(content=text) as part) if _is_tagged(part):
                self._tagged.add(index)
                return text, index
            case PartDeltaEvent(index=index, delta=TextPartDelta(content_delta=text)):
                return text, index
            case PartDeltaEvent(index=index, delta=ThinkingPartDelta(content_delta=thought)):
                return (thought or "", index) if index in self._tagged else None
            case _:
                return None

    def _continued(self, index: int, delta: ModelResponsePartDelta) -> ModelResponsePartDelta:
        match delta:
            case ThinkingPartDelta(content_delta=str(text)):
                return replace(delta, content_delta=self._joiner(index).feed(text))
            case ToolCallPartDelta(args_delta=str(text)):
                return replace(delta, args_delta=self._joiner(index).feed(text))
            case _:
                return delta

    def _started(self, index: int, part: ModelResponsePart) -> ModelResponsePart:
        match part:
            case ThinkingPart(content=text):
                return replace(part, content=self._joiner(index).feed(text))
            case ToolCallPart(args=str(text)):
                return replace(part, args=self._joiner(index).feed(text))
            case _:
                return part

    def _show(self, pieces: Iterable[tuple[Kind, str]]) -> Iterator[ModelResponseStreamEvent]:
        for kind, text in pieces:
            if kind is Kind.RETRACTION:
                self._places.pop(Kind.ANSWER, None)
            shown = Kind.ANSWER if kind in (Kind.ANSWER, Kind.RESTORATION) else Kind.THOUGHT
            if shown is Kind.ANSWER:
                self._places.pop(Kind.THOUGHT, None)
            begins = shown not in self._places
            place = self._place(shown)
            if shown is Kind.ANSWER and begins:
                yield PartStartEvent(index=place, part=TextPart(text))
            elif shown is Kind.ANSWER:
                yield PartDeltaEvent(index=place, delta=TextPartDelta(text))
            elif begins:
                yield PartStartEvent(index=place, part=ThinkingPart(text))
            else:
                yield PartDeltaEvent(index=place, delta=ThinkingPartDelta(content_delta=text))

    def _end_text(self, *, before_call: bool = False) -> Iterator[ModelResponseStreamEvent]:
        text, self._text = self._text, _Text()
        yield from self._show(text.finish(before_call=before_call))
        self._places.pop(Kind.ANSWER, None)
        self._places.pop(Kind.THOUGHT, None)

    def _place(self, part: object) -> int:
        if part not in self._places:
            self._places[part] = self._next_place
            self._next_place += 1
        return self._places[part]

    def _joiner(self, index: int) -> SurrogateJoiner:
        return self._joiners.setdefault(index, SurrogateJoiner())

    def get(self) -> ModelResponse:
        return _clean(self.inner.get(), self._tagged, self.ids)

    async def close_stream(self) -> None:
        await self.inner.cancel()

    @property
    def usage(self) -> Any:
        return self.inner.usage

    @property
    def model_name(self) -> str:
        return self.inner.model_name

    @property
    def provider_name(self) -> str | None:
        return self.inner.provider_name

    @property
    def provider_url(self) -> str | None:
        return self.inner.provider_url

    @property
    def timestamp(self) -> datetime:
        return self.inner.timestamp


class _Text:
    """Text of a response up to its next call, with the tags restored that the library cut out."""

    def __init__(self) -> None:
        self._splitter = ThoughtSplitter()
        self._joiner = SurrogateJoiner()
        self._last: tuple[int, bool] | None = None

    def feed(self, text: str, index: int, *, tagged: bool) -> list[tuple[Kind, str]]:
        """Process a piece of a part.

        :param tagged: the library cut the piece out as a thought.
        """
        if self._last != (index, tagged):
            closed = _CLOSE if self._last is not None and self._last[1] else ""
            text = f"{closed}{_OPEN if tagged else ''}{text}"
            self._last = (index, tagged)
        return self._splitter.feed(self._joiner.feed(text))

    def finish(self, *, before_call: bool) -> list[tuple[Kind, str]]:
        return [*self._splitter.feed(self._joiner.end()), *self._splitter.finish(before_call=before_call)]


def _is_tagged(part: ThinkingPart) -> bool:
    """Tell whether a new thought was marked by a tag in the text."""
    plain = not part.content and part.signature is None and part.provider_details is None
    return part.id == _TAGGED or (part.id is None and plain)


def _clean(response: ModelResponse, tagged: Collection[int], ids: frozenset[str]) -> ModelResponse:
    parts: list[ModelResponsePart] = []
    texts: dict[int, TextPart | ThinkingPart] = {}
    """Parts of the current text, by index."""
    taken = set(ids)
    for index, part in enumerate(response.parts):
        match part:
            case TextPart():
                texts[index] = part
            case ThinkingPart() if index in tagged:
                texts[index] = part
            case ThinkingPart():
                parts.append(replace(part, content=mended(part.content)))
            case _:
                parts += _split(texts, tagged, response.provider_name, before_call=True)
                texts = {}
                parts.append(_call(part, taken) if isinstance(part, ToolCallPart) else part)
    return replace(response, parts=[*parts, *_split(texts, tagged, response.provider_name)])


def _split(
    texts: dict[int, TextPart | ThinkingPart],
    tagged: Collection[int],
    provider: str | None,
    *,
    before_call: bool = False,
) -> Sequence[ModelResponsePart]:
    """Return the parts of a text, thoughts first."""
    whole = _Text()
    pieces = [
        piece
        for index, part in texts.items()
        for piece in whole.feed(part.content, index, tagged=index in tagged)
    ]
    thoughts, answer = _sorted(pieces + whole.finish(before_call=before_call))
    written = list(texts.values())
    if not thoughts and answer == "".join(part.content for part in written):
        return written  # keeps the provider's own data
    thought = [ThinkingPart(thoughts, id=_TAGGED, provider_name=provider)] if thoughts.strip() else []
    return [*thought, *([TextPart(answer)] if answer else [])]


def _sorted(pieces: Iterable[tuple[Kind, str]]) -> tuple[str, str]:
    """Return the final thoughts and answer of a sequence of pieces."""
    thoughts: list[str] = []
    answer: list[str] = []
    for kind, text in pieces:
        if kind is Kind.RETRACTION:
            left = len(text)
            while left > 0:
                left -= len(answer.pop())
        if kind is Kind.RESTORATION:
            del thoughts[-1 - thoughts[::-1].index(text)]
        (answer if kind in (Kind.ANSWER, Kind.RESTORATION) else thoughts).append(text)
    return "".join(thoughts), "".join(answer)


def _ids(messages: Iterable[ModelMessage]) -> frozenset[str]:
    return frozenset(
        part.tool_call_id
        for message in messages
        if isinstance(message, ModelResponse)
        for part in message.parts
        if isinstance(part, ToolCallPart)
    )


def _call(part: ToolCallPart, taken: set[str]) -> ToolCallPart:
    """Return a call with a unique id within its conversation."""
    name = wanted = mended(part.tool_call_id).strip() or "call"
    number = 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name)
    return replace(part, tool_call_id=name, tool_name=mended(part.tool_name), args=_arguments(part.args))


def _arguments(args: Any) -> Any:
    if not isinstance(args, str) or not _HALF.search(args):
        return mended_json(args)
    try:
        return json.dumps(mended_json(json.loads(args)), ensure_ascii=False)
    except (ValueError, RecursionError):
        return mended(args)
