"""The error tree.

::

    TideateError                     every error that a person may see
    ├── ConfigError                  a configuration file or `setup()` is wrong
    │   ├── StateError               private state cannot be used: no space, no right, not the person's
    │   └── UnusableFile             a project's file is a link, a pipe, too large or cannot be read
    ├── AdapterError                 a model or an agent gave no usable answer
    │   ├── AdapterUnavailable       unreachable, not installed, or the server failed       (retryable)
    │   ├── AuthenticationFailed     no key, or the provider refused it
    │   ├── RateLimited              the provider asks to wait                              (retryable)
    │   ├── ContextTooLong           the prompt does not fit the model
    │   ├── InvalidReply             an answer that is not what was asked for
    │   └── UnknownAdapter           no adapter has this name
    ├── WorkspaceError               a file cannot be read or edited
    │   ├── AmbiguousCommit          several commits of a repository go by one name
    │   ├── OutsideRoot              a path leaves the project, or is never written
    │   ├── NotParsed                a text that takes too long to parse
    │   ├── NotText                  binary, or not UTF-8
    │   ├── ContextResolutionError   a mention (`@Name`) stands for nothing that can be read
    │   ├── EditConflict             the text changed where the edit goes
    │   ├── UnusableAnswer           a model's answer from which no edit can be made
    │   ├── RollbackConflict         a file that a rollback would restore was changed since
    │   ├── ScratchUnavailable       a scratch copy cannot be made, or is gone
    │   └── SnapshotNotFound         no snapshot has this id
    ├── CommandError                 a program could not be run
    │   ├── InvalidCommand           it is empty, or has a NUL character
    │   ├── ProgramMissing           it is not installed, or not where it was said to be
    │   └── ProgramNotExecutable     it is there and the system does not run it
    ├── ToolError                    a tool of an MCP server could not be called
    │   ├── UnknownServer            no MCP server is configured under this name
    │   ├── ServerNotTrusted         a project's file names the server, and the file is not trusted
    │   ├── ServerUnavailable        it cannot be started or reached                        (retryable)
    │   ├── UnknownTool              the server has no tool of this name
    │   ├── InvalidArguments         the arguments do not fit the tool's schema
    │   ├── ToolNotPermitted         the person did not allow the call, or nobody could be asked
    │   ├── ToolFailed               the tool reported an error                             (retryable)
    │   ├── ToolTimedOut             it took longer than it may                             (retryable)
    │   ├── ToolInterrupted          the server died during the call, which may be done     (retryable)
    │   │   └── SessionExpired       the server refused the call, for its session had ended (retryable)
    │   └── InvalidAnswer            what the server answered is not MCP, or is too large
    ├── WorkflowError                a run cannot start or go on
    │   ├── UnknownWorkflow          no workflow has this name
    │   ├── InvalidDefinition        a definition or registration is wrong
    │   │   ├── InvalidDefinitionFile    a YAML or JSON file has mistakes; all are reported
    │   │   └── UnknownAgent         no agent has this name
    │   ├── InvalidInput             a run was started with unusable input
    │   ├── MissingStepHandler       a step has nothing that runs it
    │   ├── StepFailed               a step's handler reported an error                     (retryable)
    │   │   ├── BudgetReached        a step, a run or a role used up what it may use
    │   │   ├── StepTimedOut         a step took longer than its timeout                    (retryable)
    │   │   └── OutputMismatch       a result does not fit the step's schema                (retryable)
    │   ├── MoveLimitReached         a machine goes round in circles
    │   ├── CostLimitReached         the next request could pass what a run may spend
    │   ├── RunNotFound              no run has this id
    │   ├── RunIsOwned               a living process has the run
    │   ├── RunEnded                 the run has ended and cannot go on
    │   ├── RunNotActive             no process has the run, so none can be asked for anything
    │   ├── PersonNeeded             no policy may answer a question; the run waits
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
    │   ├── InvalidWorkflowFile      a `.workflow` file has mistakes; all are reported
    │   └── UnknownToken             an obfuscated name that this key and workflow do not give
    └── FrontEndGone                 the editor or the terminal that started the run went away
"""

from __future__ import annotations

from tideate_core.errors.base import (
    FrontEndGone,
    SlowSchema,
    TideateError,
    UnusableSchema,
    did_you_mean,
)
from tideate_core.errors.files import (
    AmbiguousCommit,
    ConfigError,
    ContextResolutionError,
    EditConflict,
    NotParsed,
    NotText,
    OutsideRoot,
    RollbackConflict,
    ScratchUnavailable,
    SnapshotNotFound,
    StateError,
    UnusableAnswer,
    UnusableFile,
    WorkspaceError,
)
from tideate_core.errors.nearest import nearest
from tideate_core.errors.runs import (
    BudgetReached,
    CheckpointNotFound,
    CostLimitReached,
    DefinitionChanged,
    InvalidDefinition,
    InvalidDefinitionFile,
    InvalidInput,
    InvalidMachineRecord,
    InvalidTransition,
    InvalidWorkflowFile,
    MachineError,
    MissingStepHandler,
    MoveLimitReached,
    OutputMismatch,
    PersonNeeded,
    ReadingStage,
    RunEnded,
    RunIsOwned,
    RunLost,
    RunNotActive,
    RunNotFound,
    StepFailed,
    StepTimedOut,
    StoreError,
    StoreIsNewer,
    UnknownAgent,
    UnknownToken,
    UnknownWorkflow,
    WorkflowError,
)
from tideate_core.errors.services import (
    AdapterError,
    AdapterUnavailable,
    AuthenticationFailed,
    CommandError,
    ContextTooLong,
    InvalidAnswer,
    InvalidArguments,
    InvalidCommand,
    InvalidReply,
    ProgramMissing,
    ProgramNotExecutable,
    RateLimited,
    ServerNotTrusted,
    ServerUnavailable,
    SessionExpired,
    ToolError,
    ToolFailed,
    ToolInterrupted,
    ToolNotPermitted,
    ToolTimedOut,
    UnknownAdapter,
    UnknownServer,
    UnknownTool,
)

__all__ = [
    "AdapterError",
    "AdapterUnavailable",
    "AmbiguousCommit",
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
    "BudgetReached",
    "CostLimitReached",
    "MoveLimitReached",
    "NotParsed",
    "NotText",
    "OutputMismatch",
    "PersonNeeded",
    "ReadingStage",
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
    "ScratchUnavailable",
    "ServerNotTrusted",
    "ServerUnavailable",
    "SlowSchema",
    "SnapshotNotFound",
    "StateError",
    "StepFailed",
    "StepTimedOut",
    "StoreError",
    "StoreIsNewer",
    "TideateError",
    "ToolError",
    "ToolFailed",
    "SessionExpired",
    "ToolInterrupted",
    "ToolNotPermitted",
    "ToolTimedOut",
    "UnknownAdapter",
    "UnknownAgent",
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
    "nearest",
]
