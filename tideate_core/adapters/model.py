"""Adapter of a pydantic-ai model: opens and closes it, sends typed questions and turns with tools."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tideate_core.adapters.base import Reply, Usage
from tideate_core.adapters.retry import Backoff, retrying
from tideate_core.adapters.sentences import WholeSentences
from tideate_core.adapters.turns import LONGEST, AnswerStream, request_turn
from tideate_core.edits import fenced_blocks
from tideate_core.errors import AuthenticationFailed, InvalidReply
from tideate_core.util.uncancelled import run_cancelled_once

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence

    from pydantic import BaseModel
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import AgentStreamEvent, ModelMessage
    from pydantic_ai.output import OutputSpec
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.settings import ModelSettings

    from tideate_core.adapters.base import OfferedTool, OnText, Prompt, Schema
    from tideate_core.adapters.conversation import Conversation, ModelTurn
    from tideate_core.adapters.prices import ModelReference
    from tideate_core.adapters.sources import ModelSource, OpenModel
    from tideate_core.adapters.translate import Origin

_T = TypeVar("_T")

_LONGEST_TYPED: Final = 128 << 10
"""Most characters of a typed answer with its thoughts and tool calls."""


class ModelHandle:
    """Open model that is closed only after its last request."""

    def __init__(self, opened: OpenModel) -> None:
        self.opened = opened
        self._users = 0
        self._retired = False
        self._closed = False

    @asynccontextmanager
    async def in_use(self) -> AsyncIterator[OpenModel]:
        self._users += 1
        try:
            with self.opened.in_use():
                yield self.opened
        finally:
            self._users -= 1
            if self._retired and not self._users:
                await self.close()

    async def retire(self) -> None:
        """Close the model after its last request."""
        self._retired = True
        if not self._users:
            await self.close()

    async def close(self) -> None:
        """Close the model now; its requests fail."""
        if not self._closed:
            self._closed = True
            await self.opened.close()


class ModelAdapter:
    """Adapter of one model; its library is loaded with the first prompt.

    :param attempts: most attempts at a valid typed answer.
    :param tools: whether the model can call tools.
    :param at_once: most concurrent requests, others wait; None for no limit.
    :param context_tokens: context window; None to look it up by `reference`.
    :param settings: settings of every request; a prompt's own limit of tokens counts first.
    :param reference: the model in lists of windows and prices; None if no list has it.
    """

    def __init__(
        self,
        name: str,
        source: ModelSource,
        *,
        attempts: int = 3,
        at_once: int | None = None,
        context_tokens: int | None = None,
        demonstration: bool = False,
        tools: bool = True,
        settings: ModelSettings | None = None,
        reference: ModelReference | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        self.name = name
        self.demonstration = demonstration
        self.tools = tools
        self._context_tokens = context_tokens
        self._source = source
        self._attempts = attempts
        # the libraries' own retries would hide a Retry-After from the user
        self._settings: ModelSettings = {"max_retries": 0, "cache": True, **(settings or {})}
        self._reference = reference
        self._backoff = backoff or Backoff()
        self._handle: ModelHandle | None = None
        self._opening = asyncio.Lock()
        self._places = asyncio.Semaphore(at_once) if at_once is not None else nullcontext()

    @property
    def context_tokens(self) -> int | None:
        if self._context_tokens is None and self._reference is not None:
            return self._reference.context_tokens()
        return self._context_tokens

    @property
    def max_tokens(self) -> int | None:
        return self._settings.get("max_tokens")

    def price_of(self, input_tokens: int, output_tokens: int) -> float | None:
        return self._reference.price_of(input_tokens, output_tokens) if self._reference else None

    async def ask(self, prompt: Prompt, *, on_token: OnText = None, schema: Schema = None) -> Reply:
        longest = _LONGEST_TYPED if schema else LONGEST
        limit = prompt.max_tokens or self.max_tokens
        cut = self.demonstration and schema is None and limit is not None
        sentences = WholeSentences(on_token, limit or 0) if cut else None
        shown = sentences.take if sentences else on_token
        stream = AnswerStream(shown, answers=None, longest=longest, attempts=self._attempts)
        reply = await self._retrying(lambda: self._ask_once(prompt, stream, schema), lambda: stream.shown)
        if sentences is None:
            return reply
        return replace(reply, text=sentences.end(reply.text, truncated=reply.truncated))

    async def take_turn(
        self,
        conversation: Conversation,
        tools: Sequence[OfferedTool],
        *,
        on_token: OnText = None,
        on_reasoning: OnText = None,
    ) -> ModelTurn:
        answers = {tool.name for tool in tools if tool.is_answer}
        stream = AnswerStream(on_token, on_reasoning, answers=answers)

        async def once(opened: OpenModel) -> ModelTurn:
            settings = self._settings_of(opened)
            turn = await request_turn(opened.model, conversation, tools, settings, stream, opened.origin)
            return replace(turn, usage=self._priced(turn.usage))

        return await self._retrying(lambda: self._with_model(once, stream), lambda: stream.characters > 0)

    async def _retrying(self, attempt: Callable[[], Awaitable[_T]], came: Callable[[], bool]) -> _T:
        """Retry an attempt until a part of an answer came, which would be repeated."""
        return await retrying(
            attempt,
            # a model that could not be opened (no library, no process) will not appear by itself
            may_retry=lambda: self._handle is not None and not came(),
            backoff=self._backoff,
        )

    async def check(self) -> str:
        from tideate_core.adapters.translate import translated

        async with (await self._open()).in_use() as opened:
            with translated(opened.origin):
                return await self._source.check(opened)

    async def check_key(self) -> None:
        if self._source.needs_key:
            opened = await self._source.open()
            await opened.close()

    async def aclose(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            await handle.close()

    async def _open(self) -> ModelHandle:
        from tideate_core.adapters.libraries import load_libraries

        async with self._opening:
            if self._handle is not None and not self._handle.opened.alive():
                await self._retire(self._handle)
            if self._handle is None:
                await load_libraries()
                opened = await self._source.open()
                from tideate_core.adapters.clean_model import CleanModel

                self._handle = ModelHandle(replace(opened, model=CleanModel(opened.model)))
            return self._handle

    async def _retire(self, handle: ModelHandle) -> None:
        """Retire an open model: the next request opens a new one, running requests keep theirs."""
        if self._handle is handle:
            self._handle = None
        await handle.retire()

    async def _ask_once(self, prompt: Prompt, stream: AnswerStream, schema: Schema) -> Reply:
        async def once(opened: OpenModel) -> Reply:
            try:
                result = await self._run_agent(opened, prompt, stream, schema)
            except Exception as error:
                if not schema or opened.typed != "native" or not _refuses_schemas(error):
                    raise
                opened = replace(opened, typed="prompted")
                if self._handle is not None:
                    self._handle.opened = opened
                result = await self._run_agent(opened, prompt, stream, schema)
            reply = _reply(result, schema, opened.origin)
            return replace(reply, usage=self._priced(reply.usage))

        return await self._with_model(once, stream)

    async def _with_model(self, once: Callable[[OpenModel], Awaitable[_T]], stream: AnswerStream) -> _T:
        """Run a request with the open model, and translate the library's errors."""
        from tideate_core.adapters.translate import translated

        async with self._places:
            handle = await self._open()
            async with handle.in_use() as opened:
                try:
                    with translated(opened.origin, lambda: stream.characters):
                        return await once(opened)
                except AuthenticationFailed:
                    await self._retire(handle)  # the key may have expired: run the key command again
                    raise

    async def _run_agent(
        self, opened: OpenModel, prompt: Prompt, stream: AnswerStream, schema: Schema
    ) -> AgentRunResult[Any]:
        from pydantic_ai import Agent

        stream.restart()

        async def follow(_: object, events: AsyncIterable[AgentStreamEvent]) -> None:
            async for event in events:
                stream.take(event)

        agent = Agent(
            opened.model,
            output_type=_output_type(schema, opened.typed),
            retries={"output": self._attempts - 1},
            capabilities=[] if schema is None else [_answer_finder(schema)],
        )
        # a second cancellation would make the library leave the connection open
        return await run_cancelled_once(
            agent.run(
                prompt.user,
                instructions=prompt.system or None,
                message_history=_history(prompt),
                model_settings=self._settings_of(opened, prompt.max_tokens),
                event_stream_handler=follow,
                infer_name=False,
            )
        )

    def _priced(self, usage: Usage) -> Usage:
        """Return the usage with its cost; a provider may report a model name that no list has."""
        if usage.cost is not None or self._reference is None:
            return usage
        cost = self._reference.price_of(usage.input_tokens, usage.output_tokens, usage.cached_tokens)
        return replace(usage, cost=cost)

    def _settings_of(self, opened: OpenModel, max_tokens: int | None = None) -> ModelSettings:
        settings: ModelSettings = {**self._settings, "timeout": opened.timeout}
        if max_tokens:
            settings["max_tokens"] = max_tokens
        return settings


