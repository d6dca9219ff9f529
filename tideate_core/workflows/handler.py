"""Interface of step handlers: their context, and the results and decisions they exchange with a run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, Self

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pydantic import BaseModel

    from tideate_core.adapters import Conversation, ModelTurn, OfferedTool, Prompt, Reply
    from tideate_core.workflows.parts import WorkflowStep
    from tideate_core.workflows.run_context import EarlierRun, NextRun, RunContext
    from tideate_core.workspace import ExecutableFile, FileChange, Workspace

DecisionKind = Literal["gate", "plan", "document", "review", "override", "tool", "compare"]
"""`document`: an editable Markdown text; the decision's value is `{"text": …}`, None if unchanged.
`tool`: permission for a tool call; the value is `run` or `project` if it holds for longer than one call.
`compare`: the value is `{"take": RUN}`."""


class _Missing:
    def __bool__(self) -> bool:
        return False


MISSING: Final = _Missing()
"""The value of `StepContext.recall` if nothing was remembered; None can be a remembered value."""


@dataclass(frozen=True, slots=True)
class Confirm:
    """A step's result that a person must confirm before the next step starts."""

    value: Any
    message: str
    details: str = ""
    """Markdown, shown with the question."""
    kind: DecisionKind = "gate"
    payload: Any = None
    """JSON for the front end, by kind."""


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer of a person or a policy; stored with the run, so that the question is asked only once."""

    accepted: bool
    value: Any = None
    """JSON: the person's changes, by kind."""
    by: str = "user"
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        return {"accepted": self.accepted, "value": self.value, "by": self.by, "reason": self.reason}

    @classmethod
    def of_json(cls, shape: Mapping[str, Any]) -> Self:
        """Restore from the shape of `as_json`."""
        return cls(shape["accepted"], shape["value"], shape["by"], shape["reason"])


class Declined(Exception):
    """A confirmation was declined; the run ends as cancelled."""


