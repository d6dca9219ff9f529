"""Preview of a run's first prompt; no model is asked and nothing is stored."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, cast

from tideate_core.engine.begin import prepare, read_workflow
from tideate_core.engine.context.context import Context
from tideate_core.engine.events import Event, EventName
from tideate_core.engine.prompt_material import rules_and_material
from tideate_core.engine.run import Run
from tideate_core.util.tokens import CHARACTERS_PER_TOKEN
from tideate_core.workflows import Decision, WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.adapters import Adapter, AdapterPool, Conversation, OfferedTool, Prompt
    from tideate_core.engine.events import ConfirmationRequest
    from tideate_core.engine.request import RunRequest
    from tideate_core.engine.runner import WorkflowRunner
    from tideate_core.workflows import EditorAccess


@dataclass(slots=True)
class PromptPreview:
    """The first prompt of a run, as far as it is known before the run begins."""

    workflow: str
    step: str
    adapter: str
    context_tokens: int | None
    """Tokens that prompt and answer share; None if the limit is unknown."""
    exact: bool = False
    """`system` and `user` are the whole prompt; otherwise `user` is the material before a step's template."""
    system: str = ""
    user: str = ""
    tools: list[str] = field(default_factory=list)
    """Names of the tools that the model may call."""
    asks: list[str] = field(default_factory=list)
    """Questions that a person is asked first; their material is left out."""
    notices: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)
    """Mentions of the prompt that cannot be resolved."""
    tasks: dict[str, str] = field(default_factory=dict)
    """Templates of the first steps, by step, if the prompt is not exact."""
    inputs: dict[str, Any] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        """The estimated size, at four characters a token."""
        texts = (self.system, self.user, *self.tasks.values())
        return sum(map(len, texts)) // CHARACTERS_PER_TOKEN

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*self.__slots__, "tokens")}


async def preview_prompt(runner: WorkflowRunner, request: RunRequest) -> PromptPreview:
    """Return the first prompt of a run that is not begun.

    The first step of a built-in workflow is executed up to its first question to a model. Steps of other
    workflows may do anything: only their definition, the rules and the material are returned.

    :raises TideateError: the run could not begin; says why.
    """
    front = _PreviewFront(runner.front.editor)
    run = Run(_preview_runner(runner, front), request)
    read_workflow(run, partial(runner.registry.get, request.name, obfuscate=request.obfuscate))
    prepare(run)
    for part in (run.memory, run.recorder):
        part.attach(cast("Any", _NoLog()))
    registration = run.registration
    definition = registration.definition
    steps = definition.steps if isinstance(definition, WorkflowDefinition) else ()
    first = [step for step in steps if not step.dependencies]
    name = first[0].id if first else ""
    step = _PreviewContext(run, name, definition=first[0] if first else None)
    shown = PromptPreview(definition.name, name, run.adapter.name, step.context_tokens)
    shown.asks, shown.notices, shown.unresolved = front.asks, front.notices, front.unresolved
    shown.inputs = dict(step.inputs)
    handler = registration.handlers.get(first[0].handler_name) if first else None
    if registration.source == "builtin" and first and first[0].kind == "handler" and handler:
        try:
            await handler(step)
        except _Reached as reached:
            shown.exact = True
            shown.system, shown.user, shown.tools = reached.system, reached.user, reached.tools
        return shown
    shown.tasks = {one.id: one.task or one.kind for one in first}
    shown.user = await rules_and_material(step, "\n".join([step.prompt, *shown.tasks.values()]))
    return shown


def _preview_runner(runner: WorkflowRunner, front: _PreviewFront) -> WorkflowRunner:
    """Return a copy of a runner that asks no model and tells only this front end."""
    preview = copy(runner)
    preview.front, preview.hooks = front, None
    preview.adapters = cast("AdapterPool", _PreviewPool(runner.adapters))
    return preview


class _PreviewContext(Context):
    """Context of a step that starts no MCP server."""

    async def offer_tools(self, names: Sequence[str]) -> list[OfferedTool]:
        return []


class _Reached(Exception):
    """A step would ask its model now."""

    def __init__(self, system: str, user: str, tools: Sequence[OfferedTool] = ()) -> None:
        super().__init__("a model would be asked")
        self.system = system
        self.user = user
        self.tools = [tool.name for tool in tools]


class _PreviewFront:
    """Front end that keeps notices and questions, and declines."""

    def __init__(self, editor: EditorAccess | None) -> None:
        self.editor = editor
        self.asks: list[str] = []
        self.notices: list[str] = []
        self.unresolved: list[str] = []

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        self.asks.append(request.message)
        return Decision(False, by="preview", reason="nobody was asked")

    def emit(self, event: Event) -> None:
        if event.name is EventName.NOTICE:
            self.notices.append(event.data["message"])
            if mention := event.data.get("unresolved"):
                self.unresolved.append(mention)

    async def present(self, text: str, filetype: str) -> None:
        """Show nothing."""


class _PreviewPool:
    """Adapters that end a step where they would send its prompt."""

    def __init__(self, pool: AdapterPool) -> None:
        self._pool = pool

    def get(self, name: str) -> _PreviewAdapter:
        return _PreviewAdapter(self._pool.get(name))

    def agent(self, name: str) -> _PreviewAdapter | None:
        agent = self._pool.agent(name)
        return None if agent is None else _PreviewAdapter(agent)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)


class _PreviewAdapter:
    """Adapter that ends the step with its prompt."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)

    async def ask(self, prompt: Prompt, **_: Any) -> NoReturn:
        raise _Reached(prompt.system, prompt.user)

    async def check_turn(self, prompt: Prompt) -> NoReturn:
        raise _Reached(prompt.system, prompt.user)

    async def take_turn(self, conversation: Conversation, tools: Sequence[OfferedTool], **_: Any) -> NoReturn:
        user = "\n\n".join(message.text for message in conversation.messages if message.text)
        raise _Reached(conversation.system, user, tools)


class _NoLog:
    """Log of a run that is not stored."""

    def event(self, name: str, at: int, data: dict[str, Any]) -> int:
        return 0

    def note(self, step: str, key: str, value: Any) -> None:
        """Keep nothing."""

    async def remember(self, step: str, key: str, value: Any) -> None:
        """Keep nothing."""

    async def flush(self) -> None:
        """Nothing is durable."""
