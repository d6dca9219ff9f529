"""All errors of tideate as one class tree, each with a code; suggestions for mistyped names.

::

    TideateError                     base of all errors shown to a person
    ├── ConfigError                  a configuration file or `setup()` is wrong
    │   ├── StateError               private state cannot be used: no space, no permission, another owner
    │   └── UnusableFile             a project's file is a link, a pipe, too large or unreadable
    ├── AdapterError                 a model or an agent gave no usable answer
    │   ├── AdapterUnavailable       unreachable, not installed, or the server failed       (retryable)
    │   ├── AuthenticationFailed     the key is missing or rejected
    │   ├── RateLimited              the provider limits the request rate                   (retryable)
    │   ├── ContextTooLong           the prompt does not fit the model
    │   ├── InvalidReply             the answer is cut off, too long, empty or malformed
    │   └── UnknownAdapter           no adapter has this name
    ├── WorkspaceError               a file cannot be read or edited
    │   ├── AmbiguousCommit          an abbreviation names several commits
    │   ├── OutsideRoot              a path leaves the project or is protected
    │   ├── NotParsed                a text exceeds the parser's limits
    │   ├── NotText                  binary, or not UTF-8
    │   ├── ContextResolutionError   a mention (`@Name`) cannot be resolved
    │   ├── EditConflict             the text changed at the place of an edit
    │   ├── UnusableAnswer           a model's answer contains no usable edit
    │   ├── RollbackConflict         later changes prevent a rollback
    │   ├── RemoteFailed             git cannot reach a remote, or the remote refuses a ref
    │   │   ├── CommitGone           a remote no longer has the commit that a run begins with
    │   │   └── TransferTooLarge     a remote sends more than the limit
    │   ├── RefusedRef               a fetched run or answer is invalid, or its signature does not count
    │   ├── ScratchUnavailable       a scratch copy cannot be created, or is gone
    │   ├── SessionNotFound          no guarded session has this id
    │   └── SnapshotNotFound         no snapshot has this id
    ├── CommandError                 a program could not be run
    │   ├── InvalidCommand           the command is empty or contains a NUL character
    │   ├── ProgramMissing           not installed, or not at its configured path
    │   └── ProgramNotExecutable     it exists and the system cannot execute it
    ├── ToolError                    a tool of an MCP server could not be called
    │   ├── UnknownServer            no MCP server is configured under this name
    │   ├── ServerNotTrusted         an untrusted project file names the server
    │   ├── ServerUnavailable        it cannot be started or reached                        (retryable)
    │   ├── UnknownTool              the server has no tool of this name
    │   ├── InvalidArguments         the arguments do not match the tool's schema
    │   ├── ToolNotPermitted         the user did not allow the call
    │   ├── ToolFailed               the tool reported an error                             (retryable)
    │   ├── ToolTimedOut             the call exceeded its time limit                       (retryable)
    │   ├── ToolInterrupted          the server died during the call                        (retryable)
    │   │   └── SessionExpired       the server rejected the call after its session ended   (retryable)
    │   └── InvalidAnswer            the answer is not MCP, or is too large
    ├── WorkflowError                a run cannot start or continue
    │   ├── UnknownWorkflow          no workflow has this name
    │   ├── InvalidDefinition        a definition or registration is wrong
    │   │   ├── InvalidDefinitionFile    a YAML or JSON file contains mistakes; all are reported
    │   │   └── UnknownAgent         no agent has this name
    │   ├── InvalidInput             the input of a run is unusable
    │   ├── MissingStepHandler       a step has no handler
    │   ├── StepFailed               a step's handler reported an error                     (retryable)
    │   │   ├── BudgetReached        a step, a run or a role has exhausted a budget
    │   │   ├── StepTimedOut         a step took longer than its timeout                    (retryable)
    │   │   └── OutputMismatch       a result does not match the step's schema              (retryable)
    │   ├── MoveLimitReached         a machine exceeded its limit of moves or visits
    │   ├── CostLimitReached         the next request could exceed the run's cost limit
    │   ├── RunNotFound              no run has this id
    │   ├── RunIsOwned               a living process owns the run
    │   │   └── RunTaken             another person or job continues the published run
    │   ├── RunEnded                 the run has ended and cannot continue
    │   ├── RunNotActive             no process owns the run
    │   ├── RunIsHere                a bundle's run is in this project and has continued
    │   ├── InvalidBundle            a bundle is damaged or not one
    │   ├── PersonNeeded             a policy cannot answer a question; the run waits
    │   │   └── LeftAtGate           the run leaves its question for a reviewer elsewhere
    │   ├── DefinitionChanged        the run's definition file changed since its start
    │   └── CheckpointNotFound       no checkpoint has this id
    ├── StoreError                   the runs' database cannot be used
    │   ├── StoreIsNewer             a newer version of tideate created it
    │   └── RunLost                  another process took this run over
    ├── UnusableSchema               a JSON Schema is invalid or refers outside of itself
    │   └── SlowSchema               validation takes too long
    ├── MachineError                 state machines and the `.workflow` language
    │   ├── InvalidTransition        a lifecycle has no such transition
    │   ├── InvalidMachineRecord     a serialized machine does not match its table
    │   ├── InvalidWorkflowFile      a `.workflow` file contains mistakes; all are reported
    │   └── UnknownToken             an obfuscated name does not belong to this key and workflow
    ├── FleetError                   the database of a fleet cannot be used, or a state is wrong
    │   └── SubmissionRefused        a submission is malformed, or its signature is invalid or not allowed
    └── FrontEndGone                 the editor or terminal that started the run is gone
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, Self, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

LONGEST_NAME: Final = 200
"""Longest name that is compared, in characters."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name nearest to `name` by edit distance, or None if half of it would change.

    An edit inserts, deletes or replaces a character, or swaps two neighbours; case is ignored. Among equally
    near names, one with the same first character is preferred.
    """
    best, least = None, (LONGEST_NAME, True)
    wanted = name.casefold()
    if len(wanted) > LONGEST_NAME:
        return None
    for candidate in known:
        other = candidate.casefold()
        longer = max(len(wanted), len(other))
        limit = min(max(1, longer // 2), longer - 1, least[0])
        if longer > LONGEST_NAME or abs(len(wanted) - len(other)) > limit:
            continue
        edits = _distance(wanted, other, limit)
        rank = (edits, wanted[:1] != other[:1])
        if edits <= limit and rank < least:
            best, least = candidate, rank
    return best


def _distance(one: str, other: str, limit: int) -> int:
    """Return the edit distance of two texts, or any number above `limit`."""
    last: list[int] = []
    row = list(range(len(other) + 1))
    for at, character in enumerate(one, 1):
        new = [at]
        for place, wanted in enumerate(other, 1):
            edits = min(row[place] + 1, new[-1] + 1, row[place - 1] + (character != wanted))
            if at > 1 and place > 1 and character == other[place - 2] and one[at - 2] == wanted:
                edits = min(edits, last[place - 2] + 1)
            new.append(edits)
        last, row = row, new
        if min(last) > limit and min(row) > limit:
            break
    return row[-1] if min(row) <= limit else limit + 1


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest known name, or an empty string."""
    near = nearest(name, known)
    return f"; did you mean {near!r}?" if near else ""


