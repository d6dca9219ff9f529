"""The error tree.

::

    TideateError                     every error that a person may see
    ├── ConfigError                  a configuration file or `setup()` is wrong
    │   ├── StateError               private state cannot be used: no space, no right, not the person's
    │   └── UnusableFile             a project's file is a link, a pipe, too large or cannot be read
    ├── AdapterError                 what answers prompts did not
    │   ├── AdapterUnavailable       unreachable, not installed, or the server failed       (retryable)
    │   ├── AuthenticationFailed     no key, or the provider refused it
    │   ├── RateLimited              the provider asks to wait                              (retryable)
    │   ├── ContextTooLong           the prompt does not fit the model
    │   ├── InvalidReply             an answer that is not what was asked for
    │   └── UnknownAdapter           no adapter has this name
    ├── WorkspaceError               files and edits
    │   ├── OutsideRoot              a path leaves the project, or is never written
    │   ├── NotText                  binary, or not UTF-8
    │   ├── ContextResolutionError   a mention (`@Name`) stands for nothing that can be read
    │   ├── EditConflict             the text changed where the edit goes
    │   ├── UnusableAnswer           a model's answer from which no edit can be made
    │   ├── RollbackConflict         what a rollback would restore was changed since
    │   └── SnapshotNotFound         no snapshot has this id
    ├── CommandError                 a program that was to be run
    │   ├── InvalidCommand           what was given is no command
    │   ├── ProgramMissing           it is not installed, or not where it was said to be
    │   └── ProgramNotExecutable     it is there and the system does not run it
    ├── ToolError                    a tool of an MCP server
    │   ├── UnknownServer            no MCP server is configured under this name
    │   ├── ServerNotTrusted         a project's file names the server, and the file is not trusted
    │   ├── ServerUnavailable        it cannot be started or reached                        (retryable)
    │   ├── UnknownTool              the server has no tool of this name
    │   ├── InvalidArguments         the arguments do not fit the tool's schema
    │   ├── ToolNotPermitted         the person did not allow the call, or nobody could be asked
    │   ├── ToolFailed               the tool reported an error                             (retryable)
    │   ├── ToolTimedOut             it took longer than it may                             (retryable)
    │   ├── ToolInterrupted          the server died during the call, which may be done     (retryable)
    │   └── InvalidAnswer            what the server answered is not MCP, or is too large
    ├── WorkflowError                a run cannot start or go on
    │   ├── UnknownWorkflow          no workflow has this name
    │   ├── InvalidDefinition        a definition or registration is wrong
    │   │   └── InvalidDefinitionFile    a YAML or JSON file has mistakes; all of them are told
    │   ├── InvalidInput             a run was started with unusable input
    │   ├── MissingStepHandler       a step has nothing that runs it
    │   ├── StepFailed               a step's handler reported an error                     (retryable)
    │   │   ├── StepTimedOut         a step took longer than its timeout                    (retryable)
    │   │   └── OutputMismatch       a result does not fit the step's schema                (retryable)
    │   ├── MoveLimitReached         a machine goes round in circles
    │   ├── RunNotFound              no run has this id
    │   ├── RunIsOwned               a living process has the run
    │   ├── RunEnded                 the run has ended and cannot go on
    │   ├── RunNotActive             no process has the run, so none can be asked for anything
    │   ├── DefinitionChanged        the run's file is another one than the run was started with
    │   └── CheckpointNotFound       no checkpoint has this id
    ├── StoreError                   the runs' database cannot be used
    │   ├── StoreIsNewer             a newer tideate made it
    │   └── RunLost                  another process took this run over
    ├── UnusableSchema               a JSON Schema that no value can be held against
    │   └── SlowSchema               it takes too long
    ├── MachineError                 state machines and the `.workflow` language
    │   ├── InvalidTransition        a lifecycle was asked for a step it does not have
    │   ├── InvalidMachineRecord     a serialized machine does not fit its table
    │   ├── InvalidWorkflowFile      a `.workflow` file has mistakes; all of them are told
    │   └── UnknownToken             an obfuscated name that this key and workflow do not give
    └── FrontEndGone                 the editor or the terminal that started the run went away
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = [
    "SlowSchema",
    "AdapterError",
    "AdapterUnavailable",
    "AuthenticationFailed",
    "CheckpointNotFound",
    "CommandError",
    "ConfigError",
    "ContextResolutionError",
    "ContextTooLong",
    "DefinitionChanged",
    "EditConflict",
    "FrontEndGone",
    "InvalidAnswer",
    "InvalidArguments",
    "InvalidCommand",
    "InvalidDefinition",
    "InvalidDefinitionFile",
    "InvalidInput",
    "InvalidMachineRecord",
    "InvalidReply",
    "InvalidTransition",
    "InvalidWorkflowFile",
    "MachineError",
    "MissingStepHandler",
    "MoveLimitReached",
    "NotText",
    "OutputMismatch",
    "OutsideRoot",
    "ProgramMissing",
    "ProgramNotExecutable",
    "RateLimited",
    "RollbackConflict",
    "RunEnded",
    "RunIsOwned",
    "RunLost",
    "RunNotActive",
    "RunNotFound",
    "ServerNotTrusted",
    "ServerUnavailable",
    "SnapshotNotFound",
    "StateError",
    "StepFailed",
    "StepTimedOut",
    "StoreError",
    "StoreIsNewer",
    "TideateError",
    "ToolError",
    "ToolFailed",
    "ToolInterrupted",
    "ToolNotPermitted",
    "ToolTimedOut",
    "UnknownAdapter",
    "UnknownServer",
    "UnknownToken",
    "UnknownTool",
    "UnknownWorkflow",
    "UnusableAnswer",
    "UnusableFile",
    "UnusableSchema",
    "WorkflowError",
    "WorkspaceError",
    "did_you_mean",
]


MOST_NAMED = 50
"""Names that an error lists."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest known name, or an empty string."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


