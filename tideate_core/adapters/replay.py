"""Record real exchanges and replay them, so that runs are reproducible without a model."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from tideate_core.adapters.base import Reply, Usage
from tideate_core.adapters.conversation import ModelTurn, ToolResult, TurnAdapter, UserMessage
from tideate_core.adapters.prices import PricedAdapter
from tideate_core.errors import AdapterUnavailable, InvalidReply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tideate_core.adapters.base import Adapter, OfferedTool, Prompt
    from tideate_core.adapters.conversation import Conversation

__all__ = ["Exchange", "RecordingAdapter", "ReplayAdapter"]

HOW_TO_RECORD = "run the workflow once with TIDEATE_RECORD={path} and a real adapter to record it"


class Exchange(BaseModel):
    """One line of a recording."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    """`key_of` the prompt."""
    system: str
    user: str
    answer_schema: str | None
    pieces: list[str]
    """The text as it streamed."""
    text: str
    parsed: dict[str, Any] | None = None
    model: str
    demonstration: bool = False
    context_tokens: int | None = None
    """Both of the adapter that answered: prompts depend on them."""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    truncated: bool = False
    turn: dict[str, Any] | None = None
    """A turn of a work loop; None of an answer."""


def turn_key(conversation: Conversation) -> str:
    """Return what a recorded turn is found by: a hash of the conversation before it.

    Ids of calls, and what only the provider reads, differ in each run and do not count.
    """
    told: list[Any] = [conversation.system]
    for message in conversation.messages:
        match message:
            case UserMessage(text):
                told.append(["user", text])
            case ToolResult(call, text):
                told.append([call.name, text])
            case ModelTurn(text=text, calls=calls):
                told.append(["model", text, [[call.name, call.arguments] for call in calls]])
    return hashlib.sha256(json.dumps(told, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


def key_of(prompt: Prompt, schema: type[BaseModel] | None) -> str:
    """Return what a recorded exchange is found by: a hash of everything the model is told."""
    history = [[turn.user, turn.assistant] for turn in prompt.history]
    told = [prompt.system, prompt.user, history, schema.__name__ if schema else None]
    return hashlib.sha256(json.dumps(told, ensure_ascii=False).encode()).hexdigest()


class RecordingAdapter:
    """Passes prompts on to another adapter and appends every answered one to a file."""

    def __init__(self, inner: Adapter, path: Path) -> None:
        self.name = inner.name
        self.demonstration = inner.demonstration
        self.context_tokens = inner.context_tokens
        self._inner = inner
        self._path = path

    @property
    def max_tokens(self) -> int | None:
        return self._inner.max_tokens if isinstance(self._inner, PricedAdapter) else None

    def price_of(self, input_tokens: int, output_tokens: int) -> float | None:
        inner = self._inner
        return inner.price_of(input_tokens, output_tokens) if isinstance(inner, PricedAdapter) else None

    async def ask(
        self,
        prompt: Prompt,
        *,
        on_token: Callable[[str], None] | None = None,
        schema: type[BaseModel] | None = None,
    ) -> Reply:
        pieces: list[str] = []

        def collect(text: str) -> None:
            pieces.append(text)
            if on_token:
                on_token(text)

        reply = await self._inner.ask(prompt, on_token=collect, schema=schema)
        exchange = Exchange(
            key=key_of(prompt, schema),
            system=prompt.system,
            user=prompt.user,
            answer_schema=schema.__name__ if schema else None,
            pieces=pieces,
            text=reply.text,
            parsed=reply.parsed.model_dump(mode="json") if reply.parsed else None,
            model=reply.model,
            demonstration=self.demonstration,
            context_tokens=self.context_tokens,
            input_tokens=reply.usage.input_tokens,
            output_tokens=reply.usage.output_tokens,
            cached_tokens=reply.usage.cached_tokens,
            cost=reply.usage.cost,
            truncated=reply.truncated,
        )
        await asyncio.to_thread(_append, self._path, exchange.model_dump_json() + "\n")
        return reply

    @property
    def tools(self) -> bool:
        """Its model can call tools."""
        return isinstance(self._inner, TurnAdapter) and self._inner.tools

    async def take_turn(
        self,
        conversation: Conversation,
        tools: Sequence[OfferedTool],
        *,
        on_token: Callable[[str], None] | None = None,
        on_reasoning: Callable[[str], None] | None = None,
    ) -> ModelTurn:
        assert isinstance(self._inner, TurnAdapter)  # noqa: S101 see `tools`
        pieces: list[str] = []

        def collect(text: str) -> None:
            pieces.append(text)
            if on_token:
                on_token(text)

        turn = await self._inner.take_turn(conversation, tools, on_token=collect, on_reasoning=on_reasoning)
        last = conversation.messages[-1] if conversation.messages else None
        exchange = Exchange(
            key=turn_key(conversation),
            system=conversation.system,
            user=last.text if last is not None else "",
            answer_schema=None,
            pieces=pieces,
            text=turn.text,
            model=turn.model,
            demonstration=self.demonstration,
            context_tokens=self.context_tokens,
            turn=turn.as_json(),
        )
        await asyncio.to_thread(_append, self._path, exchange.model_dump_json() + "\n")
        return turn

    async def check(self) -> str:
        return f"{await self._inner.check()}; recording to {self._path}"

    async def aclose(self) -> None:
        await self._inner.aclose()


@dataclass(frozen=True, slots=True)
class _Recording:
    exchanges: dict[str, list[Exchange]] = field(default_factory=dict)
    demonstration: bool = False
    """Some of its answers are a demonstration model's."""
    context_tokens: int | None = None
    """The smallest limit of the models that answered."""
    tools: bool = False
    """Some of its exchanges are turns with tools."""


