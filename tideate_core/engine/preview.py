"""Preview of a run's first prompt: rendered as the run would render it, asked of nobody, kept nowhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from tideate_core.engine.mentions import rules_and_material
from tideate_core.engine.preparation import Preparation
from tideate_core.engine.step_context import StepRun
from tideate_core.util.tokens import CHARACTERS_PER_TOKEN
from tideate_core.workflows import Decision, WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from pydantic import BaseModel

    from tideate_core.adapters import Conversation, ModelTurn, OfferedTool, Prompt, Reply
    from tideate_core.engine.live_run import LiveRun
    from tideate_core.engine.run import RunRequest
    from tideate_core.engine.step_context import StepEnvironment
    from tideate_core.engine.stored_definition import Workflows
    from tideate_core.workflows import DecisionKind, Registration, WorkflowStep
    from tideate_core.workspace import ExecutableFile

__all__ = ["PromptPreview", "preview_prompt"]


@dataclass(slots=True)
class PromptPreview:
    """The first prompt of a run, as far as it is known before the run."""

    workflow: str
    step: str
    adapter: str
    context_tokens: int | None
    """Tokens that prompt and answer share, None where the limit is not known."""
    exact: bool = False
    """`system` and `user` are what the model is sent; else `user` is what stands before a step's words."""
    system: str = ""
    user: str = ""
    tools: list[str] = field(default_factory=list)
    """Names of the tools that the model may call."""
    asks: list[str] = field(default_factory=list)
    """Questions that a person is asked first; what they are about is left out until then."""
    notices: list[str] = field(default_factory=list)
    tasks: dict[str, str] = field(default_factory=dict)
    """Templates of the steps that start first, by step; of a prompt that is not exact."""
    inputs: dict[str, Any] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        """The estimated size, at four characters a token."""
        texts = (self.system, self.user, *self.tasks.values())
        return sum(map(len, texts)) // CHARACTERS_PER_TOKEN

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*self.__slots__, "tokens")}


async def preview_prompt(
    request: RunRequest,
    workflows: Workflows,
    prepare: Callable[[RunRequest, Registration, None, Preparation], LiveRun],
) -> PromptPreview:
    """Return the first prompt of a run that is not begun.

    The steps of the built-in workflows are carried out up to their first question to a model; other steps may
    do anything, so that of them only the definition, the rules and the material are returned.

    :param prepare: gives the run as it would begin.
    :raises TideateError: it could not begin; says why.
    """
    preparation = Preparation(request)
    registration = preparation.parse(partial(workflows.get, request.name, obfuscate=request.obfuscate))
    run = prepare(request, registration, None, preparation).step_environment
    definition = registration.definition
    first = _first_steps(definition) if isinstance(definition, WorkflowDefinition) else []
    name = first[0].id if first else ""
    step = _PreviewStep(run, name, definition=first[0] if first else None)
    shown = PromptPreview(definition.name, name, run.adapter.name, step.context_tokens)
    shown.asks, shown.notices, shown.inputs = step.asks, step.notices, dict(step.inputs)
    handler = registration.handlers.get(first[0].handler_name) if first else None
    if registration.source == "builtin" and first and first[0].kind == "handler" and handler:
        try:
            await handler(step)
        except _Reached as reached:
            shown.exact = True
            shown.system, shown.user, shown.tools = reached.system, reached.user, reached.tools
        return shown
    shown.tasks = {one.id: one.task or one.kind for one in first}
    texts = [step.prompt, *shown.tasks.values()]
    shown.user = await rules_and_material(step, "\n".join(texts))
    return shown


def _first_steps(definition: WorkflowDefinition) -> list[WorkflowStep]:
    """Return the steps that wait for no other."""
    return [step for step in definition.steps if not step.dependencies]


class _Reached(Exception):
    """A step would ask its model now."""

    def __init__(self, system: str, user: str, tools: Sequence[OfferedTool] = ()) -> None:
        super().__init__("a model would be asked")
        self.system = system
        self.user = user
        self.tools = [tool.name for tool in tools]


class _PreviewStep(StepRun):
    """The context of a step that ends where a model would be asked; nobody is told or asked anything."""

    def __init__(self, run: StepEnvironment, step: str, definition: WorkflowStep | None) -> None:
        super().__init__(run, step, definition=definition)
        self.asks: list[str] = []
        self.notices: list[str] = []

    async def ask(
        self,
        prompt: Prompt,
        *,
        schema: type[BaseModel] | None = None,
        quiet: bool = False,
        adapter: str | None = None,
    ) -> Reply:
        raise _Reached(prompt.system, prompt.user)

    async def take_turn(
        self,
        conversation: Conversation,
        tools: Sequence[OfferedTool],
        *,
        key: str,
        quiet: bool = False,
        adapter: str | None = None,
    ) -> ModelTurn:
        user = "\n\n".join(message.text for message in conversation.messages if message.text)
        raise _Reached(conversation.system, user, tools)

    async def find_tools(self, names: Sequence[str], adapter: str | None = None) -> list[OfferedTool]:
        return []  # a server would be started

    async def confirm(
        self,
        kind: DecisionKind,
        message: str,
        *,
        details: str = "",
        payload: Any = None,
        executed: Sequence[ExecutableFile] = (),
    ) -> Decision:
        self.asks.append(message)
        return Decision(False, by="preview", reason="nobody was asked")

    def notice(
        self, message: str, *, level: Literal["info", "warn"] = "info", unsaved: Sequence[str] = ()
    ) -> None:
        self.notices.append(message)

    def render(self, name: str, **values: Any) -> Prompt:
        return self.run.prompts.render(name, notice=self.notices.append, **values)

    async def choose_once(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        return await produce()

    async def choose_for_run(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        return await produce()

    async def remember(self, key: str, value: Any) -> None:
        """Keep nothing: no run has begun."""

    def gate(self, name: str, issues: list[str], entries: Sequence[dict[str, Any]] = ()) -> NoReturn:
        raise AssertionError(f"a step came to the gate {name!r} before it asked a model: {issues}")

    async def present(self, text: str, filetype: str) -> None:
        """Show nothing: no run has begun."""

    def report_call(self, tool: str, arguments: Mapping[str, Any], *, server: str = "") -> NoReturn:
        raise AssertionError(f"a step called {server or 'a tool'}, {tool!r}, before it asked a model")