class TideateError(Exception):
    """The root of everything that may be shown to a person; `code` is what tools match on."""

    @property
    def code(self) -> str:
        """The class name: stable, and the `error_code` of a result."""
        return type(self).__name__


class ConfigError(TideateError):
    """A configuration file or `setup()` is wrong."""


class StateError(ConfigError):
    """The private state cannot be made or used; the message says why and what to do."""


class UnusableFile(ConfigError):
    """A file of a project that is not used, and why.

    :param done: what was not done: used, or written.
    """

    def __init__(self, path: Path, reason: str, done: str = "used") -> None:
        self.reason = reason
        name = str(path)
        super().__init__(f"{name if name.isprintable() else repr(name)} was not {done}: {reason}")


class AdapterError(TideateError):
    """What answers prompts did not; the provider's own words are kept in the message."""


class AdapterUnavailable(AdapterError):
    """Unreachable, not installed, or failing on its side. May pass: retryable."""


class AuthenticationFailed(AdapterError):
    """There is no key, or the provider refused it."""


class RateLimited(AdapterError):
    """The provider asks to wait. Retryable.

    :param retry_after: seconds the provider asked for, None if it did not say.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ContextTooLong(AdapterError):
    """The prompt does not fit the model."""


class InvalidReply(AdapterError):
    """An answer that is not what was asked for: cut off, empty, or not of the schema."""


class UnknownAdapter(AdapterError):
    """No adapter has this name."""


class WorkspaceError(TideateError):
    """Files and edits."""


class OutsideRoot(WorkspaceError):
    """A path leaves the project's root, or is one that a workflow never writes."""


class NotText(WorkspaceError):
    """Binary, or not in the encoding it claims."""


class ContextResolutionError(WorkspaceError):
    """A mention stands for nothing that can be read.

    :param problem: what is wrong with it; empty where no mention is called so.
    :param known: the mentions that there are; the nearest is named.
    """

    def __init__(self, mention: str, problem: str = "", known: Iterable[str] = ()) -> None:
        names = sorted(known)
        near = did_you_mean(mention, names) or "; `tideate context list` shows them all"
        unknown = f"no mention is called {mention}{near}"
        super().__init__(f"{mention}: {problem}" if problem else unknown)
        self.mention = mention


class EditConflict(WorkspaceError):
    """The text changed where the edit goes; nothing was written."""


class UnusableAnswer(WorkspaceError):
    """A model's answer from which no edit can be made; the message tells the model why."""


