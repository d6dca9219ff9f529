"""Model access of a step: the filter of secrets, prompts, streamed answers, replay, and the cost limit."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from json import dumps
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
    from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from pydantic import BaseModel

    from tideate_core.adapters import Adapter, Conversation, Message, OfferedTool, Prompt
    from tideate_core.engine.context.context import Context
    from tideate_core.engine.run import Run

    FindTools = Callable[[Adapter, Sequence[str]], Awaitable[list[OfferedTool]]]
    """Finds the tools that a step wants to offer to an adapter's model, by their names."""


ASSUMED_OUTPUT: Final = 4096
"""Tokens assumed for an answer without a limit."""


def estimated_tokens(prompt: Prompt) -> int:
    """Estimate the tokens of a prompt with its earlier turns."""
    before = sum(len(turn.user) + len(turn.assistant) for turn in prompt.history)
    return (before + len(prompt.system) + len(prompt.user)) // CHARACTERS_PER_TOKEN + 1


def conversation_tokens(conversation: Conversation, tools: Sequence[OfferedTool]) -> int:
    """Estimate the tokens of a conversation with its offered tools."""
    texts = [conversation.system, *(f"{tool.description}{dumps(dict(tool.schema))}" for tool in tools)]
    for message in conversation.messages:
        texts.append(message.text)
        if isinstance(message, ModelTurn):
            texts += [dumps(call.arguments) for call in message.calls]
    return sum(map(len, texts)) // CHARACTERS_PER_TOKEN + 1


@contextmanager
def within_cost_limit(
    run: Run,
    limit: float | None,
    adapter: Adapter,
    *,
    input_tokens: int,
    output_tokens: int | None,
    warn: Callable[[str], None],
) -> Iterator[None]:
    """Reserve the price of a request while it is under way.

    :param limit: US dollars that the run and its nested runs may spend; None: no limit.
    :param output_tokens: the longest wanted answer; None: the adapter's maximum.
    :param warn: called once in a run for a model with an unknown price.
    :raises CostLimitReached: the request could exceed the limit.
    """
    price = _price(adapter, input_tokens, output_tokens) if limit is not None else None
    if limit is None or price is None:
        if limit is not None:
            _warn_once(run, adapter, warn)
        yield
        return
    committed = run.outermost.committed_cost()
    if committed + price > limit:
        raise CostLimitReached(
            f"limits.cost_usd is ${limit:g}: ${committed:.4f} of it are spent or under way, and the next "
            f"request to {adapter.name!r} may cost ${price:.4f} (about {input_tokens} tokens in); it was not "
            "sent. Set a higher limits.cost_usd, a lower max_tokens, or use a cheaper model"
        )
    run.cost_under_way += price
    try:
        yield
    finally:
        run.cost_under_way -= price


def _price(adapter: Adapter, input_tokens: int, output_tokens: int | None) -> float | None:
    if not isinstance(adapter, PricedAdapter):
        return None
    return adapter.price_of(input_tokens, output_tokens or adapter.max_tokens or ASSUMED_OUTPUT)


def _warn_once(run: Run, adapter: Adapter, warn: Callable[[str], None]) -> None:
    words = f"the price of {adapter.name!r} is unknown: limits.cost_usd does not limit its requests"
    warned = run.outermost.warned
    if words not in warned and not adapter.demonstration:
        warned.add(words)
        warn(words)


