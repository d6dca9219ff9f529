"""Model access of one step: prompts, answers streamed and remembered over a crash, usage."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from tideate_core.adapters import Reply, ToolAdapter, Usage
from tideate_core.engine.events import EventName
from tideate_core.engine.memory import MISSING, REPLY, digest_of
from tideate_core.engine.run import usage_json
from tideate_core.errors import ConfigError, InvalidReply, UnknownAdapter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from pydantic import BaseModel

    from tideate_core.adapters import Adapter, OfferedTool, Prompt
    from tideate_core.engine.memory import Memory
    from tideate_core.engine.recording import Recorder
    from tideate_core.engine.run import Execution

    FindTools = Callable[[Adapter, Sequence[str]], Awaitable[list[OfferedTool]]]
    """Finds the tools that a step wants to offer to an adapter's model, by their names."""

__all__ = ["StepModel", "SurrogateJoiner", "mended", "no_tools", "unknown_adapter"]


def unknown_adapter(name: str) -> Adapter:
    """Know no adapter but the run's."""
    raise UnknownAdapter(f"there is no adapter {name!r} here, only the run's own")


async def no_tools(_step: Any, _adapter: Adapter, tools: Sequence[str]) -> list[OfferedTool]:
    """Know no MCP servers."""
    raise ConfigError(f"the tools {', '.join(tools)} are wanted, and there are no MCP servers here")


class StepModel:
    """Asks the run's adapter for one attempt of a step.

    In an attempt that a crash cut off, the same question is given the same answer, and nobody is asked: such
    an answer streams nothing, tells no event and takes no tokens.
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

    async def ask(
        self,
        prompt: Prompt,
        *,
        schema: type[BaseModel] | None = None,
        quiet: bool = False,
        adapter: str | None = None,
        tools: Sequence[str] = (),
        agents: Sequence[OfferedTool] = (),
    ) -> Reply:
        """Ask the run's adapter, or another one.

        :param tools: of MCP servers, by their names.
        :param agents: others that may be given a task.
        :raises ConfigError: the adapter cannot use tools, and some are wanted.
        :raises ToolError: a tool that is offered cannot be found.
        :raises UnknownAdapter: there is none of this name.
        :raises InvalidReply: the answer is empty.
        :raises AdapterError: the adapter failed.
        """
        asked = self._adapter if adapter is None else self._adapters(adapter)
        # what comes of it is no more to be relied on than who was asked
        self.demonstration = self.demonstration or asked.demonstration
        shape = schema.model_json_schema() if schema else None
        more = [*([] if adapter is None else [adapter]), *([list(tools)] if tools else [])]
        more += [["agent", *(one.name for one in agents)]] if agents else []
        digest = digest_of(asdict(prompt), shape, *more)
        key = self._memory.numbered(self._step, f"{self._attempt}{REPLY}{digest}")
        kept = self._memory.recall(self._step, key)
        if kept is not MISSING:
            return _reply_of(kept, schema)
        if agents and not isinstance(asked, ToolAdapter):
            names = ", ".join(one.name for one in agents)
            raise ConfigError(f"the adapter {asked.name!r} cannot use tools ({names} are wanted)")
        offered = [*(await self._find_tools(asked, tools) if tools else ()), *agents]
        reply = await self._ask(asked, prompt, schema, quiet, offered)
        if not reply.text.strip() and reply.parsed is None:
            raise InvalidReply(f"{reply.model} answered with nothing; try again or word it differently")
        late = self._step in self._execution.settled
        self._memory.note(self._step, key, {**_json_of(reply), "late": late}, keep=False)
        return reply

    async def _ask(
        self,
        adapter: Adapter,
        prompt: Prompt,
        schema: type[BaseModel] | None,
        quiet: bool,
        offered: Sequence[OfferedTool],
    ) -> Reply:
        joiner = SurrogateJoiner()

        def stream(piece: str) -> None:
            if text := joiner.feed(piece):
                self._emit(EventName.TOKEN, text=text)

        on_token = None if quiet else stream
        if offered and isinstance(adapter, ToolAdapter):
            reply = await adapter.ask_with_tools(prompt, offered, on_token=on_token, schema=schema)
        else:
            reply = await adapter.ask(prompt, on_token=on_token, schema=schema)
        reply = replace(reply, text=mended(reply.text))
        self._execution.usage += reply.usage
        self._memory.spend(self._step, reply.usage)
        self._emit(EventName.MODEL_ANSWERED, model=reply.model, usage=usage_json(reply.usage))
        return reply

    def _emit(self, event: EventName, /, **data: Any) -> None:
        self._recorder.event(event, {"step": self._step, **data})


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


def mended(text: str) -> str:
    """Return the text as valid Unicode.

    JSON may bring an emoji as two escapes, and a provider may cut between them.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class SurrogateJoiner:
    """Mends a stream: half a pair at the end of a piece waits for its other half."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown of this piece; may be empty."""
        text = self._half + piece
        self._half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return mended(text)