class RollbackConflict(WorkspaceError):
    """What a rollback would restore was changed since.

    :param names: of the files and buffers that were left as they are, where that is known.
    """

    def __init__(self, message: str, names: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.names = tuple(names)


class SnapshotNotFound(WorkspaceError):
    """No snapshot has this id."""


class CommandError(TideateError):
    """A program that was to be run."""


class InvalidCommand(CommandError):
    """What was given is no command: empty, or with a character that no argument can have."""


class ProgramMissing(CommandError):
    """Not installed, or not where it was said to be; the message says what to install or to configure."""


class ProgramNotExecutable(CommandError):
    """It is there and the system does not run it."""


class ToolError(TideateError):
    """A tool of an MCP server; what the server itself said is kept in the message, bounded."""


class UnknownServer(ToolError):
    """No MCP server is configured under this name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        super().__init__(
            f"no MCP server is called {name!r}{did_you_mean(name, known)} "
            f"(known: {', '.join(known) or 'none'}); `[mcp.servers.NAME]` in config.toml configures one"
        )


class ServerNotTrusted(ToolError):
    """A project's own file names the server, and nobody trusted that file."""


class ServerUnavailable(ToolError):
    """It cannot be started or reached; the message has the last lines that it wrote. Retryable."""


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
    """The arguments do not fit the tool's schema; nothing was sent."""


class ToolNotPermitted(ToolError):
    """The person did not allow the call, or allowed another one; nothing was sent."""


class ToolFailed(ToolError):
    """The tool reported an error. Retryable."""


class ToolTimedOut(ToolError):
    """The call took longer than it may; it was cancelled, and may be done all the same. Retryable."""


class ToolInterrupted(ToolError):
    """The server died during the call, which may be done or not. Retryable."""


class InvalidAnswer(ToolError):
    """What the server answered is not MCP, does not fit its own schema, or is too large."""


class WorkflowError(TideateError):
    """A run cannot start or go on."""


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
    """A YAML or JSON file has mistakes.

    :param mistakes: `workflows.FileMistake`s, all of the file, in its order.
    """

    def __init__(self, message: str, mistakes: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.mistakes = tuple(mistakes)


class InvalidInput(WorkflowError):
    """A run was started with input that it cannot use."""


class MissingStepHandler(WorkflowError):
    """A step has nothing that runs it (REQ-WORK-005)."""

    def __init__(self, step: str, workflow: str) -> None:
        super().__init__(
            f"Missing step handler: {step} (workflow {workflow!r} lists this step and has no handler for it)"
        )


class StepFailed(WorkflowError):
    """A step's handler reported an error."""


class StepTimedOut(StepFailed):
    """A step took longer than its timeout. Retryable."""


class OutputMismatch(StepFailed):
    """A result does not fit the step's schema; the message tells the model why. Retryable."""


class RunNotFound(WorkflowError):
    """No run has this id."""

    def __init__(self, execution_id: str) -> None:
        super().__init__(f"no run has the id {execution_id!r}")


class RunIsOwned(WorkflowError):
    """A living process has the run; it can be asked to pause or cancel it, not be robbed of it."""


class RunEnded(WorkflowError):
    """The run has ended and cannot go on."""


class RunNotActive(WorkflowError):
    """No process has the run, so none can be asked for anything."""


class DefinitionChanged(WorkflowError):
    """The run's file is another one than the run was started with; the person decides which one counts."""


class CheckpointNotFound(WorkflowError):
    """No checkpoint has this id."""


class MoveLimitReached(WorkflowError):
    """A machine goes round in circles: it made more moves, or came more often to a state, than allowed."""


class StoreError(TideateError):
    """The runs' database cannot be read or written; the message says why and what to do."""


class StoreIsNewer(StoreError):
    """A newer tideate made the database; nothing was read or changed."""


class RunLost(StoreError):
    """Another process took this run over; this one must not go on with it."""


class UnusableSchema(TideateError):
    """A JSON Schema that no value can be held against: it is none, or leads out of itself."""


class SlowSchema(UnusableSchema):
    """A JSON Schema that takes too long to be held against a value."""


class MachineError(TideateError):
    """State machines and the `.workflow` language."""


class InvalidTransition(MachineError):
    """A lifecycle was asked for a step it does not have."""


class InvalidMachineRecord(MachineError):
    """A serialized machine does not fit its table; the message names what is wrong."""


class InvalidWorkflowFile(MachineError):
    """A `.workflow` file has mistakes.

    :param diagnostics: `machines.language.Diagnostic`s, all of the file, in its order.
    """

    def __init__(self, message: str, diagnostics: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


class UnknownToken(MachineError):
    """An obfuscated name that this key and workflow do not give."""


class FrontEndGone(TideateError):
    """The editor or the terminal that started the run went away."""
