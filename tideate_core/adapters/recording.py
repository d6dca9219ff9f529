"""Recording of exchanges with a model to a file, and its reduction to the model's answers."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from tideate_core.adapters.base import NewPart
from tideate_core.adapters.conversation import ModelTurn, ToolResult, TurnAdapter, UserMessage
from tideate_core.adapters.prices import PricedAdapter
from tideate_core.errors import AdapterUnavailable
from tideate_core.util.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tideate_core.adapters.base import Adapter, OfferedTool, Prompt, Reply
    from tideate_core.adapters.conversation import Conversation

HOW_TO_RECORD = "run the workflow once with TIDEATE_RECORD={path} and a real adapter to record it"


class Exchange(BaseModel):
    """One line of a recording."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    """Hash of the model's complete input; empty in a reduced recording."""
    said: str = ""
    """Hash of the model's own earlier output; empty in old recordings."""
    conversation: str = ""
    """`Origin.conversation` of the request."""
    begun: int = 0
    """Time of the request in nanoseconds since the epoch; position in a reduced recording."""
    system: str = ""
    user: str = ""
    """Prompt or last message; empty, like `system`, in a reduced recording."""
    answer_schema: str | None
    pieces: list[str]
    """Streamed pieces of the text."""
    parts: list[int] = []
    """Indexes of pieces that begin a part: see `NewPart`."""
    text: str
    parsed: dict[str, Any] | None = None
    model: str
    demonstration: bool = False
    context_tokens: int | None = None
    """Properties of the recorded adapter, which prompts depend on."""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    truncated: bool = False
    turn: dict[str, Any] | None = None
    """Turn of a work loop; None for an answer."""


class Keys(NamedTuple):
    """Keys of an exchange, see `Exchange`."""

    key: str
    said: str


def turn_keys(conversation: Conversation) -> Keys:
    """Return the keys of a turn.

    Call ids and provider data differ between runs and are ignored.
    """
    told: list[Any] = [conversation.system]
    said: list[Any] = []
    for message in conversation.messages:
        match message:
            case UserMessage(text):
                told.append(["user", text])
            case ToolResult(call, text):
                told.append([call.name, text])
            case ModelTurn(text=text, calls=calls):
                turn = ["model", text, [[call.name, call.arguments] for call in calls]]
                told.append(turn)
                said.append(turn)
    return Keys(_hash(told), _hash(["turn", said]))


def prompt_keys(prompt: Prompt, schema: type[BaseModel] | None) -> Keys:
    """Return the keys of a prompt."""
    name = schema.__name__ if schema else None
    history = [[turn.user, turn.assistant] for turn in prompt.history]
    said = [turn.assistant for turn in prompt.history]
    return Keys(_hash([prompt.system, prompt.user, history, name]), _hash(["answer", name, said]))


def _hash(told: list[Any]) -> str:
    return hashlib.sha256(json.dumps(told, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


def _parts_of(pieces: Sequence[str]) -> list[int]:
    return [at for at, piece in enumerate(pieces) if isinstance(piece, NewPart)]


class RecordingAdapter:
    """Adapter that forwards prompts to another one and appends each exchange to a file."""

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

        keys, begun = prompt_keys(prompt, schema), time.time_ns()
        reply = await self._inner.ask(prompt, on_token=collect, schema=schema)
        exchange = Exchange(
            key=keys.key,
            said=keys.said,
            conversation=prompt.origin.conversation,
            begun=begun,
            system=prompt.system,
            user=prompt.user,
            answer_schema=schema.__name__ if schema else None,
            pieces=pieces,
            parts=_parts_of(pieces),
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
        """True if the model can call tools."""
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

        keys, begun = turn_keys(conversation), time.time_ns()
        turn = await self._inner.take_turn(conversation, tools, on_token=collect, on_reasoning=on_reasoning)
        last = conversation.messages[-1] if conversation.messages else None
        exchange = Exchange(
            key=keys.key,
            said=keys.said,
            conversation=conversation.origin.conversation,
            begun=begun,
            system=conversation.system,
            user=last.text if last is not None else "",
            answer_schema=None,
            pieces=pieces,
            parts=_parts_of(pieces),
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

    async def check_key(self) -> None:
        await self._inner.check_key()

    async def aclose(self) -> None:
        await self._inner.aclose()


@dataclass(frozen=True, slots=True)
class Recording:
    """Exchanges of a file, in the order of their requests."""

    exchanges: tuple[Exchange, ...] = ()

    @property
    def demonstration(self) -> bool:
        """True if some answers are a demonstration model's."""
        return any(exchange.demonstration for exchange in self.exchanges)

    @property
    def context_tokens(self) -> int | None:
        """Smallest context window of the recorded models."""
        limits = (exchange.context_tokens for exchange in self.exchanges)
        return min((limit for limit in limits if limit), default=None)

    @property
    def tools(self) -> bool:
        """True if some exchanges are turns with tools."""
        return any(exchange.turn is not None for exchange in self.exchanges)

    @classmethod
    def load(cls, path: Path) -> Recording:
        """Read a file; blocking.

        :raises AdapterUnavailable: the file cannot be read, or a line is invalid.
        """
        try:
            # not splitlines(): JSON may contain other line separators
            lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        except OSError as error:
            raise AdapterUnavailable(
                f"the recording {path} cannot be read ({error.strerror}): {HOW_TO_RECORD.format(path=path)}"
            ) from error
        except UnicodeDecodeError as error:
            raise AdapterUnavailable(f"{path}: not a recording: it is not UTF-8 text") from error
        exchanges: list[Exchange] = []
        for number, line in enumerate(lines, start=1):
            try:
                exchanges.append(Exchange.model_validate_json(line))
            except ValidationError as error:
                raise AdapterUnavailable(f"{path}:{number}: not a recorded exchange: {error}") from error
        # concurrent exchanges are written in the order of their answers
        return cls(tuple(sorted(exchanges, key=lambda exchange: exchange.begun)))


def reduce_recording(path: Path, reduced: Path) -> int:
    """Write a recording without prompts, tool results and reasoning; return its number of exchanges.

    The model's own output remains: texts and calls with arguments, which include code.

    :raises AdapterUnavailable: the recording cannot be read, or has no `said`.
    :raises OSError: the reduced recording cannot be written.
    """
    exchanges = Recording.load(path).exchanges
    lines: list[str] = []
    for place, exchange in enumerate(exchanges):
        if not exchange.said:
            raise AdapterUnavailable(
                f"{path} is of an earlier version and cannot be reduced: {HOW_TO_RECORD.format(path=path)}"
            )
        turn = exchange.turn and {**exchange.turn, "raw": "", "made_by": "", "reasoning": ""}
        kept = {"key": "", "begun": place, "system": "", "user": "", "turn": turn}
        pieces = [exchange.text] if exchange.text else []
        lines.append(
            exchange.model_copy(update={**kept, "pieces": pieces, "parts": []}).model_dump_json(
                exclude_defaults=True
            )
        )
    reduced.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return len(lines)


def _append(path: Path, line: str) -> None:
    """Append in one write, so that concurrent exchanges do not mix."""
    make_private_directory(path.parent)
    # prompts contain code: only the user may read them
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)