class StepModel:
    """Model access of one attempt of a step.

    In an attempt that a crash interrupted, a repeated question gets the stored answer and no model is asked;
    the answer is streamed again as a whole (`again`) and costs no tokens.
    """

    def __init__(self, context: Context) -> None:
        run = context.run
        self.demonstration = run.adapter.demonstration
        self._run = run
        self._context = context
        self._step = context.step
        self._attempt = context.attempt
        self._memory = run.memory

    async def ask(
        self,
        prompt: Prompt,
        *,
        of: str,
        schema: type[BaseModel] | None = None,
        quiet: bool = False,
        adapter: str | None = None,
    ) -> Reply:
        """Ask the run's adapter, or another one.

        :param of: the step or item that gets the answer.
        :raises UnknownAdapter: no adapter has this name.
        :raises CostLimitReached: it could exceed `limits.cost_usd`; nothing was sent.
        :raises InvalidReply: the answer is empty.
        :raises AdapterError: the adapter failed.
        """
        asked = self._named(adapter)
        shape = schema.model_json_schema() if schema else None
        told = {name: value for name, value in asdict(prompt).items() if name != "origin"}
        digest = digest_of(told, shape, *([] if adapter is None else [adapter]))
        key = self._memory.numbered(self._step, f"{self._attempt}{REPLY}{digest}")
        kept = self._memory.recall(self._step, key)
        outgoing = self._run.outermost.outgoing
        if kept is not MISSING:
            outgoing.note_said(kept["text"])
            self._stream_again(of, [kept["text"]], quiet=quiet, structured=schema is not None)
            return _reply_of(kept, schema)
        prompt = outgoing.prompt(prompt)
        self._tell_of_hidden(of)
        prompt = replace(prompt, origin=Origin(self._step, self._run.outermost.id))
        limit = self._within_cost_limit(of, asked, estimated_tokens(prompt), prompt.max_tokens)
        with limit, report_retries(partial(self._notice_retry, of)):
            begun = time.monotonic()
            with self._stream(of, quiet=quiet, structured=schema is not None) as on_token:
                reply = await asked.ask(prompt, on_token=on_token, schema=schema)
            reply = replace(reply, text=mended(reply.text))
            self._count(asked, reply, begun, of)
        outgoing.note_said(reply.text, reply.parsed.model_dump(mode="json") if reply.parsed else None)
        if not reply.text.strip() and reply.parsed is None:
            raise InvalidReply.of_nothing(reply.model)
        late = self._step in self._run.settled
        memo = {**_json_of(reply), "late": late, "place": self._memory.place(self._step)}
        self._memory.note(self._step, key, memo, keep=False)
        return reply

    def can_use_tools(self, adapter: str | None = None) -> bool:
        """Tell whether a model can call tools."""
        asked = self._named(adapter)
        return isinstance(asked, TurnAdapter) and asked.tools

    async def find_tools(self, names: Sequence[str], adapter: str | None = None) -> list[OfferedTool]:
        """Return tools of MCP servers for a model, by name.

        :raises ConfigError: the adapter cannot use tools.
        :raises ToolError: a tool cannot be found.
        """
        asked = self._named(adapter)
        self._tool_adapter(asked, names)
        return await self._run.offering.find(self._context, names) if names else []

    async def take_turn(
        self,
        conversation: Conversation,
        tools: Sequence[OfferedTool],
        *,
        of: str,
        key: str,
        quiet: bool = False,
        adapter: str | None = None,
    ) -> ModelTurn:
        """Return the next turn of the run's adapter or another one; durable on return.

        :param of: the step or item that takes the turn and whose budget pays for it.
        :raises ConfigError: the adapter cannot use tools.
        :raises CostLimitReached: it could exceed `limits.cost_usd`; nothing was sent.
        :raises AdapterError: the adapter failed.
        """
        asked = self._named(adapter)
        answers = {tool.name for tool in tools if tool.is_answer}
        key = self._key_of_turn(of, key)
        outgoing = self._run.outermost.outgoing
        kept = self._memory.recall(self._step, key)
        if kept is not MISSING:
            turn = ModelTurn.of_json(kept["turn"])
            outgoing.note_turn(turn)
            self._stream_again(of, _said(turn, answers), quiet=quiet, structured=bool(answers))
            return turn
        taker = self._tool_adapter(asked, [tool.name for tool in tools])
        conversation, tools = outgoing.conversation(self._with_origin(conversation)), outgoing.tools(tools)
        self._tell_of_hidden(of)
        limit = self._within_cost_limit(of, asked, conversation_tokens(conversation, tools))
        with limit, report_retries(partial(self._notice_retry, of)):
            begun = time.monotonic()
            with (
                self._stream(of, quiet=quiet, structured=bool(answers)) as on_token,
                self._stream(of, EventName.REASONING, quiet=quiet) as on_reasoning,
            ):
                turn = await taker.take_turn(
                    conversation, tools, on_token=on_token, on_reasoning=on_reasoning
                )
            turn = replace(turn, text=mended(turn.text), reasoning=mended(turn.reasoning))
            self._count(asked, turn, begun, of)
            self._memory.ledger.spend(of, turn)
        outgoing.note_turn(turn)
        late = self._step in self._run.settled
        memo = {"turn": turn.as_json(), "usage": asdict(turn.usage), "late": late, "of": of}
        memo["place"] = self._memory.place(self._step)
        await self._memory.remember(self._step, key, memo, keep=False)
        return turn

    def _tell_of_hidden(self, of: str) -> None:
        """Report once in a run that secrets are hidden from the model."""
        run = self._run.outermost
        words = "values that seem to be secrets are not sent to the model; it sees a mark in their place"
        if run.outgoing.has_hidden and words not in run.warned:
            run.warned.add(words)
            self._emit(EventName.NOTICE, of, message=words, level="warn")

    def _with_origin(self, conversation: Conversation) -> Conversation:
        origin = replace(conversation.origin, run=self._run.outermost.id)
        return replace(conversation, origin=origin)

    def has_turn(self, of: str, key: str) -> bool:
        """Tell whether a turn was taken before a crash."""
        return self._memory.recall(self._step, self._key_of_turn(of, key)) is not MISSING

    def _key_of_turn(self, of: str, key: str) -> str:
        # items of a list share a model: the name distinguishes their turns
        return f"{self._attempt}{REPLY}{TURN}{of}:{key}"

    def _named(self, adapter: str | None) -> Adapter:
        asked = self._run.adapter if adapter is None else self._run.runner.adapters.get(adapter)
        # the result is only as reliable as the model that was asked
        self.demonstration = self.demonstration or asked.demonstration
        return asked

    def _tool_adapter(self, adapter: Adapter, tools: Sequence[str]) -> TurnAdapter:
        if isinstance(adapter, TurnAdapter) and adapter.tools:
            return adapter
        raise ConfigError(f"the adapter {adapter.name!r} cannot use tools ({', '.join(tools)} are wanted)")

    @contextmanager
    def _stream(
        self, of: str, event: EventName = EventName.TOKEN, *, quiet: bool, structured: bool = False
    ) -> Iterator[Callable[[str], None] | None]:
        """Yield a function that streams pieces of an answer, made readable if structured."""
        if quiet:
            yield None
            return
        joiner, readable = SurrogateJoiner(), ReadableJson() if structured else None

        def send(text: str) -> None:
            if text:
                self._emit(event, of, text=text)

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

    def _stream_again(self, of: str, parts: Sequence[str], *, quiet: bool, structured: bool = False) -> None:
        # the person who resumed the run has not seen it, and may be asked about it
        if structured:
            parts = [_read(part) for part in parts]
        text = "\n\n".join(parts)
        if text.strip() and not quiet:
            self._emit(EventName.TOKEN, of, text=f"{text.rstrip()}\n\n", again=True)

    def _notice_retry(self, of: str, words: str) -> None:
        self._emit(EventName.NOTICE, of, message=words, level="info")

    def _count(self, adapter: Adapter, answer: Reply | ModelTurn, begun: float, of: str) -> None:
        self._run.usage += answer.usage
        self._memory.spend(self._step, answer.usage)
        self._memory.note_asked(self._run.runner.adapters.destination(adapter.name))
        self._emit(
            EventName.MODEL_ANSWERED,
            of,
            model=answer.model,
            adapter=adapter.name,
            usage=usage_json(answer.usage),
            duration_ms=round((time.monotonic() - begun) * 1000),
        )
        warned = self._run.outermost.warned
        if answer.notice and answer.notice not in warned:
            warned.add(answer.notice)
            self._emit(EventName.NOTICE, of, message=answer.notice, level="warn")

    def _within_cost_limit(
        self, of: str, adapter: Adapter, input_tokens: int, output_tokens: int | None = None
    ) -> AbstractContextManager[None]:
        return within_cost_limit(
            self._run,
            self._run.runner.config.limits.cost_usd,
            adapter,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            warn=lambda words: self._emit(EventName.NOTICE, of, message=words, level="warn"),
        )

    def _emit(self, event: EventName, of: str, /, **data: Any) -> None:
        self._run.recorder.event(event, {"step": of, **data})


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
        "usage": asdict(reply.usage),
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