@dataclass(slots=True)
class CallReport:
    """The outcome of a tool call, for its event."""

    size: int | None = None
    """Characters of the result; None if unknown."""
    result: str = ""
    """The result, whose beginning the event shows; empty: the event shows none."""
    failed: str = ""
    """The error that the model was told; empty after a success."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """A budget of a step or a run, and the rest of it."""

    name: str
    """Name of the configured limit."""
    unit: str
    """`turns`, `tool_calls` or `tokens`."""
    limit: int
    left: int
    """Negative if the budget is overdrawn."""
    of_run: bool
    """The budget is the run's, not the step's."""


class ModelAccess(Protocol):
    """Access to a model."""

    demonstration: bool
    """The answers come from a model that is not to be relied on."""
    attempts: int
    """Times that a model may be asked again for an answer that cannot be used."""
    revisions: int
    """Times that it may be asked to revise an edit in one review."""
    concurrency: int
    """Requests of one step that may run side by side."""
    mention_tokens: int
    """Tokens of material that the mentions of a prompt may bring."""
    rules_files: Sequence[str] | None
    """Rules files of the project that are sent beside the usual ones; None: none are sent at all."""
    memory_of: str | None
    """The adapter, with its address, whose nearest earlier runs are sent, with `MEMORY.md`; None: none is."""
    context_tokens: int | None
    """Tokens that prompt and answer share, None where the limit is not known."""

    def allowances(self) -> Sequence[Allowance]:
        """Return what is left for the work loops of the step and of the run, of what has a limit.

        All loops of a step draw on one budget, in all its attempts, before a crash too; all steps of a run,
        and of the runs within it, on another. An item of a `for_each` has the budget of a step.
        """
        ...

    async def extend_budget(self) -> None:
        """Give the step its budget once more, and the run where its own is used up; durable when it returns.

        After a crash the same calls give no more than they gave.
        """
        ...

    def measured_by(self, adapter: str | None) -> Self:
        """Return this context for prompts to another adapter: its window, not the run's, is what they fit.

        It is still the run's that is asked where no other one is named.

        :param adapter: None: the run's.
        :raises UnknownAdapter: there is none of this name.
        """
        ...

    @property
    def tool_servers(self) -> Collection[str]:
        """Names of the MCP servers whose tools may be named."""
        ...

    async def ask(
        self,
        prompt: Prompt,
        *,
        schema: type[BaseModel] | None = None,
        quiet: bool = False,
        adapter: str | None = None,
    ) -> Reply:
        """Ask a model; its tokens are streamed to the front end unless `quiet`.

        :param adapter: another one than the run's.
        """
        ...

    def can_use_tools(self, adapter: str | None = None) -> bool:
        """Tell whether a model can call tools.

        :param adapter: another one than the run's.
        """
        ...

    async def take_turn(
        self,
        conversation: Conversation,
        tools: Sequence[OfferedTool],
        *,
        key: str,
        quiet: bool = False,
        adapter: str | None = None,
    ) -> ModelTurn:
        """Return a model's next turn; no tool is called here. It is durable when this returns.

        :param key: what tells this turn from others of the step; after a crash the turn of the same key is
            returned, and nobody is asked.
        """
        ...

    def has_turn(self, key: str) -> bool:
        """Tell whether the turn of this key was taken before a crash, so that `take_turn` asks nobody."""
        ...

    async def earlier(self) -> EarlierRun | None:
        """Return the run that this one goes on with; None where it stands by itself.

        :raises TideateError: it is gone, and this run had not looked at it yet.
        """
        ...

    @property
    def proposed(self) -> NextRun | None:
        """The run that a step proposed last to follow this one."""
        ...

    async def propose(self, next_run: NextRun | None) -> None:
        """Propose a run to follow this one, in place of what was proposed before; None: none.

        It is durable when this returns.
        """
        ...

    def conversation(self, step: str) -> Conversation | None:
        """Return the last conversation of a step of the run, None where it had none."""
        ...

    def keep_conversation(self, conversation: Conversation, staged: Sequence[FileChange] = ()) -> None:
        """Keep the step's conversation with the run, for those that go on with it.

        Without a turn of a model there is nothing to keep. It is written with the next commit.

        :param staged: the edits that were made in it.
        """
        ...

    def allow_secrets(self, text: str) -> None:
        """Let models of the run see the secrets of a text: the person agreed, or typed it."""
        ...

    def hide_secrets(self, value: Any) -> Any:
        """Return a text or JSON value without secrets that nobody agreed to show.

        What models are sent is filtered in any case; a text that is cut first may hold half a secret.
        """
        ...

    async def find_tools(self, names: Sequence[str], adapter: str | None = None) -> list[OfferedTool]:
        """Return tools of MCP servers for a model: `SERVER/TOOL`, or `SERVER` or `SERVER/*` for all of one.

        :raises ConfigError: the adapter cannot use tools.
        :raises ToolError: one cannot be found.
        """
        ...

    def report_call(
        self, tool: str, arguments: Mapping[str, Any], *, server: str = ""
    ) -> AbstractContextManager[CallReport]:
        """Tell of a tool call, at its begin and at its end.

        :param server: of the tool; empty of those that come with tideate.
        """
        ...

    async def read_messages(self, key: str) -> list[str]:
        """Return what the person said to the model since the last call; none is lost or comes twice.

        :param key: of these messages: with the same one, after a crash, it is the same ones.
        """
        ...

    async def wait_if_paused(self) -> None:
        """Return at once, or once the run goes on, where a pause is wanted."""
        ...

    def render(self, name: str, **values: Any) -> Prompt:
        """Render a prompt file, the project's before the person's before the built-in one."""
        ...


class PersonAccess(Protocol):
    """Access to the person."""

    async def confirm(
        self,
        kind: DecisionKind,
        message: str,
        *,
        details: str = "",
        payload: Any = None,
        executed: Sequence[ExecutableFile] = (),
    ) -> Decision:
        """Ask the person; a refusal is the caller's to handle.

        :param executed: files that other tools run by themselves, which the person is warned of.
        """
        ...

    def notice(
        self, message: str, *, level: Literal["info", "warn"] = "info", unsaved: Sequence[str] = ()
    ) -> None:
        """Tell the person something that needs no answer.

        :param unsaved: files that are changed in an editor's buffers only; it names them when the run ends.
        """
        ...

    def gate(self, name: str, issues: list[str], entries: Sequence[dict[str, Any]] = ()) -> None:
        """Report a check: passed without issues.

        :param entries: the places of the issues, as `Failure.as_json()` gives them.
        """
        ...

    async def present(self, text: str, filetype: str) -> None:
        """Show a new text that belongs to no file yet."""
        ...


class WorkspaceAccess(Protocol):
    """Access to files."""

    refuses_executed: bool
    """Files that other tools execute are never written by a run."""

    @property
    def workspace(self) -> Workspace:
        """The run's; what is written through it counts as the step's."""
        ...

    def changed(self, paths: list[str], executed: Sequence[ExecutableFile] = ()) -> None:
        """Record which files and buffers the run changed, and tell which of them other tools run."""
        ...


class MemoryAccess(Protocol):
    """Access to memory that survives a crash."""

    def recall(self, key: str) -> Any:
        """Return what this step remembered, also before a crash; `MISSING` where that is nothing."""
        ...

    async def remember(self, key: str, value: Any) -> None:
        """Keep a JSON value for this step; durable when it returns."""
        ...

    def numbered(self, key: str) -> str:
        """Return the key of this occurrence: what a step does again in one attempt is another thing then.

        In the process that goes on after a crash the count begins anew.
        """
        ...

    async def choose_once(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        """Return what was chosen before for the same question, else choose and remember it.

        :param key: of the choice, unique in the step.
        :param digest: of everything that the choice depends on; another one is another question.
        :param produce: gives a JSON value.
        """
        ...

    async def choose_for_run(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        """Like `choose_once`, but the choice is one for all steps of the run."""
        ...


class EditorAccess(Protocol):
    """Access to a running Neovim, which knows more than the files: language servers, diagnostics, lists."""

    async def query(self, name: str, arguments: Mapping[str, Any], *, within: float) -> Any:
        """Return what the editor answers, as JSON.

        :param name: of the editor's table of queries.
        :param within: seconds.
        :raises ToolError: it did not answer in time, or cannot; says why.
        """
        ...


class StepContext(ModelAccess, PersonAccess, WorkspaceAccess, MemoryAccess, Protocol):
    """The context of a handler: facts of its step, and access to model, person, workspace and memory.

    A function that needs only one of these takes that one.
    """

    execution_id: str
    step: str
    prompt: str
    context: RunContext
    options: Mapping[str, Any]
    results: Mapping[str, Any]
    """Results of the steps before, by step name."""
    attempt: int
    """From 1; one that a crash cut off goes on under its number."""
    feedback: str
    """The reason that the attempt before was refused, for the model; empty at the first."""
    inputs: Mapping[str, Any]
    """The run's, of the types that the workflow declares."""
    editor: EditorAccess | None
    """None outside of an editor."""
    definition: WorkflowStep | None
    """The workflow's definition of the step, None of a machine's state."""

    def values(self) -> dict[str, Any]:
        """Return what templates and expressions see: `inputs`, `context`, `steps` and `prompt`."""
        ...

    async def set_context(self, name: str, value: Any) -> None:
        """Give a name of the workflow's `context` another JSON value, for the steps that start from now on.

        It is durable when this returns.

        :raises InvalidInput: the workflow's `context` does not have the name.
        """
        ...


StepHandler = Callable[[StepContext], Awaitable[Any]]
"""Returns a JSON value, or a `Confirm` with one. Raises `StepFailed` or any other `TideateError`."""