def _output_type(schema: Schema, typed: str) -> OutputSpec[Any]:
    if schema is None:
        return str
    from pydantic_ai import NativeOutput, PromptedOutput

    if typed == "auto":
        return schema
    return NativeOutput(schema) if typed == "native" else PromptedOutput(schema)


def _answer_finder(schema: type[BaseModel]) -> AbstractCapability[None]:
    """Return a hook that finds a typed answer in text: its last code block, or the whole text."""
    from pydantic import ValidationError
    from pydantic_ai.capabilities import Hooks

    def fits(text: str) -> bool:
        try:
            schema.model_validate_json(text)
        except ValidationError:
            return False
        return True

    async def find(_: object, *, output_context: object, output: Any) -> Any:
        del output_context
        if not isinstance(output, str) or fits(output):
            return output
        blocks = ["\n".join(block.lines) for block in fenced_blocks(output.split("\n")) if block.closed]
        return next(filter(fits, [*blocks[:-2:-1], json.dumps(output.strip())]), output)

    return Hooks(before_output_validate=find)


def _refuses_schemas(error: Exception) -> bool:
    """Tell whether a server rejected typed answers, as older ones do."""
    from pydantic_ai.exceptions import ModelRequestRejectedError

    said = str(error)
    return isinstance(error, ModelRequestRejectedError) and (
        "response_format" in said or "json_schema" in said
    )


def _history(prompt: Prompt) -> list[ModelMessage]:
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart

    messages: list[ModelMessage] = []
    for turn in prompt.history:
        messages.append(ModelRequest.user_text_prompt(turn.user))
        messages.append(ModelResponse(parts=[TextPart(turn.assistant)]))
    return messages


def _reply(result: AgentRunResult[Any], schema: Schema, origin: Origin) -> Reply:
    response = result.response
    used = result.usage
    cost = None if used.cost is None else float(used.cost)
    text = response.text or ("" if schema is None else result.output.model_dump_json())
    if not text.strip():
        raise InvalidReply(f"adapter {origin.name!r} ({origin.address}) gave an empty answer")
    return Reply(
        text=text,
        model=origin.cut(response.model_name or ""),
        parsed=result.output if schema is not None else None,
        usage=Usage(used.input_tokens, used.output_tokens, cost, used.cache_read_tokens),
        truncated=response.finish_reason == "length",
    )
