"""`StepContext` of a handler: delegates to model, memory and person; values of a run for templates."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from tideate_core.engine.context.memory import CONTEXT, CONVERSATION, NEXT_RUN, OWN, RUN
from tideate_core.engine.events import ConfirmationRequest, EventName
from tideate_core.engine.tool_call_events import report_call
from tideate_core.errors import InvalidDefinition, InvalidInput, PersonNeeded, did_you_mean
from tideate_core.util.deadline import Deadline
from tideate_core.workflows import MISSING, NextRun, persons_time

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence
    from contextlib import AbstractContextManager

    from pydantic import BaseModel

    from tideate_core.adapters import (
        AcpAgent,
        Adapter,
        AgentUpdate,
        Conversation,
        ModelTurn,
        OfferedTool,
        Prompt,
        Reply,
        Usage,
    )
    from tideate_core.engine.context.model import Outgoing, StepModel
    from tideate_core.engine.driver import Settled
    from tideate_core.engine.run import Run
    from tideate_core.workflows import (
        Allowance,
        CallReport,
        CheckAccepted,
        Decision,
        DecisionKind,
        EarlierRun,
        RunContext,
        WorkflowStep,
    )
    from tideate_core.workspace import ExecutableFile, FileChange, Hunk, Workspace


_ONE_EXPRESSION: Final = re.compile(r"\{\{(?P<expression>(?:(?!\{\{|\}\}|\{%).)+)\}\}", re.DOTALL)


class _Steps(Mapping[str, dict[str, Any]]):
    """View of the ended steps, each as `result`, `error` and `status`, without copying."""

    def __init__(self, settled: Mapping[str, Settled]) -> None:
        self._settled = settled

    def __getitem__(self, step: str) -> dict[str, Any]:
        ended = self._settled[step]
        return {"result": ended.value, "error": ended.error, "status": ended.status}

    def __iter__(self) -> Iterator[str]:
        return iter(self._settled)

    def __len__(self) -> int:
        return len(self._settled)


class StateManager:
    """Values of a run that templates can use: inputs, context, and the results of its steps.

    :param inputs: the declared and checked inputs.
    :param context: the workflow's own values.
    :param settled: ends of the steps; later additions are visible, too.
    """

    def __init__(
        self,
        inputs: Mapping[str, Any],
        context: Mapping[str, Any],
        settled: Mapping[str, Settled],
        prompt: str = "",
    ) -> None:
        self._inputs = inputs
        self._context = dict(context)
        self._steps = _Steps(settled)
        self._prompt = prompt

    def values(self) -> dict[str, Any]:
        """Return the values that templates can use."""
        return {
            "inputs": self._inputs,
            "context": self._context,
            "steps": self._steps,
            "prompt": self._prompt,
        }

    def get_context(self) -> dict[str, Any]:
        """Return a copy of the workflow's current values."""
        return dict(self._context)

    def restore_context(self, values: Mapping[str, Any]) -> None:
        """Restore values that an earlier process had set."""
        self._context |= values

    def get(self, path: str, default: Any = None) -> Any:
        """Return a value.

        :param path: its name in templates: `inputs.NAME`, `context.NAME`, `steps.ID.result`.
        """
        value: Any = self.values()
        for name in path.split("."):
            value = value.get(name, MISSING) if isinstance(value, Mapping) else MISSING
            if value is MISSING:
                return default
        return value

    def set(self, name: str, value: Any) -> None:
        """Set a value of the context.

        :raises InvalidInput: the workflow's `context` does not declare the name.
        """
        if name not in self._context:
            near = did_you_mean(name, self._context)
            raise InvalidInput(f"the workflow's context has no {name!r}{near}; declare it with a first value")
        self._context[name] = value

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of everything, as JSON."""
        values = {**self.values(), "inputs": dict(self._inputs), "steps": dict(self._steps)}
        return dict(json.loads(json.dumps(values)))


def about(context: RunContext) -> dict[str, Any]:
    """Return the values of a run's buffer for templates; empty without a buffer.

    `text` is the whole text, `selection` the selected lines.
    """
    buffer, chosen = context.buffer, context.selection
    if buffer is None:
        return {}
    shape = {"path": buffer.path, "filetype": buffer.filetype, "text": buffer.text, "selection": ""}
    if chosen is not None:
        shape["selection"] = "\n".join(buffer.text.split("\n")[chosen.start - 1 : chosen.end])
    return shape


def render_value(value: Any, values: Mapping[str, Any]) -> Any:
    """Render all texts of a JSON value as templates.

    A text that is a single `{{ expression }}` becomes the expression's value, so that numbers and lists keep
    their types.

    :param values: the values that templates can use.
    :raises InvalidDefinition: a template is invalid, or takes too much time or memory.
    """
    # imported here: templates are slow to load and rarely needed
    from tideate_core.workflows import LIMITS

    return _rendered(value, values, Deadline(LIMITS.filling_all_seconds))


def _rendered(value: Any, values: Mapping[str, Any], deadline: Deadline) -> Any:
    if isinstance(value, str):
        from tideate_core.workflows import LIMITS, evaluate, render_task

        if deadline.is_over:
            raise InvalidDefinition(
                f"filling in all templates takes more than {LIMITS.filling_all_seconds:.0f} s; use fewer"
            )
        one = _ONE_EXPRESSION.fullmatch(value.strip())
        return evaluate(one["expression"].strip("-"), values) if one else render_task(value, values)
    if isinstance(value, Mapping):
        return {key: _rendered(item, values, deadline) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rendered(item, values, deadline) for item in value]
    return value


class Context:
    """`StepContext` of one attempt of a step: its facts, and access to models, person and memory."""

    def __init__(self, run: Run, step: str, attempt: int = 1, definition: WorkflowStep | None = None) -> None:
        request, config = run.request, run.runner.config
        self.run = run
        self.execution_id = run.id
        self.step = step
        self.whole_step = step
        """The step; for an item of a list, the step with the list."""
        self.prompt = request.prompt
        self.context = request.context
        self.options: Mapping[str, Any] = {**request.options, **request.inputs}
        self.inputs = run.inputs
        self.results: Mapping[str, Any] = MappingProxyType(run.results)
        self.attempt = attempt
        self.feedback = run.memory.feedback(step) if attempt > 1 else ""
        self.definition = definition
        self.editor = run.front.editor
        self.files: list[str] = []
        """Files and buffers that the step changed, in all its attempts."""
        self.attempts = config.limits.attempts
        self.revisions = config.limits.revisions
        self.concurrency = config.limits.concurrency
        self.mention_tokens = config.limits.mention_tokens
        self.context_tokens = run.adapter.context_tokens
        self.rules_files: Sequence[str] | None = config.rules_files if config.rules else None
        self.memory_of = run.memory_of
        self.refuses_executed = config.land.executed == "refuse"
        self._key_prefix = ""
        """Distinguishes the memory of an item from others of the step."""
        self._measure: Adapter | None = None
        self._origin: Context | None = None
        """The attempt's context, for contexts of its items and for views of it."""
        self._abandoned = False
        self._demonstration = run.adapter.demonstration

    @property
    def _attempt(self) -> Context:
        return self._origin or self

    def abandon(self) -> None:
        """Refuse further writes: the handler was stopped but keeps running, and nothing waits for it."""
        self._abandoned = True
        words = f"{self.step} is still running though it was stopped; what it writes now is refused"
        self.notice(words, level="warn")

    @property
    def is_left(self) -> bool:
        return self.run.outermost.left

    def is_abandoned(self) -> bool:
        """Tell whether nothing waits for the handler any more."""
        return self._attempt._abandoned

    # made on demand: most steps ask no model and write nothing
    @cached_property
    def model(self) -> StepModel:
        """Access to models."""
        from tideate_core.engine.context.model import StepModel

        return StepModel(self)

    @cached_property
    def workspace(self) -> Workspace:
        """The run's workspace; writes through it are attributed to the step."""
        return self.run.workspace.of_step(self.step, self.is_abandoned)

    def writing_as(self, memo: str) -> Self:
        view = copy(self)
        view._origin = self._attempt
        part = f"{self.whole_step}[{self._own_key(memo)}]"
        view.__dict__["workspace"] = self.run.workspace.of_step(part, self.is_abandoned)
        return view

    def measured_by(self, adapter: str | None) -> Self:
        if adapter is None:
            return self
        view = copy(self)
        view.__dict__.pop("model", None)
        view._origin = self._attempt
        view._measure = self.run.runner.adapters.get(adapter)
        view.context_tokens = view._measure.context_tokens
        if self.run.runner.adapters.destination(adapter) != self.memory_of:
            view.memory_of = None
        return view

    @property
    def demonstration(self) -> bool:
        return self.is_unreliable if self._measure is None else self._measure.demonstration

    @demonstration.setter
    def demonstration(self, demonstration: bool) -> None:
        self._attempt._demonstration = demonstration

    @property
    def is_unreliable(self) -> bool:
        """A demonstration model took part in the attempt."""
        return self._attempt._demonstration

    @property
    def usage(self) -> Usage:
        """Usage of models for this step, in all attempts."""
        return self.run.memory.spent(self.step)

    def values(self) -> dict[str, Any]:
        return self.run.state.values()

    async def set_context(self, name: str, value: Any) -> None:
        self.run.state.set(name, value)
        await self.run.memory.remember(RUN, f"{CONTEXT}{name}", value)

    # -- models -----------------------------------------------------------------------------------------

    async def ask(
        self,
        prompt: Prompt,
        *,
        schema: type[BaseModel] | None = None,
        quiet: bool = False,
        adapter: str | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Reply:
        return await self.model.ask(prompt, schema=schema, quiet=quiet, adapter=adapter, on_text=on_text)

    @property
    def tool_servers(self) -> Collection[str]:
        tools = self.run.runner.tools
        return tools.names if tools is not None else ()

    def agent(self, adapter: str | None = None) -> AcpAgent | None:
        return self.run.runner.adapters.agent(adapter or self.run.adapter.name)

    @contextmanager
    def show_agent(self, agent: str, *, quiet: bool = False) -> Iterator[Callable[[AgentUpdate], None]]:
        from tideate_core.engine.context.agent_events import agent_events

        with agent_events(self, agent, quiet=quiet) as events:
            yield events.show

    def count_reply(self, adapter: str, reply: Reply, seconds: float) -> None:
        self.model.count_reply(adapter, reply, seconds)

    def can_use_tools(self, adapter: str | None = None) -> bool:
        return self.model.can_use_tools(adapter)

    async def take_turn(
        self,
        conversation: Conversation,
        tools: Sequence[OfferedTool],
        *,
        key: str,
        quiet: bool = False,
        adapter: str | None = None,
    ) -> ModelTurn:
        return await self.model.take_turn(conversation, tools, key=key, quiet=quiet, adapter=adapter)

    def has_turn(self, key: str) -> bool:
        return self.model.has_turn(key)

    async def find_tools(self, names: Sequence[str], adapter: str | None = None) -> list[OfferedTool]:
        self.model.require_tools(names, adapter)
        return await self.offer_tools(names) if names else []

    async def offer_tools(self, names: Sequence[str]) -> list[OfferedTool]:
        """Return tools of MCP servers for the step's model; a preview starts none."""
        return await self.run.runner.offered_tools(self, names)

    def report_call(
        self, tool: str, arguments: Mapping[str, Any], *, server: str = ""
    ) -> AbstractContextManager[CallReport]:
        return report_call(self.emit, tool, arguments, server=server)

    def allowances(self) -> Sequence[Allowance]:
        return list(self.run.memory.ledger.allowances(self.run.runner.config.limits, self.step))

    async def extend_budget(self) -> None:
        used_up = any(one.left <= 0 for one in self.allowances() if one.of_run)
        await self.run.memory.extend_budget(self.whole_step, self.attempt, self.step, run=used_up)

    def render(self, name: str, **values: Any) -> Prompt:
        return self.run.runner.prompts.render(name, notice=self.warn_once, **values)

    @property
    def outgoing(self) -> Outgoing:
        """The filter of texts sent to models."""
        return self.run.outermost.outgoing

    def allow_secrets(self, text: str) -> None:
        self.outgoing.allow(text)

    def hide_secrets(self, value: Any) -> Any:
        return self.outgoing.hide_within(value)

    # -- earlier and next runs --------------------------------------------------------------------------

    async def earlier(self) -> EarlierRun | None:
        from tideate_core.engine.context.continuation import earlier_run

        earlier = await earlier_run(self.run.request, self.run.memory, self.run.store)
        if earlier is not None:
            self.outgoing.allow_conversation(earlier.conversation)
        return earlier

    @property
    def proposed(self) -> NextRun | None:
        kept = self.run.memory.recall(RUN, NEXT_RUN)
        return NextRun.of_json(kept) if kept else None

    async def propose(self, next_run: NextRun | None) -> None:
        await self.run.memory.remember(RUN, NEXT_RUN, next_run.as_json() if next_run else None)

    def conversation(self, step: str) -> Conversation | None:
        kept = self.run.memory.recall(RUN, f"{CONVERSATION}{step}")
        if kept is MISSING:
            return None
        from tideate_core.adapters import Conversation

        conversation = Conversation.of_json(kept)
        self.outgoing.allow_conversation(conversation)
        return conversation

    def keep_conversation(self, conversation: Conversation, staged: Sequence[FileChange] = ()) -> None:
        if conversation.turns:
            from tideate_core.engine.context.continuation import kept_conversation

            conversation = self.outgoing.conversation(conversation)
            self.run.memory.note(RUN, f"{CONVERSATION}{self.step}", kept_conversation(conversation, staged))

    # -- person and front end ---------------------------------------------------------------------------

    async def confirm(
        self,
        kind: DecisionKind,
        message: str,
        *,
        details: str = "",
        payload: Any = None,
        executed: Sequence[ExecutableFile] = (),
        check: CheckAccepted | None = None,
        permission: bool = False,
    ) -> Decision:
        # imported here: most steps ask nothing
        from tideate_core.engine.context.person import ask_person

        request = ConfirmationRequest(
            self.execution_id,
            self.run.definition.name,
            self.whole_step,
            kind,
            message,
            details,
            payload,
            self.is_unreliable,
            executed,
            check=check,
        )
        try:
            return await ask_person(self, request, permission=permission or kind == "tool")
        except PersonNeeded as error:
            self.notice(str(error), level="warn")
            return await self.run.outermost.leave_from_step()

    async def read_messages(self, key: str) -> list[str]:
        kept = self.recall(key)
        if kept is not MISSING:
            self.allow_secrets("\n".join(kept))
            return list(kept)
        said = self.run.take_messages()
        if said:
            await self.run.memory.read(self.whole_step, self._own_key(key), said)
        texts = [message.text for message in said]
        for text in texts:
            self.allow_secrets(text)
            self.notice(f"the model reads your message: {text}")
        return texts

    async def wait_if_paused(self) -> None:
        with persons_time():
            await self.run.wait_if_paused(self.step)

    def emit(self, event: EventName, /, **data: Any) -> None:
        """Send an event of the step."""
        self.run.recorder.event(event, {"step": self.step, **data})

    def notice(
        self,
        message: str,
        *,
        level: Literal["info", "warn"] = "info",
        unsaved: Sequence[str] = (),
        unresolved: str = "",
    ) -> None:
        more: dict[str, Any] = {"unsaved": list(unsaved)} if unsaved else {}
        if unresolved:
            more["unresolved"] = unresolved
        self.emit(EventName.NOTICE, message=message, level=level, **more)

    def warn_once(self, message: str) -> None:
        """Show a warning once in the outermost run."""
        warned = self.run.outermost.warned
        if message not in warned:
            warned.add(message)
            self.notice(message, level="warn")

    def gate(self, name: str, issues: list[str], entries: Sequence[dict[str, Any]] = ()) -> None:
        places = {"entries": list(entries)} if entries else {}
        self.emit(
            EventName.GATE_FAILED if issues else EventName.GATE_PASSED, gate=name, issues=issues, **places
        )

    def show_hunks(self, buffer: int, hunks: Sequence[Hunk], before: str | None = None) -> None:
        text = {} if before is None else {"before": before}
        shown = [hunk.as_json() for hunk in hunks]
        self.emit(EventName.HUNKS_STREAMED, buffer=buffer, hunks=shown, **text)

    async def present(self, text: str, filetype: str) -> None:
        await self.run.front.present(text, filetype)

    def changed(self, paths: list[str], executed: Sequence[ExecutableFile] = ()) -> None:
        from tideate_core.util.escaping import label

        run = self.run
        for files in (run.files, self.files):
            files += [path for path in paths if path not in files]
        for one in executed:
            shape = one.as_json()
            run.executed[one.path] = shape
            words = f"other tools run {label(one.path)}: {one.reason}"
            self.emit(EventName.NOTICE, message=words, level="warn", executed=shape)

    # -- memory -----------------------------------------------------------------------------------------

    def _own_key(self, key: str) -> str:
        return f"{OWN}{self._key_prefix}{key}"

    def recall(self, key: str) -> Any:
        return self.run.memory.recall(self.whole_step, self._own_key(key))

    async def remember(self, key: str, value: Any) -> None:
        await self.run.memory.remember(self.whole_step, self._own_key(key), value)

    def numbered(self, key: str) -> str:
        return self.run.memory.numbered(self.step, key)

    async def choose_once(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        key = f"choice:{self._key_prefix}{key}"
        return await self.run.memory.choose(self.whole_step, key, digest, produce)

    async def choose_for_run(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        with persons_time():  # waiting for another step's question is waiting for a person
            return await self.run.memory.choose_for_run(key, digest, produce)


class ItemContext(Context):
    """`StepContext` of one item of a `for_each`, with its own name, values, memory and questions.

    :param values: the values that templates can use.
    :param feedback: why the item's last result was rejected.
    """

    def __init__(
        self, whole: Context, index: int, total: int, values: dict[str, Any], feedback: str = ""
    ) -> None:
        # a completed item is not repeated after a crash: its writes are kept under its own name
        super().__init__(whole.run, f"{whole.step}[{index}]", whole.attempt, whole.definition)
        self.whole_step = whole.step
        self.feedback = feedback
        self.files = whole.files
        self._key_prefix = f"{index}:"
        self._origin = whole
        self._place = f"item {index + 1} of {total}"
        self._values = values

    def values(self) -> dict[str, Any]:
        return dict(self._values)

    async def confirm(
        self,
        kind: DecisionKind,
        message: str,
        *,
        details: str = "",
        payload: Any = None,
        executed: Sequence[ExecutableFile] = (),
        check: CheckAccepted | None = None,
        permission: bool = False,
    ) -> Decision:
        # a question is recognized by its words after a crash: no item may get another's answer
        words = f"{message} ({self._place})"
        more: dict[str, Any] = {"payload": payload, "executed": executed, "check": check}
        more["permission"] = permission
        return await super().confirm(kind, words, details=details, **more)