class TideateError(Exception):
    """Base of all errors shown to a person; tools match on `code`."""

    @property
    def code(self) -> str:
        """Class name: stable, and the `error_code` of a result."""
        return type(self).__name__


class UnusableSchema(TideateError):
    """A JSON Schema is invalid or refers outside of itself."""


class SlowSchema(UnusableSchema):
    """Validation by a JSON Schema takes too long."""


class FrontEndGone(TideateError):
    """The editor or terminal that started the run is gone."""


class FleetError(TideateError):
    """The fleet's database cannot be used, or a run or worker is in the wrong state."""


class SubmissionRefused(FleetError):
    """A submission is malformed, or its signature is invalid or not allowed."""


class ConfigError(TideateError):
    """A configuration file or `setup()` is wrong."""


class StateError(ConfigError):
    """The private state cannot be created or used; the message has the reason and the remedy."""


class UnusableFile(ConfigError):
    """A project's file is rejected; the message says why.

    :param done: the prevented action: used, or written.
    """

    def __init__(self, path: Path, reason: str, done: str = "used") -> None:
        self.reason = reason
        name = str(path)
        super().__init__(f"{name if name.isprintable() else repr(name)} was not {done}: {reason}")


class WorkspaceError(TideateError):
    """A file cannot be read or edited."""


class RemoteFailed(WorkspaceError):
    """Git cannot reach a remote, or the remote refuses a ref; the message has git's words."""


class CommitGone(RemoteFailed):
    """A remote no longer has the commit that a run begins with."""


class TransferTooLarge(RemoteFailed):
    """A remote sends more than `[inbox] max_fetch_mib`; nothing of it was kept."""


class RefusedRef(WorkspaceError):
    """A published run, question or answer is invalid, was replaced, or its signature does not count."""


class AmbiguousCommit(WorkspaceError):
    """An abbreviation names several commits of a repository."""


class OutsideRoot(WorkspaceError):
    """A path leaves the project's root or is protected."""


class NotText(WorkspaceError):
    """A file is binary, or not in its declared encoding."""


