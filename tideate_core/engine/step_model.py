"""Model access of one step: prompts, answers streamed and remembered over a crash, usage."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from tideate_core.adapters import ModelTurn, NewPart, Origin, Reply, TurnAdapter, Usage, report_retries
from tideate_core.engine.cost_limit import conversation_tokens, estimated_tokens, within_cost_limit
from tideate_core.engine.events import EventName
from tideate_core.engine.memory import MISSING, REPLY, digest_of
from tideate_core.engine.result import usage_json
from tideate_core.engine.spending import TURN
from tideate_core.errors import ConfigError, InvalidReply, UnknownAdapter
from tideate_core.util.half_characters import SurrogateJoiner, mended
from tideate_core.util.readable_json import ReadableJson

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from pydantic import BaseModel

    from tideate_core.adapters import Adapter, Conversation, OfferedTool, Prompt
    from tideate_core.engine.memory import Memory
    from tideate_core.engine.recording import Recorder
    from tideate_core.engine.run import Execution
    from tideate_core.workflows import StepContext

    FindTools = Callable[[Adapter, Sequence[str]], Awaitable[list[OfferedTool]]]
    """Finds the tools that a step wants to offer to an adapter's model, by their names."""

__all__ = ["OfferTools", "StepModel", "no_tools", "unknown_adapter"]


def unknown_adapter(name: str) -> Adapter:
    """Know no adapter but the run's."""
    raise UnknownAdapter(f"there is no adapter {name!r} here, only the run's own")


class OfferTools(Protocol):
    """Finds the tools of MCP servers that a step wants to offer to an adapter's model."""

    @property
    def servers(self) -> Collection[str]:
        """Names of the servers."""
        ...

    async def __call__(
        self, step: StepContext, adapter: Adapter, names: Sequence[str]
    ) -> list[OfferedTool]: ...


class _NoTools:
    """Knows no MCP servers."""

    servers = ()

    async def __call__(self, step: StepContext, adapter: Adapter, names: Sequence[str]) -> list[OfferedTool]:
        raise ConfigError(f"the tools {', '.join(names)} are wanted, and there are no MCP servers here")


no_tools: Final[OfferTools] = _NoTools()


