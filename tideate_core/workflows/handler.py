"""Interface of step handlers: their context, and the results and decisions they exchange with a run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, Self

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pydantic import BaseModel

    from tideate_core.adapters import (
        AcpAgent,
        AgentUpdate,
        Conversation,
        ModelTurn,
        OfferedTool,
        Prompt,
        Reply,
    )
    from tideate_core.workflows.run_context import EarlierRun, NextRun, RunContext
    from tideate_core.workflows.step_definition import WorkflowStep
    from tideate_core.workspace import ExecutableFile, FileChange, Hunk, Workspace

DecisionKind = Literal["gate", "plan", "document", "review", "override", "tool", "compare"]
"""`document`: an editable Markdown text; the decision's value is `{"text": …}`, None if unchanged.
`tool`: permission for a tool call; the value is `run` or `project` if it holds for longer than one call.
`compare`: the value is `{"take": RUN}`."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of a check on the accepted part of a review."""

    check: str = ""
    status: str = ""
    """`passed`, `failed`, or another status in words."""
    report: str = ""
    checks: tuple[str, ...] = ()
    """Names of checks to choose from; if there are any, no check has run."""

    def as_json(self) -> dict[str, Any]:
        shape = {"check": self.check, "status": self.status, "report": self.report}
        return {"checks": list(self.checks)} if self.checks else shape


CheckAccepted = Callable[[Any, str], Awaitable[CheckResult]]
"""Function of a partial answer and the name of a check; an empty name means the only check, or a choice."""


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


