"""Context of one attempt of a step: model, person, workspace and memory for its handler."""

from __future__ import annotations

import threading
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self

from tideate_core.adapters import Conversation
from tideate_core.engine.confirmation import ConfirmationRequest
from tideate_core.engine.continuation import earlier_run, kept_conversation
from tideate_core.engine.events import EventName, report_call
from tideate_core.engine.memory import CONTEXT, CONVERSATION, MISSING, NEXT_RUN, RUN, StepMemory
from tideate_core.engine.step_model import StepModel, no_tools, unknown_adapter
from tideate_core.engine.step_person import StepPerson
from tideate_core.errors import PersonNeeded
from tideate_core.workflows import NextRun, persons_time

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
    from contextlib import AbstractContextManager

    from pydantic import BaseModel

    from tideate_core.adapters import Adapter, ModelTurn, OfferedTool, Prompt, Reply, Usage
    from tideate_core.config import LimitsConfig
    from tideate_core.engine.confirmation import FrontEnd
    from tideate_core.engine.memory import Memory
    from tideate_core.engine.outgoing import Outgoing
    from tideate_core.engine.recording import Recorder
    from tideate_core.engine.run import Execution
    from tideate_core.engine.step_model import OfferTools
    from tideate_core.store import Store
    from tideate_core.workflows import (
        Allowance,
        CallReport,
        Decision,
        DecisionKind,
        EarlierRun,
        PromptLibrary,
        WorkflowStep,
    )
    from tideate_core.workspace import ExecutableFile, FileChange, Workspace

__all__ = ["ItemRun", "StepEnvironment", "StepRun"]


@dataclass(frozen=True, slots=True)
class StepEnvironment:
    """The part of the context that all steps of one run share."""

    execution: Execution
    adapter: Adapter
    front: FrontEnd
    workspace: Workspace
    prompts: PromptLibrary
    limits: LimitsConfig
    memory: Memory
    recorder: Recorder
    adapters: Callable[[str], Adapter] = unknown_adapter
    offer: OfferTools = no_tools
    rules_files: Sequence[str] | None = None
    """See `ModelAccess`."""
    memory_of: str | None = None
    """See `ModelAccess`."""
    store: Store | None = None
    """The run's own; None of a run that is in none."""
    refuses_executed: bool = False
    """See `WorkspaceAccess`."""
    destination: Callable[[str], str] = str
    """Returns an adapter's name with the address that its prompts go to."""


