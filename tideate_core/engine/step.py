"""What a handler is given while its step runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from tideate_core.engine.confirmation import ConfirmationRequest
from tideate_core.engine.events import Event, EventName
from tideate_core.engine.execution import usage_json
from tideate_core.engine.text import SurrogateJoiner, mended
from tideate_core.errors import InvalidReply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from tideate_core.adapters import Adapter, Prompt, Reply
    from tideate_core.config import Limits
    from tideate_core.engine.confirmation import FrontEnd
    from tideate_core.engine.execution import Execution
    from tideate_core.workflows import Decision, PromptLibrary
    from tideate_core.workflows.handler import DecisionKind
    from tideate_core.workspace import Workspace

__all__ = ["StepRun"]


class StepRun:
    """The `StepContext` of one step of one execution."""

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
    ) -> None:
        request = execution.request
        self.execution_id = execution.id
        self.step = step
        self.prompt = request.prompt
        self.context = request.context
        self.options: Mapping[str, Any] = {**request.options, **request.inputs}
        self.results: Mapping[str, Any] = dict(execution.results)
        self.workspace = workspace
        self.demonstration = adapter.demonstration
        self.attempts = limits.attempts
        self.concurrency = limits.concurrency
        self.context_tokens = adapter.context_tokens
        self._execution = execution
        self._adapter = adapter
        self._front = front
        self._prompts = prompts

    async def ask(
        self, prompt: Prompt, *, schema: type[BaseModel] | None = None, quiet: bool = False
    ) -> Reply:
        """Ask the run's adapter.

        :raises InvalidReply: the answer is empty.
        :raises AdapterError: the adapter failed.
        """
        joiner = SurrogateJoiner()

        def on_token(piece: str) -> None:
            if text := joiner.feed(piece):
                self._emit(EventName.TOKEN, text=text)

        reply = await self._adapter.ask(prompt, on_token=None if quiet else on_token, schema=schema)
        reply = replace(reply, text=mended(reply.text))
        self._execution.usage += reply.usage
        self._emit(EventName.MODEL_ANSWERED, model=reply.model, usage=usage_json(reply.usage))
        if not reply.text.strip() and reply.parsed is None:
            raise InvalidReply(f"{reply.model} answered with nothing; try again or word it differently")
        return reply

    def render(self, name: str, **values: Any) -> Prompt:
        return self._prompts.render(name, notice=self._warn_once, **values)

    async def confirm(
        self, kind: DecisionKind, message: str, *, details: str = "", payload: Any = None
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
        )
        self._emit(EventName.CONFIRMATION_REQUIRED, kind=kind, message=message)
        decision = await self._front.confirm(request)
        self._emit(EventName.CONFIRMATION_ANSWERED, kind=kind, accepted=decision.accepted)
        return decision

    def notice(self, message: str, *, level: Literal["info", "warn"] = "info") -> None:
        self._emit(EventName.NOTICE, message=message, level=level)

    def gate(self, name: str, issues: list[str]) -> None:
        self._emit(EventName.GATE_FAILED if issues else EventName.GATE_PASSED, gate=name, issues=issues)

    def changed(self, paths: list[str]) -> None:
        self._execution.files += [path for path in paths if path not in self._execution.files]

    async def present(self, text: str, filetype: str) -> None:
        await self._front.present(text, filetype)

    def _warn_once(self, message: str) -> None:
        if message not in self._execution.warned:
            self._execution.warned.add(message)
            self.notice(message, level="warn")

    def _emit(self, event: EventName, /, **data: Any) -> None:
        self._front.emit(Event(event, self.execution_id, {"step": self.step, **data}))