class ReplayAdapter:
    """Answers with a recording, and has the limits of the model that was recorded.

    A prompt that was recorded several times gets its answers in order, then the last one again.
    """

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self._path = path
        self._loaded: _Recording | None = None

    @property
    def demonstration(self) -> bool:
        return self._limits().demonstration

    @property
    def context_tokens(self) -> int | None:
        return self._limits().context_tokens

    async def ask(
        self,
        prompt: Prompt,
        *,
        on_token: Callable[[str], None] | None = None,
        schema: type[BaseModel] | None = None,
    ) -> Reply:
        found = (await self._recording()).exchanges.get(key_of(prompt, schema))
        exchange = self._next(found, prompt.user)
        for piece in exchange.pieces:
            if on_token:
                on_token(piece)
            await asyncio.sleep(0)  # between tokens a real answer can be cancelled, so this one can
        return Reply(
            text=exchange.text,
            model=exchange.model,
            parsed=self._parse(exchange, schema),
            usage=Usage(exchange.input_tokens, exchange.output_tokens, exchange.cost, exchange.cached_tokens),
            truncated=exchange.truncated,
        )

    @property
    def tools(self) -> bool:
        """Turns with tools were recorded."""
        return self._limits().tools

    async def take_turn(
        self,
        conversation: Conversation,
        tools: Sequence[OfferedTool],
        *,
        on_token: Callable[[str], None] | None = None,
        on_reasoning: Callable[[str], None] | None = None,
    ) -> ModelTurn:
        found = (await self._recording()).exchanges.get(turn_key(conversation))
        exchange = self._next(found, conversation.messages[-1].text)
        turn = ModelTurn.of_json(exchange.turn or {})
        if on_reasoning and turn.reasoning:
            on_reasoning(turn.reasoning)
        for piece in exchange.pieces:
            if on_token:
                on_token(piece)
            await asyncio.sleep(0)
        return turn

    async def check(self) -> str:
        count = sum(len(found) for found in (await self._recording()).exchanges.values())
        return f"{self._path}: {count} recorded exchanges"

    async def aclose(self) -> None:
        self._loaded = None

    def _next(self, found: list[Exchange] | None, asked: str) -> Exchange:
        if not found:
            raise InvalidReply(
                f"{self._path} has no answer to this prompt ({asked[:60]!r}…): "
                + HOW_TO_RECORD.format(path=self._path)
            )
        return found.pop(0) if len(found) > 1 else found[0]

    def _parse(self, exchange: Exchange, schema: type[BaseModel] | None) -> BaseModel | None:
        if schema is None:
            return None
        try:
            return schema.model_validate(exchange.parsed)
        except ValidationError as error:
            raise InvalidReply(
                f"{self._path}: the recorded answer does not fit {schema.__name__} any more; "
                f"record it again: {error}"
            ) from error

    async def _recording(self) -> _Recording:
        if self._loaded is None:
            self._loaded = await asyncio.to_thread(_load, self._path)
        return self._loaded

    def _limits(self) -> _Recording:
        """Return the recording, an empty one if it cannot be read: the first prompt says why."""
        if self._loaded is None:
            try:
                self._loaded = _load(self._path)
            except AdapterUnavailable:
                return _Recording()
        return self._loaded


def _load(path: Path) -> _Recording:
    try:
        # not splitlines(): JSON may hold other line separators as they are
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except OSError as error:
        raise AdapterUnavailable(
            f"the recording {path} cannot be read ({error.strerror}): {HOW_TO_RECORD.format(path=path)}"
        ) from error
    exchanges: dict[str, list[Exchange]] = {}
    for number, line in enumerate(lines, start=1):
        try:
            exchange = Exchange.model_validate_json(line)
        except ValidationError as error:
            raise AdapterUnavailable(f"{path}:{number}: not a recorded exchange: {error}") from error
        exchanges.setdefault(exchange.key, []).append(exchange)
    every = [exchange for found in exchanges.values() for exchange in found]
    return _Recording(
        exchanges,
        any(exchange.demonstration for exchange in every),
        min((exchange.context_tokens for exchange in every if exchange.context_tokens), default=None),
        any(exchange.turn is not None for exchange in every),
    )


def _append(path: Path, line: str) -> None:
    """Append in one write, so that exchanges recorded at the same time do not mix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # prompts hold code: only the person may read them
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)
