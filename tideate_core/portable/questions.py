"""Published questions and answers: their JSON forms, validated as untrusted data."""

from __future__ import annotations

import json
import uuid
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from tideate_core.engine import answer_key, question_digest
from tideate_core.errors import InvalidInput, RefusedRef
from tideate_core.portable.payloads import (
    MOST_FILES,
    PAYLOADS,
    Gate,
    Path,
    Review,
    Short,
    Text,
    check_value,
)
from tideate_core.util.escaping import label
from tideate_core.workflows import Decision, DecisionKind
from tideate_core.workspace import ExecutableFile, unified_diff

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from tideate_core.engine import ConfirmationRequest

T = TypeVar("T")

LAST: Final = 99_999
"""Highest number of a question."""
RunId: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Digest: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
CommitId: TypeAlias = Annotated[str, Field(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")]
Occurrence: TypeAlias = Annotated[str, Field(pattern=r"^([0-9a-f]{32})?$")]
"""Place of a question in its run; see `ConfirmationRequest`."""
Number: TypeAlias = Annotated[int, Field(ge=1, le=LAST)]
At: TypeAlias = Annotated[int, Field(ge=0, le=1 << 52)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Executed(_Strict):
    path: Path
    reason: Short


class Question(_Strict):
    """The complete question of a published run: a reviewer needs nothing else."""

    format: Literal[1] = 1
    run: RunId
    n: Number
    """Number among the published questions of the run."""
    workflow: Short
    step: Short
    kind: DecisionKind
    message: Text
    details: Text = ""
    payload: JsonValue = None
    executed: list[_Executed] = Field(default=[], max_length=MOST_FILES)
    demonstration: bool = False
    digest: Digest
    place: Occurrence = ""
    project: Short = ""
    asked_at: At
    """Milliseconds since the epoch."""
    version: Short
    """The version of tideate that asks."""

    @classmethod
    def of_request(cls, request: ConfirmationRequest, run: str, n: int, **about: Any) -> Self:
        """Return the question of a run.

        :param run: the outermost run.
        :param about: project, time and version.
        :raises InvalidInput: a reader would reject it.
        """
        try:
            made = cls(
                run=run,
                n=n,
                workflow=request.workflow,
                step=request.step,
                kind=request.kind,
                message=request.message,
                details=request.details,
                payload=json.loads(json.dumps(request.payload)),
                executed=[_Executed(path=one.path, reason=one.reason) for one in request.executed],
                demonstration=request.demonstration,
                digest=question_digest(request),
                place=request.place,
                **about,
            )
            cls.read(as_bytes(made), run)
        except (ValueError, RefusedRef) as error:  # pydantic's errors are ValueErrors
            words = _first(error) if isinstance(error, ValidationError) else label(str(error))
            raise InvalidInput(f"the question cannot be published: {words}; answer it here") from error
        return made

    @classmethod
    def read(cls, data: bytes, run: str) -> Self:
        """Parse a published question.

        :raises RefusedRef: it is invalid, is about another run, or its digest is wrong.
        """
        question = _parsed(cls.model_validate_json, data, "question")
        if question.run != run:
            raise RefusedRef(f"the question of run {run[:8]} names another run")
        if question_digest(question._request()) != question.digest:
            raise RefusedRef(f"the question of run {run[:8]} does not match its digest")
        question.shown()
        return question

    def shown(self) -> Any:
        """Return the payload that front ends show, without buffers, checks and unknown keys.

        :raises RefusedRef: it does not have the form of its kind.
        """
        form = PAYLOADS.get(self.kind)
        if form is None:
            raise RefusedRef(f"a question of the kind {self.kind!r} cannot be answered here")
        if form is Gate and not isinstance(self.payload, dict):
            return None
        payload = _parsed(form.model_validate, self.payload, "question")
        return payload.model_dump(exclude_unset=True)

    def is_same(self, other: Question) -> bool:
        """Tell whether another one is this question at the same place of the run."""
        return (self.digest, self.place) == (other.digest, other.place)

    @property
    def executed_files(self) -> list[ExecutableFile]:
        """Files of the question that other tools execute."""
        return [ExecutableFile(one.path, one.reason) for one in self.executed]

    def diff(self) -> str:
        """Return the proposed changes of a review as a patch, else an empty text."""
        if self.kind != "review":
            return ""
        review = Review.model_validate(self.payload)
        return "".join(unified_diff(file.change()) for file in review.files)

    def _request(self) -> ConfirmationRequest:
        from tideate_core.engine import ConfirmationRequest

        return ConfirmationRequest(
            self.run, self.workflow, self.step, self.kind, self.message, self.details, self.payload
        )


class _Decision(_Strict):
    accepted: bool
    value: JsonValue = None
    by: Literal["user", "policy:draft", "policy:yes"]
    reason: Text = ""


class Answer(_Strict):
    """An answer to a published question."""

    format: Literal[1] = 1
    run: RunId
    n: Number
    digest: Digest
    place: Occurrence = ""
    commit: CommitId
    """The commit of the question that it answers."""
    decision: _Decision
    by: Short
    """The reviewer's name and address, as git has them."""
    at: At
    """Milliseconds since the epoch."""

    @classmethod
    def of_decision(cls, question: Question, commit: str, decision: Decision, by: str, at: int) -> Self:
        """Return the answer to a question."""
        given = _Decision.model_validate(decision.as_json())
        return cls(
            run=question.run,
            n=question.n,
            digest=question.digest,
            place=question.place,
            commit=commit,
            decision=given,
            by=by,
            at=at,
        )

    @classmethod
    def read(cls, data: bytes) -> Self:
        """Parse a published answer.

        :raises RefusedRef: it is invalid.
        """
        return _parsed(cls.model_validate_json, data, "answer")

    def check(self, question: Question, commits: Collection[str]) -> None:
        """Check that it answers exactly this question.

        :param commits: commits of the question.
        :raises RefusedRef: it answers another question.
        """
        about = (self.run, self.n, self.digest, self.place)
        asked = (question.run, question.n, question.digest, question.place)
        if about != asked or self.commit not in commits:
            raise RefusedRef(
                f"the answer {question.n} to run {question.run[:8]} is about another question or another "
                "version of it"
            )
        given = self.decision
        if given.value is not None:
            if given.by == "policy:yes":
                raise RefusedRef("the published answer is invalid: a policy gives no values")
            check = partial(check_value, question.kind, question.shown(), accepted=given.accepted)
            _parsed(check, given.value, "answer")

    @property
    def key(self) -> str:
        """Key for `RecordedAnswers`."""
        return answer_key(self.digest, self.place)

    def as_decision(self) -> Decision:
        """Return the decision for the run."""
        return Decision.of_json(self.decision.model_dump())


class Taken(_Strict):
    """Mark that a person or job continues a run."""

    format: Literal[1] = 1
    run: RunId
    n: Number
    by: Short
    at: At
    nonce: Digest = Field(default_factory=lambda: uuid.uuid4().hex)
    """Distinguishes two jobs with the same name that continue the run at the same time."""
    ended: bool = False
    """The run has ended, but the remote keeps its refs."""

    @classmethod
    def read(cls, data: bytes) -> Self:
        """Parse a mark.

        :raises RefusedRef: it is invalid.
        """
        return _parsed(cls.model_validate_json, data, "mark")


def as_bytes(model: BaseModel) -> bytes:
    """Return the JSON of a question, answer or mark."""
    return model.model_dump_json().encode() + b"\n"


def _parsed(parse: Callable[[Any], T], data: Any, noun: str) -> T:
    try:
        return parse(data)
    except ValidationError as error:
        raise RefusedRef(f"the published {noun} is invalid: {_first(error)}") from error
    except ValueError as error:
        raise RefusedRef(f"the published {noun} is invalid: {label(str(error))}") from error
    except RecursionError as error:
        raise RefusedRef(f"the published {noun} is nested too deeply") from error


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{label('.'.join(map(str, first['loc'])))}: {label(first['msg'])}"
