"""Context of one attempt of a step: model, person, workspace and memory for its handler."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from tideate_core.adapters import Reply, ToolAdapter, Usage
from tideate_core.engine.confirmation import ConfirmationRequest
from tideate_core.engine.events import EventName
from tideate_core.engine.memory import MISSING, REPLY, digest_of
from tideate_core.engine.run import usage_json
from tideate_core.engine.state import StateManager, about
from tideate_core.errors import ConfigError, InvalidReply, UnknownAdapter
from tideate_core.util.escaping import label
from tideate_core.workflows import Decision, WorkflowDefinition, persons_time

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from pydantic import BaseModel

    from tideate_core.adapters import Adapter, OfferedTool, Prompt
    from tideate_core.config import Limits
    from tideate_core.engine.confirmation import FrontEnd
    from tideate_core.engine.memory import Memory
    from tideate_core.engine.recording import Recorder
    from tideate_core.engine.run import Execution
    from tideate_core.workflows import DecisionKind, PromptLibrary, StepContext, WorkflowStep
    from tideate_core.workspace import Executed, Workspace

    Offer = Callable[[StepContext, Adapter, Sequence[str]], Awaitable[list[OfferedTool]]]
    """Finds the tools that a step wants to offer to an adapter's model."""

__all__ = ["ItemContext", "StepRun", "SurrogateJoiner", "mended", "no_tools"]


def unknown_adapter(name: str) -> Adapter:
    """Know no adapter but the run's."""
    raise UnknownAdapter(f"there is no adapter {name!r} here, only the run's own")


async def no_tools(_step: StepContext, _adapter: Adapter, tools: Sequence[str]) -> list[OfferedTool]:
    """Know no MCP servers."""
    raise ConfigError(f"the tools {', '.join(tools)} are wanted, and there are no MCP servers here")


