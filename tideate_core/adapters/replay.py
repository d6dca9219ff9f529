"""Replay of a recording, for reproducible runs without a model."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

from pydantic import BaseModel, ValidationError

from tideate_core.adapters.base import NewPart, Reply, Usage
from tideate_core.adapters.conversation import ModelTurn
from tideate_core.adapters.recording import HOW_TO_RECORD, Recording, prompt_keys, turn_keys
from tideate_core.errors import AdapterUnavailable, InvalidReply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tideate_core.adapters.base import OfferedTool, Origin, Prompt
    from tideate_core.adapters.conversation import Conversation
    from tideate_core.adapters.recording import Exchange, Keys

DIFFERENT = (
    "{path}: the prompts differ from the recorded ones, so answers are found by what the model said before; "
    "they may not fit"
)
REDUCED = "{path} holds no prompts: its answers are found by what the model said before, and may not fit"


class ReplayAdapter:
    """Adapter that answers from a recording, with the recorded model's limits.

    An exchange is found by the model's complete input. Several recorded for one prompt are given in
    order, then the
    last one again. If none matches, the prompts have changed since the recording: then an exchange is
    found by the
    model's own earlier output in the conversation, each given once per run, and the answer has a notice.
    Among
    several, one whose conversation has the same `Origin` is preferred, then the first.

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

    async def ask(
        self,
        prompt: Prompt,
        *,
        on_token: Callable[[str], None] | None = None,
        schema: type[BaseModel] | None = None,
    ) -> Reply:
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
        on_token: Callable[[str], None] | None = None,
        on_reasoning: Callable[[str], None] | None = None,
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
            if exchange.said:
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
