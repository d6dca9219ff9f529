"""Legs of a run: each leads from the start or an answer to the next question or the end.

A leg is one DBOS workflow. A leg that ends with a question stores the run as a bundle. A waiting run then
needs no worker and no place in a queue, and any worker can begin its next leg.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from tideate_core.errors import SubmissionRefused
from tideate_core.fleet.submission import SignedSubmission, Submission  # noqa: TC001 pydantic reads it
from tideate_core.fleet.words import CleanText  # noqa: TC001 pydantic reads it

if TYPE_CHECKING:
    from tideate_core.portable import Question

START: Final = "tideate.run"
CONTINUE: Final = "tideate.continue"
FIRE: Final = "tideate.fire"
"""Names of the DBOS workflows: the first leg of a run, a later leg, and one time of a schedule."""
VERSION: Final = "tideate-1"
"""Application version in DBOS; change it if older workers cannot continue the legs of newer ones."""
MOST_LEGS: Final = 10_000


class State(StrEnum):
    """State of a run, or of its last leg."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    DECLINED = "declined"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REFUSED = "refused"


RETRIED: Final = frozenset({State.FAILED, State.CANCELLED, State.REFUSED, State.DECLINED})
"""States in which a run can be retried."""


ENDED: Final = RETRIED | {State.COMPLETED}


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class OpenQuestion(_Shape):
    """Summary of an open question, for lists."""

    n: int = Field(ge=1)
    """Number of the question in the inbox."""
    kind: str
    workflow: str
    step: str
    message: CleanText
    digest: str

    @classmethod
    def of(cls, question: Question) -> OpenQuestion:
        """Return the summary of a question."""
        return cls(
            n=question.n,
            kind=question.kind,
            workflow=question.workflow,
            step=question.step,
            message=question.message[:500],
            digest=question.digest,
        )


class SealedAnswer(_Shape):
    """An answer, as the worker that read and checked it in the inbox left it."""

    n: int = Field(ge=0)
    """Number of the question."""
    worked: int = Field(default=0, ge=0)
    """Seconds that the run has worked until the question."""
    answer: dict[str, JsonValue]
    """The answer as it was published."""
    seal: str = ""


class Prepared(_Shape):
    """Start of a leg on a worker."""

    commit: str = Field(pattern=r"^[0-9a-f]{40,64}$")
    at: int = Field(ge=0)
    """Milliseconds since the epoch."""
    rate: str | None = None
    """Provider whose rate limits the leg."""
    seal: str = ""


class Leg(_Shape):
    """Input of a leg."""

    signed: SignedSubmission
    run: str = Field(pattern=r"^[0-9a-f]{32}$")
    number: int = Field(default=1, ge=1, le=MOST_LEGS)
    asked: int = Field(default=0, ge=0)
    """Number of the last question."""
    answer: SealedAnswer | None = None
    """The answer to the last question."""
    scheduled: str | None = None
    """Time of the schedule that started the run; None: a person submitted it."""
    cancel: bool = False
    """The leg only ends the run: it removes its question from the inbox."""

    @classmethod
    def read(cls, shape: object) -> Leg:
        """Validate the input of a stored leg.

        :raises SubmissionRefused: it is malformed, or the signature belongs to another run.
        """
        try:
            leg = cls.model_validate(shape)
        except ValidationError as error:
            detail = error.errors()[0]
            where = ".".join(map(str, detail["loc"]))
            raise SubmissionRefused(f"the submission is malformed: {where}: {detail['msg']}") from error
        signed = leg.signed.submission
        if leg.run != (signed.fired(leg.scheduled) if leg.scheduled is not None else signed.run):
            raise SubmissionRefused(f"run {leg.run[:8]} is refused: its signature belongs to another run")
        if (signed.schedule is None) != (leg.scheduled is None):
            why = (
                "only a schedule may run a template"
                if signed.schedule is not None
                else "a schedule may only run a template"
            )
            raise SubmissionRefused(f"run {leg.run[:8]} is refused: {why}")
        return leg

    @property
    def submission(self) -> Submission:
        """The submission of this run; for a run of a schedule, completed from the template."""
        return self.signed.submission.model_copy(update={"run": self.run})

    @property
    def id(self) -> str:
        return leg_id(self.run, self.number)

    def again(self, number: int, result: LegResult | None) -> Leg:
        """Return a retry of this leg: it continues the run from the newest stored bundle.

        :param number: number of the new leg.
        """
        changes: dict[str, Any] = {"number": number}
        if result is not None and result.state in (State.WAITING, State.DECLINED):
            changes["answer"] = None  # the person is asked again
        return self.model_copy(update=changes)

    def cancelling(self, number: int) -> Leg:
        """Return the leg that ends the run."""
        return self.model_copy(update={"number": number, "cancel": True, "asked": self.asked + 1})

    def attributes(self) -> dict[str, Any]:
        """Return the summary of the leg for lists."""
        one = self.signed.submission
        shown = {"workflow": one.workflow, "repo": one.repo, "ref": one.ref, "by": one.by}
        about = {"prompt": one.prompt[:100], "adapter": one.adapter or "", "leg": self.number}
        return {**shown, **about, "cancel": self.cancel}


class LegResult(_Shape):
    """Result of a leg."""

    state: State
    message: CleanText = ""
    """The error, or the reason of a decline."""
    error_code: str | None = None
    bundle: str | None = None
    question: str | None = None
    """Hash of the stored question."""
    asked: OpenQuestion | None = None
    files: tuple[str, ...] = ()
    commit: str | None = None
    """Commit that the run began with."""
    at: int = 0
    """Start of the leg in milliseconds since the epoch."""
    worked: int = 0
    """Seconds that the run has worked in this leg and before."""
    branch: str | None = None
    landed: str | None = None
    """Commit of the pushed branch."""
    worker: str = ""
    seal: str = ""
    """Seal of the worker that made the result."""


def leg_id(run: str, number: int) -> str:
    """Return the id of a leg's DBOS workflow."""
    return f"{run}-{number}"


def branch_of(run: str) -> str:
    """Return the branch with the changes of a run."""
    return f"tideate/{run[:12]}"