class StepRun:
    """The `StepContext` of one attempt of a step.

    What a model or a person answered is remembered with the run: in an attempt that a crash cut off, who is
    asked the same again is given the same answer, and nobody is asked. Such an answer streams nothing, tells
    no event and takes no tokens.
    """

    def __init__(
        self,
        execution: Execution,
        step: str,
        *,
        adapter: Adapter,
        front: FrontEnd,
        workspace: Workspace,
        prompts: PromptLibrary,
        limits: Limits,
        memory: Memory,
        recorder: Recorder,
        attempt: int = 1,
        definition: WorkflowStep | None = None,
        adapters: Callable[[str], Adapter] = unknown_adapter,
        offer: Offer = no_tools,
    ) -> None:
        request = execution.request
        self.execution_id = execution.id
        self.step = step
        self.prompt = request.prompt
        self.context = request.context
        self.options: Mapping[str, Any] = {**request.options, **request.inputs}
        self.inputs = execution.inputs
        self.results: Mapping[str, Any] = MappingProxyType(execution.results)
        self.attempt = attempt
        self.feedback = memory.feedback(step) if attempt > 1 else ""
        self.definition = definition
        self.files: list[str] = []
        """What this attempt changed."""
        self.demonstration = adapter.demonstration
        self.attempts = limits.attempts
        self.concurrency = limits.concurrency
        self.mention_tokens = limits.mention_tokens
        self.context_tokens = adapter.context_tokens
        self._execution = execution
        self._whole_workspace = workspace
        self._adapter = adapter
        self._adapters = adapters
        self._offer = offer
        self._front = front
        self._prompts = prompts
        self._memory = memory
        self._recorder = recorder

    @cached_property
    def workspace(self) -> Workspace:
        """The run's, in which what is written counts as the step's."""
        return self._whole_workspace.of_step(self.step)

    @property
    def usage(self) -> Usage:
        """What models took for this step, in all its attempts."""
        return self._memory.spent(self.step)

    def values(self) -> dict[str, Any]:
        definition = self._execution.definition
        own = definition.context if isinstance(definition, WorkflowDefinition) else {}
        context = {**about(self.context), **own}
        return StateManager(self.inputs, context, self._execution.settled, self.prompt).values()

    def recall(self, key: str) -> Any:
        return self._memory.recall(self.step, f"own:{key}")

    async def remember(self, key: str, value: Any) -> None:
        """Keep a value over a crash; what the step wrote is put back all the same before it goes on."""
        await self._memory.remember(self.step, f"own:{key}", value)

    async def choose_once(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        kept = self._memory.recall(self.step, f"choice:{key}")
        if kept is not MISSING and kept["digest"] == digest:
            return kept["value"]
        value = await produce()
        await self._memory.remember(self.step, f"choice:{key}", {"digest": digest, "value": value})
        return value

    async def choose_for_run(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        with persons_time():  # who waits for another step's question waits for a person, too
            return await self._memory.choose_for_run(key, digest, produce)

    async def ask(
        self,
        prompt: Prompt,
        *,
        schema: type[BaseModel] | None = None,
        quiet: bool = False,
        adapter: str | None = None,
        tools: Sequence[str] = (),
    ) -> Reply:
        """Ask the run's adapter, or another one.

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
        digest = digest_of(asdict(prompt), shape, *more)
        key = self._memory.numbered(self.step, f"{self.attempt}{REPLY}{digest}")
        kept = self._memory.recall(self.step, key)
        if kept is not MISSING:
            return _reply_of(kept, schema)
        offered = await self._offer(self, asked, tools) if tools else []
        reply = await self._ask(asked, prompt, schema, quiet, offered)
        if not reply.text.strip() and reply.parsed is None:
            raise InvalidReply(f"{reply.model} answered with nothing; try again or word it differently")
        late = self.step in self._execution.settled
        self._memory.note(self.step, key, {**_json_of(reply), "late": late}, keep=False)
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

        def on_token(piece: str) -> None:
            if text := joiner.feed(piece):
                self._emit(EventName.TOKEN, text=text)

        told = None if quiet else on_token
        if offered and isinstance(adapter, ToolAdapter):
            reply = await adapter.ask_with_tools(prompt, offered, on_token=told, schema=schema)
        else:
            reply = await adapter.ask(prompt, on_token=told, schema=schema)
        reply = replace(reply, text=mended(reply.text))
        self._execution.usage += reply.usage
        self._memory.spend(self.step, reply.usage)
        self._emit(EventName.MODEL_ANSWERED, model=reply.model, usage=usage_json(reply.usage))
        return reply

    def render(self, name: str, **values: Any) -> Prompt:
        return self._prompts.render(name, notice=self._warn_once, **values)

    async def confirm(
        self,
        kind: DecisionKind,
        message: str,
        *,
        details: str = "",
        payload: Any = None,
        executed: Sequence[Executed] = (),
    ) -> Decision:
        request = ConfirmationRequest(
            self.execution_id,
            self._execution.definition.name,
            self.step,
            kind,
            message,
            details,
            payload,
            self.demonstration,
            executed,
        )
        digest = digest_of(kind, message, details, _lasting(payload))
        key = self._memory.numbered(self.step, f"{self.attempt}.confirm:{digest}")
        kept = self._memory.recall(self.step, key)
        if kept is not MISSING:
            return Decision.of_json(kept)
        self._emit(EventName.CONFIRMATION_REQUIRED, kind=kind, message=message)
        with persons_time():
            decision = await self._front.confirm(request)
        # before anything depends on it
        await self._memory.remember(self.step, key, decision.as_json(), keep=False)
        self._emit(EventName.CONFIRMATION_ANSWERED, kind=kind, accepted=decision.accepted)
        return decision

    def notice(self, message: str, *, level: Literal["info", "warn"] = "info") -> None:
        self._emit(EventName.NOTICE, message=message, level=level)

    def gate(self, name: str, issues: list[str]) -> None:
        self._emit(EventName.GATE_FAILED if issues else EventName.GATE_PASSED, gate=name, issues=issues)

    def changed(self, paths: list[str], executed: Sequence[Executed] = ()) -> None:
        for files in (self._execution.files, self.files):
            files += [path for path in paths if path not in files]
        for one in executed:
            shape = one.as_json()
            self._execution.executed[one.path] = shape
            words = f"other tools run {label(one.path)}: {one.reason}"
            self._emit(EventName.NOTICE, message=words, level="warn", executed=shape)

    async def present(self, text: str, filetype: str) -> None:
        await self._front.present(text, filetype)

    def _warn_once(self, message: str) -> None:
        if message not in self._execution.warned:
            self._execution.warned.add(message)
            self.notice(message, level="warn")

    def _emit(self, event: EventName, /, **data: Any) -> None:
        self._recorder.event(event, {"step": self.step, **data})


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


def _lasting(payload: Any) -> Any:
    """Return what makes a review's question the same after a restart of the editor.

    A buffer has another number and changedtick then. Of a modified file its hunks are the question, of
    another one the digest of its text.
    """
    if not isinstance(payload, dict) or not isinstance(payload.get("files"), list):
        return payload
    return {**payload, "files": [_lasting_file(file) for file in payload["files"]]}


def _lasting_file(file: Any) -> Any:
    if not isinstance(file, dict):
        return file
    passing = {"buffer", "tick"} if "digest" in file else set()
    if file.get("action") == "modify":
        passing = {"buffer", "tick", "before", "digest"}
    return {key: value for key, value in file.items() if key not in passing}


class ItemContext:
    """The step's own context, but for what must be told apart: name, values, memory, questions.

    :param values: what templates see.
    :param feedback: why the item's last result was refused.
    """

    def __init__(
        self, step: StepContext, index: int, total: int, values: dict[str, Any], feedback: str = ""
    ) -> None:
        self.step = f"{step.step}[{index}]"
        self.feedback = feedback
        # an item that is done is not done again after a crash: what it wrote has to stay
        self.workspace = step.workspace.of_step(self.step)
        self._whole = step
        self._index = index
        self._total = total
        self._values = values

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    def values(self) -> dict[str, Any]:
        return dict(self._values)

    def recall(self, key: str) -> Any:
        return self._whole.recall(f"{self._index}:{key}")

    async def remember(self, key: str, value: Any) -> None:
        await self._whole.remember(f"{self._index}:{key}", value)

    async def choose_once(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        return await self._whole.choose_once(f"{self._index}:{key}", digest, produce)

    async def confirm(self, kind: DecisionKind, message: str, **rest: Any) -> Decision:
        # by its words a question is recognised after a crash: no item may take another's answer
        words = f"{message} (item {self._index + 1} of {self._total})"
        return await self._whole.confirm(kind, words, **rest)


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
