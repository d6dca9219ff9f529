"""Model calls of a step: secrets hidden, answers streamed and replayed after a crash, cost limited."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters import (
    ModelTurn,
    NewPart,
    Origin,
    PricedAdapter,
    Reply,
    Turn,
    TurnAdapter,
    Usage,
    report_retries,
)
from tideate_core.engine.context.memory import REPLY, TURN
from tideate_core.engine.events import EventName
from tideate_core.engine.request import usage_json
from tideate_core.errors import ConfigError, CostLimitReached, InvalidReply
from tideate_core.util.half_characters import SurrogateJoiner, mended
from tideate_core.util.json_digest import digest_of
from tideate_core.util.readable_json import ReadableJson
from tideate_core.util.tokens import CHARACTERS_PER_TOKEN
from tideate_core.workflows import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from pydantic import BaseModel

    from tideate_core.adapters import Adapter, Conversation, Message, OfferedTool, Prompt
    from tideate_core.engine.context.context import Context

ASSUMED_OUTPUT: Final = 4096
"""Tokens assumed for an answer without a limit."""


def estimated_tokens(prompt: Prompt) -> int:
    """Estimate the tokens of a prompt with its earlier turns."""
    before = sum(len(turn.user) + len(turn.assistant) for turn in prompt.history)
    return (before + len(prompt.system) + len(prompt.user)) // CHARACTERS_PER_TOKEN + 1


def conversation_tokens(conversation: Conversation, tools: Sequence[OfferedTool]) -> int:
    """Estimate the tokens of a conversation with its offered tools."""
    texts = [conversation.system, *(f"{tool.description}{json.dumps(dict(tool.schema))}" for tool in tools)]
    for message in conversation.messages:
        texts.append(message.text)
        if isinstance(message, ModelTurn):
            texts += [json.dumps(call.arguments) for call in message.calls]
    return sum(map(len, texts)) // CHARACTERS_PER_TOKEN + 1


class StepModel:
    """Model access of one attempt of a step, or of an item of its list.

    In an attempt that a crash interrupted, a repeated question gets the stored answer and no model is asked;
    the answer is streamed again as a whole (`again`) and costs no tokens.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._run = context.run
        self._step = context.whole_step
        self._memory = context.run.memory

    async def ask(
        self,
        prompt: Prompt,
        *,
        schema: type[BaseModel] | None = None,
        quiet: bool = False,
        adapter: str | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Reply:
        """Ask the run's adapter, or another one.

        :param on_text: see `StepContext.ask`.
        :raises UnknownAdapter: no adapter has this name.
        :raises CostLimitReached: it could exceed `limits.cost_usd`; nothing was sent.
        :raises InvalidReply: the answer is empty.
        :raises AdapterError: the adapter failed.
        """
        asked = self._named(adapter)
        shape = schema.model_json_schema() if schema else None
        told = {name: value for name, value in asdict(prompt).items() if name != "origin"}
        digest = digest_of(told, shape, *([] if adapter is None else [adapter]))
        key = self._memory.numbered(self._step, f"{self._context.attempt}{REPLY}{digest}")
        kept = self._memory.recall(self._step, key)
        if kept is not MISSING:
            self._context.outgoing.note_said(kept["text"])
            self._stream_again([kept["text"]], quiet=quiet, structured=schema is not None)
            return _reply_of(kept, schema)
        prompt = self._context.outgoing.prompt(prompt)
        self._tell_of_hidden()
        prompt = replace(prompt, origin=Origin(self._step, self._run.outermost.id))
        with self._request(asked, estimated_tokens(prompt), prompt.max_tokens) as count:
            with self._stream(quiet=quiet, structured=schema is not None, on_text=on_text) as on_token:
                reply = await asked.ask(prompt, on_token=on_token, schema=schema)
            reply = replace(reply, text=mended(reply.text))
            count(reply)
        self._context.outgoing.note_said(
            reply.text, reply.parsed.model_dump(mode="json") if reply.parsed else None
        )
        if not reply.text.strip() and reply.parsed is None:
            raise InvalidReply.of_nothing(reply.model)
        self._memory.note(self._step, key, self._memo(reply.usage) | _json_of(reply), keep=False)
        return reply

    def can_use_tools(self, adapter: str | None = None) -> bool:
        """Tell whether a model can call tools."""
        asked = self._named(adapter)
        return isinstance(asked, TurnAdapter) and asked.tools

    def require_tools(self, names: Sequence[str], adapter: str | None = None) -> None:
        """Check that a model can use tools.

        :raises ConfigError: it cannot; names the wanted tools.
        """
        self._tool_adapter(self._named(adapter), names)

    async def take_turn(
        self,
        conversation: Conversation,
        tools: Sequence[OfferedTool],
        *,
        key: str,
        quiet: bool = False,
        adapter: str | None = None,
    ) -> ModelTurn:
        """Return the next turn of the run's adapter or another one; durable on return.

        :raises ConfigError: the adapter cannot use tools.
        :raises CostLimitReached: it could exceed `limits.cost_usd`; nothing was sent.
        :raises AdapterError: the adapter failed.
        """
        asked = self._named(adapter)
        answers = {tool.name for tool in tools if tool.is_answer}
        key = self._key_of_turn(key)
        kept = self._memory.recall(self._step, key)
        if kept is not MISSING:
            turn = ModelTurn.of_json(kept["turn"])
            self._context.outgoing.note_turn(turn)
            self._stream_again(_said(turn, answers), quiet=quiet, structured=bool(answers))
            return turn
        taker = self._tool_adapter(asked, [tool.name for tool in tools])
        origin = replace(conversation.origin, run=self._run.outermost.id)
        conversation = self._context.outgoing.conversation(replace(conversation, origin=origin))
        tools = self._context.outgoing.tools(tools)
        self._tell_of_hidden()
        with self._request(asked, conversation_tokens(conversation, tools)) as count:
            with (
                self._stream(quiet=quiet, structured=bool(answers)) as on_token,
                self._stream(EventName.REASONING, quiet=quiet) as on_reasoning,
            ):
                turn = await taker.take_turn(
                    conversation, tools, on_token=on_token, on_reasoning=on_reasoning
                )
            turn = replace(turn, text=mended(turn.text), reasoning=mended(turn.reasoning))
            count(turn)
            self._memory.ledger.spend(self._context.step, turn)
        self._context.outgoing.note_turn(turn)
        memo = self._memo(turn.usage) | {"turn": turn.as_json(), "of": self._context.step}
        await self._memory.remember(self._step, key, memo, keep=False)
        return turn

    def has_turn(self, key: str) -> bool:
        """Tell whether a turn was taken before a crash."""
        return self._memory.recall(self._step, self._key_of_turn(key)) is not MISSING

    def _key_of_turn(self, key: str) -> str:
        # items of a list share the step's memory: the name distinguishes their turns
        return f"{self._context.attempt}{REPLY}{TURN}{self._context.step}:{key}"

    def _memo(self, usage: Usage) -> dict[str, Any]:
        """Return the fields that the memos of replies and turns share."""
        late = self._step in self._run.settled
        return {"usage": asdict(usage), "late": late, "place": self._memory.place(self._step)}

    def _tell_of_hidden(self) -> None:
        if self._context.outgoing.has_hidden:
            self._context.warn_once(
                "values that seem to be secrets are not sent to the model; it sees a mark in their place"
            )

    def _named(self, adapter: str | None) -> Adapter:
        asked = self._run.adapter if adapter is None else self._run.runner.adapters.get(adapter)
        if asked.demonstration:  # the result is only as reliable as the model that was asked
            self._context.demonstration = True
        return asked

    def _tool_adapter(self, adapter: Adapter, tools: Sequence[str]) -> TurnAdapter:
        if isinstance(adapter, TurnAdapter) and adapter.tools:
            return adapter
        raise ConfigError(f"the adapter {adapter.name!r} cannot use tools ({', '.join(tools)} are wanted)")

    @contextmanager
    def _stream(
        self,
        event: EventName = EventName.TOKEN,
        *,
        quiet: bool,
        structured: bool = False,
        on_text: Callable[[str], None] | None = None,
    ) -> Iterator[Callable[[str], None] | None]:
        """Yield a function that streams pieces of an answer, made readable if structured."""
        if quiet:
            yield None
            return
        joiner, readable = SurrogateJoiner(), ReadableJson() if structured else None

        def send(text: str) -> None:
            if text and on_text is not None:
                on_text(text)  # first: front ends draw what it shows before the bare text
            if text:
                self._context.emit(event, text=text)

        def stream(piece: str) -> None:
            nonlocal readable
            if readable is not None and isinstance(piece, NewPart):  # the part before is complete
                send(mended(readable.end()))
                readable = ReadableJson()
            text = joiner.feed(piece)
            send(text if readable is None else mended(readable.feed(text)))

        try:
            yield stream
        finally:
            send("" if readable is None else mended(readable.end()))

    def _stream_again(self, parts: Sequence[str], *, quiet: bool, structured: bool = False) -> None:
        # the person who resumed the run has not seen it, and may be asked about it
        if structured:
            parts = [_read(part) for part in parts]
        text = "\n\n".join(parts)
        if text.strip() and not quiet:
            self._context.emit(EventName.TOKEN, text=f"{text.rstrip()}\n\n", again=True)

    @contextmanager
    def _request(
        self, adapter: Adapter, input_tokens: int, output_tokens: int | None = None
    ) -> Iterator[Callable[[Reply | ModelTurn], None]]:
        """Reserve the price of a request while it is under way, and report its retries.

        :param output_tokens: the longest wanted answer; None: the adapter's maximum.
        :returns: a function that counts the answer.
        :raises CostLimitReached: the request could exceed the limit.
        """
        price = self._reserved_price(adapter, input_tokens, output_tokens)
        self._run.cost_under_way += price
        begun = time.monotonic()
        try:
            with report_retries(self._context.notice):
                yield lambda answer: self._count(adapter, answer, begun)
        finally:
            self._run.cost_under_way -= price

    def _reserved_price(self, adapter: Adapter, input_tokens: int, output_tokens: int | None) -> float:
        """Return the price that counts for the cost limit; 0 without a limit or a known price."""
        limit = self._run.runner.config.limits.cost_usd
        if limit is None:
            return 0.0
        price = None
        if isinstance(adapter, PricedAdapter):
            price = adapter.price_of(input_tokens, output_tokens or adapter.max_tokens or ASSUMED_OUTPUT)
        if price is None:
            if not adapter.demonstration:
                self._context.warn_once(
                    f"the price of {adapter.name!r} is unknown: limits.cost_usd does not limit its requests"
                )
            return 0.0
        committed = self._run.outermost.committed_cost()
        if committed + price > limit:
            raise CostLimitReached(
                f"limits.cost_usd is ${limit:g}: ${committed:.4f} of it are spent or under way, and the next "
                f"request to {adapter.name!r} may cost ${price:.4f} (about {input_tokens} tokens in); it was "
                "not sent. Set a higher limits.cost_usd, a lower max_tokens, or use a cheaper model"
            )
        return price

    def count_reply(self, adapter: str, reply: Reply, seconds: float) -> None:
        """Count an agent's reply.

        :param seconds: duration of the turn.
        """
        self._count(self._named(adapter), reply, time.monotonic() - seconds)

    def _count(self, adapter: Adapter, answer: Reply | ModelTurn, begun: float) -> None:
        self._run.usage += answer.usage
        self._memory.spend(self._step, answer.usage)
        self._memory.note_asked(self._run.runner.adapters.destination(adapter.name))
        self._context.emit(
            EventName.MODEL_ANSWERED,
            model=answer.model,
            adapter=adapter.name,
            usage=usage_json(answer.usage),
            duration_ms=round((time.monotonic() - begun) * 1000),
        )
        if answer.notice:
            self._context.warn_once(answer.notice)


def _read(part: str) -> str:
    readable = ReadableJson()
    return mended(readable.feed(part) + readable.end())


def _said(turn: ModelTurn, answers: Collection[str]) -> list[str]:
    """Return a turn's text and submissions, as they were streamed."""
    handed_in = [json.dumps(call.arguments) for call in turn.calls if call.name in answers and call.arguments]
    return list(filter(None, [turn.text, *handed_in]))


def _json_of(reply: Reply) -> dict[str, Any]:
    return {
        "text": reply.text,
        "model": reply.model,
        "parsed": reply.parsed.model_dump(mode="json") if reply.parsed else None,
        "truncated": reply.truncated,
    }


def _reply_of(kept: Mapping[str, Any], schema: type[BaseModel] | None) -> Reply:
    parsed = schema.model_validate(kept["parsed"]) if schema else None
    return Reply(kept["text"], kept["model"], parsed, Usage(**kept["usage"]), kept["truncated"])


class Outgoing:
    """Filter of secrets for one run and its nested runs.

    Secrets stay visible in text that the person typed, text that the person agreed to send, and the model's
    own words. In all other texts they are hidden.

    :param typed: texts that the person typed.
    """

    def __init__(self, typed: Iterable[str]) -> None:
        self._agreed: set[str] = set()
        self._said: set[str] = set()
        self.has_hidden = False
        """A secret was hidden so far."""
        for text in typed:
            self.allow(text)

    def allow(self, text: str) -> None:
        """Allow the secrets of a text that the person typed, or agreed to send."""
        from tideate_core.mentions import secret_parts

        self._agreed |= secret_parts(text)

    def allow_conversation(self, conversation: Conversation) -> None:
        """Allow a stored conversation, which was filtered before."""
        for text in (conversation.system, *map(_text_of, conversation.messages)):
            self.allow(text)

    def note_said(self, text: str, arguments: Any = None) -> None:
        """Allow the words of a model, which it already knows."""
        from tideate_core.mentions import secret_parts

        self._said |= secret_parts(text)
        for one in texts_in(arguments):
            self._said |= secret_parts(one)

    def note_turn(self, turn: ModelTurn) -> None:
        """Allow a turn of a model; see `note_said`."""
        self.note_said(turn.text, [call.arguments for call in turn.calls])

    def hide(self, text: str) -> str:
        """Return a text with its secrets hidden."""
        return self._hide(text, self._agreed)

    def hide_within(self, value: Any) -> Any:
        """Return a JSON value with the secrets in its texts hidden; a text may be JSON itself."""
        match value:
            case str():
                return self._hide_json(value)
            case dict():
                return {self.hide(str(name)): self.hide_within(one) for name, one in value.items()}
            case list():
                return [self.hide_within(one) for one in value]
        return value

    def _hide_json(self, text: str) -> str:
        if text.lstrip()[:1] in ("{", "["):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                return self.hide(text)
            hidden = self.hide_within(value)
            if hidden != value:
                return json.dumps(hidden, ensure_ascii=False, indent=2 if "\n" in text.strip() else None)
        return self.hide(text)

    def prompt(self, prompt: Prompt) -> Prompt:
        """Return a prompt with its secrets hidden."""
        history = tuple(Turn(self._sent(one.user), one.assistant) for one in prompt.history)
        return replace(
            prompt, user=self._sent(prompt.user), system=self._sent(prompt.system), history=history
        )

    def conversation(self, conversation: Conversation) -> Conversation:
        """Return a conversation with its secrets hidden."""
        messages = [self._message(one) for one in conversation.messages]
        return replace(conversation, system=self._sent(conversation.system), messages=messages)

    def tools(self, tools: Sequence[OfferedTool]) -> list[OfferedTool]:
        """Return tools with secrets in their descriptions hidden."""
        return [
            replace(one, description=self.hide(one.description), schema=self.hide_within(dict(one.schema)))
            for one in tools
        ]

    def _message(self, message: Message) -> Message:
        if isinstance(message, ModelTurn):  # the model's own turn is sent back unchanged
            return message
        text = self._sent(message.text)
        return message if text == message.text else replace(message, text=text)

    def _sent(self, text: str) -> str:
        return self._hide(text, self._agreed | self._said)

    def _hide(self, text: str, shown: set[str]) -> str:
        from tideate_core.mentions import hide_secrets

        hidden = hide_secrets(text, shown)
        self.has_hidden |= hidden != text
        return hidden


def texts_in(value: Any) -> Iterable[str]:
    """Yield all texts of a JSON value."""
    match value:
        case str():
            yield value
        case dict():
            for one in value.values():
                yield from texts_in(one)
        case list() | tuple():
            for one in value:
                yield from texts_in(one)


def _text_of(message: Message) -> str:
    if not isinstance(message, ModelTurn):
        return message.text
    return "\n".join((message.text, *texts_in([call.arguments for call in message.calls])))
