"""Recordings of exchanges with a model: record, reduce to the model's answers, replay."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from tideate_core.adapters.base import NewPart, Reply, Usage
from tideate_core.adapters.conversation import ModelTurn, ToolResult, TurnAdapter, UserMessage
from tideate_core.adapters.prices import PricedAdapter
from tideate_core.errors import AdapterUnavailable, InvalidReply
from tideate_core.util.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tideate_core.adapters.base import Adapter, OfferedTool, OnText, Origin, Prompt, Schema
    from tideate_core.adapters.conversation import Conversation

HOW_TO_RECORD = "run the workflow once with TIDEATE_RECORD={path} and a real adapter to record it"
DIFFERENT = (
    "{path}: the prompts differ from the recorded ones, so answers are matched by the model's earlier words; "
    "they may not fit"
)
REDUCED = "{path} holds no prompts: its answers are matched by the model's earlier words, and may not fit"


class Exchange(BaseModel):
    """One line of a recording."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    """Hash of the model's complete input; empty in a reduced recording."""
    said: str
    """Hash of the model's own earlier output."""
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


def prompt_keys(prompt: Prompt, schema: Schema) -> Keys:
    """Return the keys of a prompt."""
    name = schema.__name__ if schema else None
    history = [[turn.user, turn.assistant] for turn in prompt.history]
    said = [turn.assistant for turn in prompt.history]
    return Keys(_hash([prompt.system, prompt.user, history, name]), _hash(["answer", name, said]))


