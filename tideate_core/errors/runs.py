"""Errors of workflows, their runs, the database and state machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from tideate_core.errors.base import TideateError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = [
    "BudgetReached",
    "CheckpointNotFound",
    "DefinitionChanged",
    "InvalidDefinition",
    "InvalidDefinitionFile",
    "InvalidInput",
    "InvalidMachineRecord",
    "InvalidTransition",
    "InvalidWorkflowFile",
    "MachineError",
    "MissingStepHandler",
    "CostLimitReached",
    "MoveLimitReached",
    "OutputMismatch",
    "PersonNeeded",
    "ReadingStage",
    "RunEnded",
    "RunIsOwned",
    "RunLost",
    "RunNotActive",
    "RunNotFound",
    "StepFailed",
    "StepTimedOut",
    "StoreError",
    "StoreIsNewer",
    "UnknownAgent",
    "UnknownToken",
    "UnknownWorkflow",
    "WorkflowError",
]


ReadingStage: TypeAlias = Literal["parsing", "validation", "graph"]
"""Parts of the work on a definition's text: its syntax, its content, the order of its steps."""


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
    :param failed_in: the first part of the work on it that found one.
    """

    def __init__(
        self, message: str, mistakes: Sequence[object] = (), failed_in: ReadingStage = "validation"
    ) -> None:
        super().__init__(message)
        self.mistakes = tuple(mistakes)
        self.failed_in: ReadingStage = failed_in
        self.path: Path | None = None
        """The file, where the text is one's."""
        self.source = "file"
        """Who has that file, as `workflows.Source`."""
        self.execution_id: str | None = None
        """The run that was refused for it."""


class UnknownAgent(InvalidDefinition):
    """No agent has this name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        super().__init__(
            f"no agent is called {name!r}{did_you_mean(name, known)} (known: {', '.join(known)})"
        )


class InvalidInput(WorkflowError):
    """A run was started with input that it cannot use."""


class MissingStepHandler(WorkflowError):
    """A step has nothing that runs it."""

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


class PersonNeeded(WorkflowError):
    """No policy may answer a question; the run waits for a person."""


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


class BudgetReached(StepFailed):
    """A step, a run or a role has used up what it may use.

    :param limit: its name and value.
    """

    def __init__(self, message: str, limit: str) -> None:
        super().__init__(message)
        self.limit = limit


class CostLimitReached(WorkflowError):
    """The next request could pass what a run may spend; it was not sent."""

    limit = "limits.cost_usd"


class StoreError(TideateError):
    """The runs' database cannot be read or written; the message says why and what to do."""


class StoreIsNewer(StoreError):
    """A newer tideate made the database; nothing was read or changed."""


class RunLost(StoreError):
    """Another process took this run over; this one must not go on with it."""


class MachineError(TideateError):
    """State machines and the `.workflow` language."""


class InvalidTransition(MachineError):
    """A lifecycle was asked for a step it does not have."""


class InvalidMachineRecord(MachineError):
    """A serialized machine does not fit its table; the message names what is wrong."""


class InvalidWorkflowFile(MachineError):
    """A `.workflow` file has mistakes; all that are errors are those of its syntax.

    :param diagnostics: `machines.language.Diagnostic`s, all of the file, in its order.
    """

    failed_in: ReadingStage = "parsing"

    def __init__(self, message: str, diagnostics: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)
        self.path: Path | None = None
        """The file, where the text is one's."""
        self.source = "file"
        """Who has that file, as `workflows.Source`."""
        self.execution_id: str | None = None
        """The run that was refused for it."""


class UnknownToken(MachineError):
    """An obfuscated name that this key and workflow do not give."""