COMPARISON: Final = "comparison"
"""Author of the answers that a comparison gives, as when it took another run."""


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
    """A confirmation was declined; the run ends as cancelled.

    :param by: see `Decision`.
    """

    def __init__(self, reason: str = "", by: str = "user") -> None:
        super().__init__(reason)
        self.by = by


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
    """The answers come from the bundled demonstration model, which is unreliable."""
    attempts: int
    """Maximum number of repeated requests after unusable answers."""
    revisions: int
    """Maximum number of revisions in one review."""
    concurrency: int
    """Maximum number of parallel requests of one step."""
    mention_tokens: int
    """Maximum tokens of the material that mentions add to a prompt."""
    rules_files: Sequence[str] | None
    """Additional rules files of the project; None: no rules file is sent."""
    memory_of: str | None
    """Adapter with its address, whose earlier runs and `MEMORY.md` are sent; None: nothing is sent."""
    context_tokens: int | None
    """Maximum tokens of prompt and answer together; None if unknown."""

    def allowances(self) -> Sequence[Allowance]:
        """Return the remaining budgets of the step and of the run, for each configured limit.

        All work loops of a step use one budget, in all attempts, also before a crash. All steps of a run and
        of its nested runs use another. An item of a `for_each` has the budget of a step.
        """
        ...

    async def extend_budget(self) -> None:
        """Extend the step's budget by its configured amount, and the run's if it is used up.

        The extension is durable when this returns. Repeated calls after a crash do not extend it again.
        """
        ...

    def writing_as(self, memo: str) -> Self:
        """Return this step with writes that belong to a memo: a resumed run keeps them if the memo is stored.

        :param memo: the key for `remember`.
        """
        ...

    def measured_by(self, adapter: str | None) -> Self:
        """Return this context with the context window of another adapter, to fit prompts to it.

        `ask` still uses the run's adapter if none is named.

        :param adapter: None: the run's adapter.
        :raises UnknownAdapter: no adapter has this name.
        """
        ...

    @property
    def tool_servers(self) -> Collection[str]:
        """Names of the configured MCP servers."""
        ...

    async def ask(
        self,
        prompt: Prompt,
        *,
        schema: type[BaseModel] | None = None,
        quiet: bool = False,
        adapter: str | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Reply:
        """Send a prompt to a model; the answer is streamed to the front end unless `quiet`.

        :param on_text: called with each piece of the answer, except in a replay after a crash.
        :param adapter: name of an adapter; None: the run's.
        """
        ...

    def agent(self, adapter: str | None = None) -> AcpAgent | None:
        """Return the agent of an adapter; None if the adapter is a model.

        :param adapter: name of an adapter; None: the run's.
        :raises UnknownAdapter: no agent has this name.
        """
        ...

    def show_agent(
        self, agent: str, *, quiet: bool = False
    ) -> AbstractContextManager[Callable[[AgentUpdate], None]]:
        """Return a function that shows an agent's updates as events; its open calls end with the block.

        The function raises an error at a limit of the step or the run.

        :param agent: name of the adapter.
        :param quiet: do not show text and thoughts.
        """
        ...

    def count_reply(self, adapter: str, reply: Reply, seconds: float) -> None:
        """Count a reply that was not requested with `ask`: usage, cost, and the event of an answer."""
        ...

    def can_use_tools(self, adapter: str | None = None) -> bool:
        """Return whether a model can call tools.

        :param adapter: name of an adapter; None: the run's.
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
        """Return a model's next turn, durable when this returns; no tool is called here.

        :param key: unique for each turn of the step. After a crash, a recorded turn with this key is returned
            without a request.
        """
        ...

    def has_turn(self, key: str) -> bool:
        """Return whether a turn with this key is recorded, so that `take_turn` sends no request."""
        ...

    async def earlier(self) -> EarlierRun | None:
        """Return the run that this one continues; None if it continues none.

        :raises TideateError: the earlier run was deleted before this run read it.
        """
        ...

    @property
    def proposed(self) -> NextRun | None:
        """The last proposal for a following run."""
        ...

    async def propose(self, next_run: NextRun | None) -> None:
        """Propose a following run, or withdraw the proposal with None; durable when this returns."""
        ...

    def conversation(self, step: str) -> Conversation | None:
        """Return the last conversation of a step of the run; None if it had none."""
        ...

    def keep_conversation(self, conversation: Conversation, staged: Sequence[FileChange] = ()) -> None:
        """Store the step's conversation with the next commit, for runs that continue this one.

        A conversation without a model's turn is not stored.

        :param staged: edits made in the conversation.
        """
        ...

    def allow_secrets(self, text: str) -> None:
        """Allow the run's models to see the secrets of a text that the person typed or approved."""
        ...

    def hide_secrets(self, value: Any) -> Any:
        """Return a text or JSON value without secrets that the person did not approve.

        Prompts are filtered in any case. Filter a text before cutting it: half a secret is not recognized.
        """
        ...

    async def find_tools(self, names: Sequence[str], adapter: str | None = None) -> list[OfferedTool]:
        """Return tools of MCP servers for a model: `SERVER/TOOL`, `SERVER`, or `SERVER/*` for all of one.

        :raises ConfigError: the adapter cannot use tools.
        :raises ToolError: a tool was not found.
        """
        ...

    def report_call(
        self, tool: str, arguments: Mapping[str, Any], *, server: str = ""
    ) -> AbstractContextManager[CallReport]:
        """Report the start and the end of a tool call.

        :param server: name of the tool's MCP server; empty for tideate's own tools.
        """
        ...

    async def read_messages(self, key: str) -> list[str]:
        """Return each message of the person to the model once.

        :param key: unique for each call of the step. After a crash, the same key returns the same messages.
        """
        ...

    async def wait_if_paused(self) -> None:
        """Wait until the run is not paused."""
        ...

    def render(self, name: str, **values: Any) -> Prompt:
        """Render a prompt file: the project's, else the person's, else the built-in one."""
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
        check: CheckAccepted | None = None,
        permission: bool = False,
    ) -> Decision:
        """Ask the person; the caller handles a refusal.

        :param executed: files that other tools execute automatically; the question warns about them.
        :param check: runs a check on the accepted part of a review.
        :param permission: it asks to run something or to read a secret; a moved run asks again.
        """
        ...

    def notice(
        self,
        message: str,
        *,
        level: Literal["info", "warn"] = "info",
        unsaved: Sequence[str] = (),
        unresolved: str = "",
    ) -> None:
        """Show the person a message that needs no answer.

        :param unsaved: files whose changes are only in an editor's buffers; it lists them when the run ends.
        :param unresolved: a mention that cannot be resolved.
        """
        ...

    def gate(self, name: str, issues: list[str], entries: Sequence[dict[str, Any]] = ()) -> None:
        """Report the result of a check; no issues: it passed.

        :param entries: positions of the issues, in the shape of `Failure.as_json()`.
        """
        ...

    def show_hunks(self, buffer: int, hunks: Sequence[Hunk], before: str | None = None) -> None:
        """Show the changes of an incomplete answer in the editor's buffer, without a question.

        :param before: the text that the hunks change; None: the text of the last call.
        """
        ...

    async def present(self, text: str, filetype: str) -> None:
        """Show a new text that is not in a file yet."""
        ...