class StepModel:
    """Asks the run's adapter for one attempt of a step.

    In an attempt that a crash cut off, the same question is given the same answer, and nobody is asked: such
    an answer is streamed once more, whole and with `again`, and takes no tokens.
    """

    def __init__(
        self,
        execution: Execution,
        step: str,
        attempt: int,
        *,
        adapter: Adapter,
        adapters: Callable[[str], Adapter],
        find_tools: FindTools,
        memory: Memory,
        recorder: Recorder,
        cost_limit: float | None = None,
        destination: Callable[[str], str] = str,
    ) -> None:
        self.demonstration = adapter.demonstration
        self._execution = execution
        self._step = step
        self._attempt = attempt
        self._adapter = adapter
        self._adapters = adapters
        self._find_tools = find_tools
        self._memory = memory
        self._recorder = recorder
        self._cost_limit = cost_limit
        self._destination = destination

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

        :param of: the step, or the item of it, whose answer it is.

        :raises UnknownAdapter: there is none of this name.
        :raises CostLimitReached: it could pass `limits.cost_usd`; nothing was sent.
        :raises InvalidReply: the answer is empty.
        :raises AdapterError: the adapter failed.
        """
        asked = self._named(adapter)
        shape = schema.model_json_schema() if schema else None
        told = {name: value for name, value in asdict(prompt).items() if name != "origin"}
        digest = digest_of(told, shape, *([] if adapter is None else [adapter]))
        key = self._memory.numbered(self._step, f"{self._attempt}{REPLY}{digest}")
        kept = self._memory.recall(self._step, key)
        outgoing = self._execution.outermost.outgoing
        if kept is not MISSING:
            outgoing.note_said(kept["text"])
            self._stream_again(of, [kept["text"]], quiet=quiet, structured=schema is not None)
            return _reply_of(kept, schema)
        prompt = outgoing.prompt(prompt)
        self._tell_of_hidden(of)
        prompt = replace(prompt, origin=Origin(self._step, self._execution.outermost.id))
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
        late = self._step in self._execution.settled
        memo = {**_json_of(reply), "late": late, "place": self._memory.place(self._step)}
        self._memory.note(self._step, key, memo, keep=False)
        return reply

    def can_use_tools(self, adapter: str | None = None) -> bool:
        """Tell whether a model can call tools."""
        asked = self._named(adapter)
        return isinstance(asked, TurnAdapter) and asked.tools

    async def find_tools(self, names: Sequence[str], adapter: str | None = None) -> list[OfferedTool]:
        """Return tools of MCP servers for a model, by their names.

        :raises ConfigError: the adapter cannot use tools.
        :raises ToolError: one cannot be found.
        """
        asked = self._named(adapter)
        self._tool_adapter(asked, names)
        return await self._find_tools(asked, names) if names else []

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
        """Return the next turn of the run's adapter, or another one. It is durable when this returns.

        :param of: the step, or the item of it, whose turn it is, and whose budget it is of.

        :raises ConfigError: the adapter cannot use tools.
        :raises CostLimitReached: it could pass `limits.cost_usd`; nothing was sent.
        :raises AdapterError: the adapter failed.
        """
        asked = self._named(adapter)
        answers = {tool.name for tool in tools if tool.is_answer}
        key = self._key_of_turn(of, key)
        outgoing = self._execution.outermost.outgoing
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
        late = self._step in self._execution.settled
        memo = {"turn": turn.as_json(), "usage": asdict(turn.usage), "late": late, "of": of}
        memo["place"] = self._memory.place(self._step)
        await self._memory.remember(self._step, key, memo, keep=False)
        return turn

    def _tell_of_hidden(self, of: str) -> None:
        """Say once in a run that the model is not sent all."""
        run = self._execution.outermost
        words = "values that seem to be secrets are not sent to the model; it sees a mark in their place"
        if run.outgoing.has_hidden and words not in run.warned:
            run.warned.add(words)
            self._emit(EventName.NOTICE, of, message=words, level="warn")

    def _with_origin(self, conversation: Conversation) -> Conversation:
        origin = replace(conversation.origin, run=self._execution.outermost.id)
        return replace(conversation, origin=origin)

    def has_turn(self, of: str, key: str) -> bool:
        """Tell whether a turn was taken before a crash."""
        return self._memory.recall(self._step, self._key_of_turn(of, key)) is not MISSING

    def _key_of_turn(self, of: str, key: str) -> str:
        # items of a loop share a model: the step's name tells their turns apart
        return f"{self._attempt}{REPLY}{TURN}{of}:{key}"

    def _named(self, adapter: str | None) -> Adapter:
        asked = self._adapter if adapter is None else self._adapters(adapter)
        # what comes of it is no more to be relied on than who was asked
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
        """Give what sends pieces of an answer; of a structured one what a person reads of it."""
        if quiet:
            yield None
            return
        joiner, readable = SurrogateJoiner(), ReadableJson() if structured else None

        def send(text: str) -> None:
            if text:
                self._emit(event, of, text=text)

        def stream(piece: str) -> None:
            nonlocal readable
            if readable is not None and isinstance(piece, NewPart):  # it was cut, or is raw by now
                send(mended(readable.end()))
                readable = ReadableJson()
            text = joiner.feed(piece)
            send(text if readable is None else mended(readable.feed(text)))

        try:
            yield stream
        finally:
            send("" if readable is None else mended(readable.end()))

    def _stream_again(self, of: str, parts: Sequence[str], *, quiet: bool, structured: bool = False) -> None:
        # whoever resumed the run has not seen it, and may be asked about it
        if structured:
            parts = [_read(part) for part in parts]
        text = "\n\n".join(parts)
        if text.strip() and not quiet:
            self._emit(EventName.TOKEN, of, text=f"{text.rstrip()}\n\n", again=True)

    def _notice_retry(self, of: str, words: str) -> None:
        self._emit(EventName.NOTICE, of, message=words, level="info")

    def _count(self, adapter: Adapter, answer: Reply | ModelTurn, begun: float, of: str) -> None:
        self._execution.usage += answer.usage
        self._memory.spend(self._step, answer.usage)
        self._memory.note_asked(self._destination(adapter.name))
        self._emit(
            EventName.MODEL_ANSWERED,
            of,
            model=answer.model,
            adapter=adapter.name,
            usage=usage_json(answer.usage),
            duration_ms=round((time.monotonic() - begun) * 1000),
        )
        warned = self._execution.outermost.warned
        if answer.notice and answer.notice not in warned:
            warned.add(answer.notice)
            self._emit(EventName.NOTICE, of, message=answer.notice, level="warn")

    def _within_cost_limit(
        self, of: str, adapter: Adapter, input_tokens: int, output_tokens: int | None = None
    ) -> AbstractContextManager[None]:
        return within_cost_limit(
            self._execution,
            self._cost_limit,
            adapter,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            warn=lambda words: self._emit(EventName.NOTICE, of, message=words, level="warn"),
        )

    def _emit(self, event: EventName, of: str, /, **data: Any) -> None:
        self._recorder.event(event, {"step": of, **data})


def _read(part: str) -> str:
    readable = ReadableJson()
    return mended(readable.feed(part) + readable.end())


def _said(turn: ModelTurn, answers: Collection[str]) -> list[str]:
    """Return the text of a turn, and what it handed in, as they streamed."""
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