class StepRun:
    """The `StepContext` of one attempt of a step: its facts, and what model, person and memory do for it."""

    def __init__(
        self, run: StepEnvironment, step: str, attempt: int = 1, definition: WorkflowStep | None = None
    ) -> None:
        execution, request, limits = run.execution, run.execution.request, run.limits
        self.execution_id = execution.id
        self.step = step
        self.prompt = request.prompt
        self.context = request.context
        self.options: Mapping[str, Any] = {**request.options, **request.inputs}
        self.inputs = execution.inputs
        self.results: Mapping[str, Any] = MappingProxyType(execution.results)
        self.attempt = attempt
        self.feedback = run.memory.feedback(step) if attempt > 1 else ""
        self.definition = definition
        self.editor = run.front.editor
        self.files: list[str] = []
        """Files and buffers that this attempt changed."""
        self.attempts = limits.attempts
        self.revisions = limits.revisions
        self.concurrency = limits.concurrency
        self.mention_tokens = limits.mention_tokens
        self.context_tokens = run.adapter.context_tokens
        self.rules_files = run.rules_files
        self.memory_of = run.memory_of
        self.refuses_executed = run.refuses_executed
        self.run = run
        self._measure: Adapter | None = None
        self._left = threading.Event()

    def leave(self) -> None:
        """Refuse what the handler still writes: it was stopped and goes on, and nothing waits for it."""
        self._left.set()
        words = f"{self.step} is still running though it was stopped; what it writes now is refused"
        self.notice(words, level="warn")

    def is_left(self) -> bool:
        """Tell whether the handler was left to itself."""
        return self._left.is_set()

    # made when a handler needs them: most steps need few
    @cached_property
    def model(self) -> StepModel:
        """Access to models."""
        run = self.run
        return StepModel(
            run.execution,
            self.step,
            self.attempt,
            adapter=run.adapter,
            adapters=run.adapters,
            find_tools=partial(run.offer, self),
            memory=run.memory,
            recorder=run.recorder,
            cost_limit=run.limits.cost_usd,
            destination=run.destination,
        )

    @cached_property
    def person(self) -> StepPerson:
        """Access to the person."""
        run = self.run
        return StepPerson(
            self.step,
            self.attempt,
            front=run.front,
            memory=run.memory,
            recorder=run.recorder,
            warned=run.execution.warned,
            private=run.store.private if run.store else None,
        )

    @cached_property
    def memory(self) -> StepMemory:
        """Access to the run's memory."""
        return StepMemory(self.run.memory, self.step)

    def measured_by(self, adapter: str | None) -> Self:
        if adapter is None:
            return self
        # made before it is copied, so that both have the same
        _ = self.model, self.person, self.memory, self.workspace
        view = copy(self)
        view._measure = self.run.adapters(adapter)
        view.context_tokens = view._measure.context_tokens
        if self.run.destination(adapter) != self.memory_of:
            view.memory_of = None
        return view

    @property
    def demonstration(self) -> bool:
        return self.model.demonstration if self._measure is None else self._measure.demonstration

    @demonstration.setter
    def demonstration(self, demonstration: bool) -> None:
        self.model.demonstration = demonstration

    @cached_property
    def workspace(self) -> Workspace:
        """The run's, in which what is written counts as the step's."""
        return self.run.workspace.of_step(self.step, self.is_left)

    @property
    def usage(self) -> Usage:
        """Usage of models for this step, in all its attempts."""
        return self.run.memory.spent(self.step)

    def values(self) -> dict[str, Any]:
        return self.run.execution.state.values()

    async def set_context(self, name: str, value: Any) -> None:
        self.run.execution.state.set(name, value)
        await self.run.memory.remember(RUN, f"{CONTEXT}{name}", value)

    async def ask(
        self,
        prompt: Prompt,
        *,
        schema: type[BaseModel] | None = None,
        quiet: bool = False,
        adapter: str | None = None,
    ) -> Reply:
        return await self.model.ask(prompt, of=self.step, schema=schema, quiet=quiet, adapter=adapter)

    @property
    def tool_servers(self) -> Collection[str]:
        return self.run.offer.servers

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
        return await self.model.take_turn(
            conversation, tools, of=self.step, key=key, quiet=quiet, adapter=adapter
        )

    def has_turn(self, key: str) -> bool:
        return self.model.has_turn(self.step, key)

    def allowances(self) -> Sequence[Allowance]:
        return list(self.run.memory.ledger.allowances(self.run.limits, self.step))

    async def extend_budget(self) -> None:
        used_up = any(one.left <= 0 for one in self.allowances() if one.of_run)
        step = self.person.step  # of an item its whole step
        await self.run.memory.extend_budget(step, self.attempt, self.step, run=used_up)

    async def earlier(self) -> EarlierRun | None:
        earlier = await earlier_run(self.run.execution.request, self.run.memory, self.run.store)
        if earlier is not None:
            self._outgoing.allow_conversation(earlier.conversation)
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
        conversation = Conversation.of_json(kept)
        self._outgoing.allow_conversation(conversation)
        return conversation

    def keep_conversation(self, conversation: Conversation, staged: Sequence[FileChange] = ()) -> None:
        if conversation.turns:
            conversation = self._outgoing.conversation(conversation)
            self.run.memory.note(RUN, f"{CONVERSATION}{self.step}", kept_conversation(conversation, staged))

    @property
    def _outgoing(self) -> Outgoing:
        return self.run.execution.outermost.outgoing

    def allow_secrets(self, text: str) -> None:
        self._outgoing.allow(text)

    def hide_secrets(self, value: Any) -> Any:
        return self._outgoing.hide_within(value)

    async def find_tools(self, names: Sequence[str], adapter: str | None = None) -> list[OfferedTool]:
        return await self.model.find_tools(names, adapter)

    def report_call(
        self, tool: str, arguments: Mapping[str, Any], *, server: str = ""
    ) -> AbstractContextManager[CallReport]:
        return report_call(self._emit, tool, arguments, server=server)

    async def read_messages(self, key: str) -> list[str]:
        kept = self.memory.recall(key)
        if kept is not MISSING:
            self.allow_secrets("\n".join(kept))
            return list(kept)
        said = self.run.execution.take_messages()
        if said:
            await self.memory.read(key, said)
        texts = [message.text for message in said]
        for text in texts:
            self.allow_secrets(text)
            self.notice(f"the model reads what you said: {text}")
        return texts

    async def wait_if_paused(self) -> None:
        with persons_time():
            await self.run.execution.wait_if_paused(self.step, self.run.recorder)

    def render(self, name: str, **values: Any) -> Prompt:
        return self.run.prompts.render(name, notice=self.person.warn_once, **values)

    async def confirm(
        self,
        kind: DecisionKind,
        message: str,
        *,
        details: str = "",
        payload: Any = None,
        executed: Sequence[ExecutableFile] = (),
    ) -> Decision:
        workflow = self.run.execution.definition.name
        request = ConfirmationRequest(
            self.execution_id,
            workflow,
            self.person.step,
            kind,
            message,
            details,
            payload,
            self.model.demonstration,
            executed,
        )
        try:
            return await self.person.confirm(request)
        except PersonNeeded as error:
            self.notice(str(error), level="warn")
            return await self.run.execution.outermost.leave()

    def notice(
        self, message: str, *, level: Literal["info", "warn"] = "info", unsaved: Sequence[str] = ()
    ) -> None:
        more = {"unsaved": list(unsaved)} if unsaved else {}
        self._emit(EventName.NOTICE, message=message, level=level, **more)

    def _emit(self, event: EventName, /, **data: Any) -> None:
        self.person.emit(event, step=self.step, **data)  # of an item the person's is its whole step

    def gate(self, name: str, issues: list[str], entries: Sequence[dict[str, Any]] = ()) -> None:
        places = {"entries": list(entries)} if entries else {}
        self._emit(
            EventName.GATE_FAILED if issues else EventName.GATE_PASSED, gate=name, issues=issues, **places
        )

    async def present(self, text: str, filetype: str) -> None:
        await self.run.front.present(text, filetype)

    def changed(self, paths: list[str], executed: Sequence[ExecutableFile] = ()) -> None:
        from tideate_core.util.escaping import label

        execution = self.run.execution
        for files in (execution.files, self.files):
            files += [path for path in paths if path not in files]
        for one in executed:
            shape = one.as_json()
            execution.executed[one.path] = shape
            words = f"other tools run {label(one.path)}: {one.reason}"
            self._emit(EventName.NOTICE, message=words, level="warn", executed=shape)

    def recall(self, key: str) -> Any:
        return self.memory.recall(key)

    async def remember(self, key: str, value: Any) -> None:
        await self.memory.remember(key, value)

    def numbered(self, key: str) -> str:
        return self.run.memory.numbered(self.step, key)

    async def choose_once(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        return await self.memory.choose_once(key, digest, produce)

    async def choose_for_run(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        return await self.memory.choose_for_run(key, digest, produce)


class ItemRun(StepRun):
    """The `StepContext` for one item of a `for_each`: name, values, memory and questions are its own.

    :param values: what templates see.
    :param feedback: why the item's last result was refused.
    """

    def __init__(
        self, whole: StepRun, index: int, total: int, values: dict[str, Any], feedback: str = ""
    ) -> None:
        # an item that is done is not done again after a crash: under its own name what it wrote stays
        super().__init__(whole.run, f"{whole.step}[{index}]", whole.attempt, whole.definition)
        self.feedback = feedback
        self.files = whole.files
        self.model, self.person = whole.model, whole.person
        self.memory = StepMemory(whole.run.memory, whole.step, f"{index}:")
        self._whole = whole
        self._place = f"item {index + 1} of {total}"
        self._values = values

    def is_left(self) -> bool:
        return self._whole.is_left()

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
    ) -> Decision:
        # by its words a question is recognised after a crash: no item may take another's answer
        words = f"{message} ({self._place})"
        return await super().confirm(kind, words, details=details, payload=payload, executed=executed)