def _hash(told: list[Any]) -> str:
    return hashlib.sha256(json.dumps(told, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


def _collector(on_token: OnText) -> tuple[int, list[str], Callable[[str], None]]:
    """Return the current time, a list of streamed pieces, and the callback that fills it."""
    pieces: list[str] = []

    def collect(text: str) -> None:
        pieces.append(text)
        if on_token:
            on_token(text)

    return time.time_ns(), pieces, collect


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

    async def ask(self, prompt: Prompt, *, on_token: OnText = None, schema: Schema = None) -> Reply:
        begun, pieces, collect = _collector(on_token)
        reply = await self._inner.ask(prompt, on_token=collect, schema=schema)
        await self._append(
            prompt_keys(prompt, schema),
            prompt.origin,
            begun,
            pieces,
            system=prompt.system,
            user=prompt.user,
            answer_schema=schema.__name__ if schema else None,
            text=reply.text,
            parsed=reply.parsed.model_dump(mode="json") if reply.parsed else None,
            model=reply.model,
            input_tokens=reply.usage.input_tokens,
            output_tokens=reply.usage.output_tokens,
            cached_tokens=reply.usage.cached_tokens,
            cost=reply.usage.cost,
            truncated=reply.truncated,
        )
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
        on_token: OnText = None,
        on_reasoning: OnText = None,
    ) -> ModelTurn:
        assert isinstance(self._inner, TurnAdapter)  # noqa: S101 see `tools`
        begun, pieces, collect = _collector(on_token)
        turn = await self._inner.take_turn(conversation, tools, on_token=collect, on_reasoning=on_reasoning)
        await self._append(
            turn_keys(conversation),
            conversation.origin,
            begun,
            pieces,
            system=conversation.system,
            user=conversation.messages[-1].text if conversation.messages else "",
            answer_schema=None,
            text=turn.text,
            model=turn.model,
            turn=turn.as_json(),
        )
        return turn

    async def _append(self, keys: Keys, origin: Origin, begun: int, pieces: list[str], **shape: Any) -> None:
        exchange = Exchange(
            **keys._asdict(),
            conversation=origin.conversation,
            begun=begun,
            pieces=pieces,
            parts=[at for at, piece in enumerate(pieces) if isinstance(piece, NewPart)],
            demonstration=self.demonstration,
            context_tokens=self.context_tokens,
            **shape,
        )
        await asyncio.to_thread(_append, self._path, exchange.model_dump_json() + "\n")

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


def _append(path: Path, line: str) -> None:
    """Append in one write, so that concurrent exchanges do not mix."""
    make_private_directory(path.parent)
    # prompts contain code: only the user may read them
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


class ReplayAdapter:
    """Adapter that answers from a recording, with the recorded model's limits.

    An exchange is found by the model's complete input. Several recorded for one prompt are given in order,
    then the last one again. If none matches, the prompts have changed since the recording: then an exchange
    is found by the model's own earlier output in the conversation, each given once per run, and the answer
    has a notice. Among several, one whose conversation has the same `Origin` is preferred, then the first.

    :param exact: require the recorded prompts.
    """

    def __init__(self, name: str, path: Path, *, exact: bool = False) -> None:
        self.name = name
        self._path = path
        self._exact = exact
        self._loaded: _Index | None = None

    @property
    def demonstration(self) -> bool:
        return self._limits().demonstration

    @property
    def context_tokens(self) -> int | None:
        return self._limits().context_tokens

    async def ask(self, prompt: Prompt, *, on_token: OnText = None, schema: Schema = None) -> Reply:
        exchange, notice = await self._find(prompt_keys(prompt, schema), prompt.origin, prompt.user)
        await _stream(exchange, on_token)
        return Reply(
            text=exchange.text,
            model=exchange.model,
            parsed=self._parse(exchange, schema),
            usage=Usage(exchange.input_tokens, exchange.output_tokens, exchange.cost, exchange.cached_tokens),
            truncated=exchange.truncated,
            notice=notice,
        )

    @property
    def tools(self) -> bool:
        """True if turns with tools were recorded."""
        return self._limits().tools

    async def take_turn(
        self,
        conversation: Conversation,
        tools: Sequence[OfferedTool],
        *,
        on_token: OnText = None,
        on_reasoning: OnText = None,
    ) -> ModelTurn:
        asked = conversation.messages[-1].text
        exchange, notice = await self._find(turn_keys(conversation), conversation.origin, asked)
        turn = ModelTurn.of_json({**(exchange.turn or {}), "notice": notice})
        if on_reasoning and turn.reasoning:
            on_reasoning(turn.reasoning)
        await _stream(exchange, on_token)
        return turn

    async def check(self) -> str:
        recording = (await self._index()).recording
        return f"{self._path}: {len(recording.exchanges)} recorded exchanges"

    async def check_key(self) -> None:
        await self._index()

    async def aclose(self) -> None:
        self._loaded = None

    async def _find(self, keys: Keys, origin: Origin, asked: str) -> tuple[Exchange, str]:
        """Return an exchange, and a notice for the user if its prompt differed.

        :raises InvalidReply: no exchange matches.
        """
        index = await self._index()
        if (exchange := index.exact(keys.key, origin)) is not None:
            return exchange, ""
        reduced = index.is_reduced
        if self._exact and reduced:
            raise InvalidReply(f"{self._path} holds no prompts: use replay:{self._path}")
        if not self._exact and (exchange := index.alike(keys.said, origin)) is not None:
            return exchange, (REDUCED if reduced else DIFFERENT).format(path=self._path)
        raise InvalidReply(
            f"{self._path} has no answer to this prompt ({asked[:60]!r}…): "
            + HOW_TO_RECORD.format(path=self._path)
        )

    def _parse(self, exchange: Exchange, schema: Schema) -> BaseModel | None:
        if schema is None:
            return None
        try:
            return schema.model_validate(exchange.parsed)
        except ValidationError as error:
            raise InvalidReply(
                f"{self._path}: the recorded answer does not fit {schema.__name__} any more; "
                f"record it again: {error}"
            ) from error

    async def _index(self) -> _Index:
        if self._loaded is None:
            recording = await asyncio.to_thread(Recording.load, self._path)
            self._loaded = self._loaded or _Index(recording)  # a concurrent prompt may have loaded it
        return self._loaded

    def _limits(self) -> Recording:
        """Return the recording, empty if it cannot be read: the first prompt reports the reason."""
        if self._loaded is None:
            try:
                self._loaded = _Index(Recording.load(self._path))
            except AdapterUnavailable:
                return Recording()
        return self._loaded.recording


class _Index:
    """Exchanges of a recording by key, and the exchanges already replayed."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._by_key: dict[str, list[Exchange]] = defaultdict(list)
        self._by_said: dict[str, list[Exchange]] = defaultdict(list)
        for exchange in recording.exchanges:
            if exchange.key:
                self._by_key[exchange.key].append(exchange)
            self._by_said[exchange.said].append(exchange)
        self._given: dict[str, set[int]] = defaultdict(set)
        """Given exchanges of each run, by object id."""
        self._recorded_as: dict[Origin, str] = {}
        """Recorded conversation assigned to a conversation of the run."""

    @property
    def is_reduced(self) -> bool:
        return not self._by_key

    def exact(self, key: str, origin: Origin) -> Exchange | None:
        """Return the next exchange of a prompt, else its last one; None if it was not recorded."""
        found = self._by_key.get(key)
        return self._give(next(iter(self._left(found, origin)), found[-1]), origin) if found else None

    def alike(self, said: str, origin: Origin) -> Exchange | None:
        """Return an unused exchange after the same output of the model; None without one."""
        left = self._left(self._by_said.get(said, ()), origin)
        conversation = self._recorded_as.get(origin, origin.conversation)
        same = (exchange for exchange in left if exchange.conversation == conversation)
        exchange = next(same, left[0] if left else None)
        return self._give(exchange, origin) if exchange else None

    def _left(self, found: Sequence[Exchange], origin: Origin) -> list[Exchange]:
        given = self._given[origin.run]
        return [exchange for exchange in found if id(exchange) not in given]

    def _give(self, exchange: Exchange, origin: Origin) -> Exchange:
        self._given[origin.run].add(id(exchange))
        self._recorded_as[origin] = exchange.conversation
        return exchange


async def _stream(exchange: Exchange, on_token: Callable[[str], None] | None) -> None:
    begin = frozenset(exchange.parts)
    for at, piece in enumerate(exchange.pieces):
        if on_token:
            on_token(NewPart(piece) if at in begin else piece)
        await asyncio.sleep(0)  # allows cancellation between tokens, like a real answer