class ContextResolutionError(WorkspaceError):
    """A mention cannot be resolved.

    :param problem: the problem; empty for an unknown mention.
    :param known: valid mentions; the message suggests the nearest.
    """

    def __init__(self, mention: str, problem: str = "", known: Iterable[str] = ()) -> None:
        names = sorted(known)
        near = did_you_mean(mention, names) or "; `tideate context list` shows them all"
        unknown = f"no mention is called {mention}{near}"
        super().__init__(f"{mention}: {problem}" if problem else unknown)
        self.mention = mention


class EditConflict(WorkspaceError):
    """The text changed at the place of an edit; nothing was written.

    :param path: path of the file in the edit; empty if unknown.
    :param line: place of the edit in the current text, 1-based.
    """

    def __init__(self, message: str, *, path: str = "", line: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line


class NotParsed(WorkspaceError):
    """A text exceeds the parser's limits; the message is the reason."""


class UnusableAnswer(WorkspaceError):
    """A model's answer contains no usable edit; the message tells the model why."""


class RollbackConflict(WorkspaceError):
    """Later changes prevent a rollback of a file.

    :param names: files and buffers left unchanged, if known.
    """

    def __init__(self, message: str, names: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.names = tuple(names)


class ScratchUnavailable(WorkspaceError):
    """A scratch copy cannot be created, or is gone; the message has the reason and the remedy."""


class SessionNotFound(WorkspaceError):
    """No guarded session has this id."""


class SnapshotNotFound(WorkspaceError):
    """No snapshot has this id."""


MOST_NAMED = 50
"""Names that an error lists."""


class AdapterError(TideateError):
    """A model or an agent gave no usable answer; the message keeps the provider's words."""


class AdapterUnavailable(AdapterError):
    """The provider is unreachable, not installed, or failing. Retryable."""


class AuthenticationFailed(AdapterError):
    """The key is missing or rejected by the provider."""


class RateLimited(AdapterError):
    """The provider limits the request rate. Retryable.

    :param retry_after: seconds the provider asked for; None if unknown.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ContextTooLong(AdapterError):
    """The prompt does not fit the model."""


class InvalidReply(AdapterError):
    """An answer is cut off, too long, empty, or does not match the schema.

    :param limit: name of the exceeded limit, as in notices; empty if none.
    """

    def __init__(self, message: str, limit: str = "") -> None:
        super().__init__(message)
        self.limit = limit

    @classmethod
    def of_nothing(cls, model: str) -> Self:
        """Return the error for a model that ended without an answer."""
        return cls(
            f"the model {model!r} ended without an answer; try again, word the request differently, or use "
            "another adapter"
        )


class UnknownAdapter(AdapterError):
    """No adapter has this name."""


class CommandError(TideateError):
    """A program could not be run."""


class InvalidCommand(CommandError):
    """The command is empty or contains a NUL character."""


class ProgramMissing(CommandError):
    """A program is not installed, or not at its configured path; the message has the remedy."""


class ProgramNotExecutable(CommandError):
    """A program exists but the system cannot execute it."""


class ToolError(TideateError):
    """A tool of an MCP server could not be called; the message keeps the server's words, bounded."""


class UnknownServer(ToolError):
    """No MCP server is configured under this name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        super().__init__(
            f"no MCP server is called {name!r}{did_you_mean(name, known)} "
            f"(known: {', '.join(known) or 'none'}); `[mcp.servers.NAME]` in config.toml configures one"
        )


class ServerNotTrusted(ToolError):
    """A project's own file names the server, and the file is not trusted."""


class ServerUnavailable(ToolError):
    """The server cannot be started or reached; the message has its last output lines. Retryable."""


class UnknownTool(ToolError):
    """The server has no tool of this name."""

    def __init__(self, server: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
        super().__init__(
            f"the MCP server {server!r} has no tool {name!r}{did_you_mean(name, known)} "
            f"(known: {', '.join(known[:MOST_NAMED]) or 'none'}{more})"
        )


class InvalidArguments(ToolError):
    """The arguments do not match the tool's schema; nothing was sent."""


class ToolNotPermitted(ToolError):
    """The user did not allow this call; nothing was sent."""


class ToolFailed(ToolError):
    """The tool reported an error. Retryable."""


class ToolTimedOut(ToolError):
    """The call exceeded its time limit and was cancelled; it may have taken effect. Retryable."""


class ToolInterrupted(ToolError):
    """The server died during the call, which may have taken effect. Retryable."""


class SessionExpired(ToolInterrupted):
    """The server ended the session and rejected the call, which had no effect. Retryable."""


class InvalidAnswer(ToolError):
    """The server's answer is not MCP, does not match its own schema, or is too large."""


ReadingStage: TypeAlias = Literal["parsing", "validation", "graph"]
"""Stages of reading a definition: syntax, content, order of the steps."""


class WorkflowError(TideateError):
    """A run cannot start or continue."""


class UnknownWorkflow(WorkflowError):
    """No workflow has this name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        super().__init__(
            f"unknown workflow {name!r}{did_you_mean(name, known)} (known: {', '.join(known) or 'none'})"
        )


class InvalidDefinition(WorkflowError):
    """A definition or a registration is wrong."""


class InvalidDefinitionFile(InvalidDefinition):
    """A YAML or JSON file contains mistakes.

    :param mistakes: all `workflows.FileMistake`s of the file, in its order.
    :param failed_in: the first stage with a mistake.
    """

    def __init__(
        self, message: str, mistakes: Sequence[object] = (), failed_in: ReadingStage = "validation"
    ) -> None:
        super().__init__(message)
        self.mistakes = tuple(mistakes)
        self.failed_in: ReadingStage = failed_in
        self.path: Path | None = None
        """The file, if the text comes from one."""
        self.source = "file"
        """Source of the file, as `workflows.Source`."""
        self.execution_id: str | None = None
        """The run that was rejected because of it."""


class UnknownAgent(InvalidDefinition):
    """No agent has this name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        super().__init__(
            f"no agent is called {name!r}{did_you_mean(name, known)} (known: {', '.join(known)})"
        )


class InvalidInput(WorkflowError):
    """The input of a run is unusable."""


class MissingStepHandler(WorkflowError):
    """A step has no handler."""

    def __init__(self, step: str, workflow: str) -> None:
        super().__init__(
            f"Missing step handler: {step} (workflow {workflow!r} lists this step and has no handler for it)"
        )


class StepFailed(WorkflowError):
    """A step's handler reported an error."""


class StepTimedOut(StepFailed):
    """A step took longer than its timeout. Retryable."""


class OutputMismatch(StepFailed):
    """A result does not match the step's schema; the message tells the model why. Retryable."""


class PersonNeeded(WorkflowError):
    """A policy cannot answer a question; the run waits for a person."""


class LeftAtGate(PersonNeeded):
    """The run leaves its question for a reviewer elsewhere."""


class RunNotFound(WorkflowError):
    """No run has this id."""

    def __init__(self, execution_id: str) -> None:
        super().__init__(f"no run has the id {execution_id!r}")


class RunIsOwned(WorkflowError):
    """A living process owns the run; control requests can pause or cancel it."""


class RunTaken(RunIsOwned):
    """Another person or job continues the published run."""


class RunEnded(WorkflowError):
    """The run has ended and cannot continue."""


class RunNotActive(WorkflowError):
    """The run has no owner process that could handle a request."""


class RunIsHere(WorkflowError):
    """The run of a bundle is in this project and has continued.

    :param diverged: it has continued elsewhere, too.
    """

    def __init__(self, message: str, *, diverged: bool = False) -> None:
        super().__init__(message)
        self.diverged = diverged


class InvalidBundle(WorkflowError):
    """A bundle is damaged, of another version, or not a bundle."""

    def __init__(self, problem: str, advice: str = "create or transfer the bundle again") -> None:
        super().__init__(f"the bundle cannot be used: {problem}. Nothing was changed; {advice}")


class DefinitionChanged(WorkflowError):
    """The run's definition file changed since its start; the user has to choose a version."""


class CheckpointNotFound(WorkflowError):
    """No checkpoint has this id."""


class MoveLimitReached(WorkflowError):
    """A machine exceeded its limit of moves or of visits to a state."""


class BudgetReached(StepFailed):
    """A step, a run or a role has exhausted a budget.

    :param limit: its name and value.
    """

    def __init__(self, message: str, limit: str) -> None:
        super().__init__(message)
        self.limit = limit


class CostLimitReached(WorkflowError):
    """The next request could exceed the run's cost limit; it was not sent."""

    limit = "limits.cost_usd"


class StoreError(TideateError):
    """The runs' database cannot be read or written; the message has the reason and the remedy."""


class StoreIsNewer(StoreError):
    """A newer version of tideate created the database; nothing was read or changed."""


class RunLost(StoreError):
    """Another process took this run over; this one must stop."""


class MachineError(TideateError):
    """Error in a state machine or in the `.workflow` language."""


class InvalidTransition(MachineError):
    """A lifecycle has no such transition."""


class InvalidMachineRecord(MachineError):
    """A serialized machine does not match its table; the message names the mistake."""


class InvalidWorkflowFile(MachineError):
    """A `.workflow` file contains mistakes; all with severity `error` are syntax errors.

    :param diagnostics: all `machines.language.Diagnostic`s of the file, in its order.
    """

    failed_in: ReadingStage = "parsing"

    def __init__(self, message: str, diagnostics: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)
        self.path: Path | None = None
        """The file, if the text comes from one."""
        self.source = "file"
        """Source of the file, as `workflows.Source`."""
        self.execution_id: str | None = None
        """The run that was rejected because of it."""


class UnknownToken(MachineError):
    """An obfuscated name does not belong to this key and workflow."""