class WorkspaceAccess(Protocol):
    """Access to files."""

    refuses_executed: bool
    """The run does not write files that other tools execute."""

    @property
    def workspace(self) -> Workspace:
        """The run's workspace; it attributes each change to this step."""
        ...

    def changed(self, paths: list[str], executed: Sequence[ExecutableFile] = ()) -> None:
        """Record the changed files and buffers, and report files that other tools execute."""
        ...


class MemoryAccess(Protocol):
    """Access to memory that survives a crash."""

    def recall(self, key: str) -> Any:
        """Return a value stored by this step, also before a crash; `MISSING` if there is none."""
        ...

    async def remember(self, key: str, value: Any) -> None:
        """Store a JSON value for this step; durable when this returns."""
        ...

    def numbered(self, key: str) -> str:
        """Return a key with the number of its uses in this attempt: each repetition has its own key.

        After a crash the numbers start again, so that the same actions have the same keys.
        """
        ...

    async def choose_once(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        """Return the stored choice for a question, or make and store it.

        :param key: unique for each choice of the step.
        :param digest: hash of everything that the choice depends on; a new hash means a new choice.
        :param produce: returns a JSON value.
        """
        ...

    async def choose_for_run(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        """Like `choose_once`, with one choice for all steps of the run."""
        ...


class EditorAccess(Protocol):
    """Access to a running Neovim: language servers, diagnostics and lists."""

    async def query(self, name: str, arguments: Mapping[str, Any], *, within: float) -> Any:
        """Return the editor's answer to a query, a JSON value.

        :param name: a name in the editor's table of queries.
        :param within: seconds.
        :raises ToolError: the editor failed or did not answer in time.
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
    """Results of completed steps, by step name."""
    attempt: int
    """From 1; after a crash, the interrupted attempt continues with its number."""
    feedback: str
    """Why the previous attempt was refused, for the model; empty in the first attempt."""
    inputs: Mapping[str, Any]
    """The run's inputs, with the types that the workflow declares."""
    editor: EditorAccess | None
    """None outside an editor."""
    definition: WorkflowStep | None
    """The workflow's definition of the step; None for a machine's state."""

    @property
    def is_left(self) -> bool:
        """The run is stopping, and will be resumed; it is not cancelled."""
        ...

    def values(self) -> dict[str, Any]:
        """Return the variables of templates and expressions: `inputs`, `context`, `steps` and `prompt`."""
        ...

    async def set_context(self, name: str, value: Any) -> None:
        """Set a variable of the workflow's `context` to a JSON value, for steps that start later.

        It is durable when this returns.

        :raises InvalidInput: the workflow's `context` has no variable of this name.
        """
        ...


StepHandler = Callable[[StepContext], Awaitable[Any]]
"""Returns a JSON value, or a `Confirm` with one. Raises `StepFailed` or any other `TideateError`."""
