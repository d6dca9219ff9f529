"""Published questions and answers: their JSON forms, validated as untrusted data."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from tideate_core.engine import answer_key, question_digest
from tideate_core.errors import EditConflict, InvalidInput, RefusedRef
from tideate_core.util.escaping import label
from tideate_core.workflows import Decision, DecisionKind
from tideate_core.workspace import ExecutableFile, FileChange, Hunk, apply_hunks, unified_diff

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tideate_core.engine import ConfirmationRequest

T = TypeVar("T")

MOST_FILES: Final = 10_000
RunId: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Digest: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
CommitId: TypeAlias = Annotated[str, Field(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")]
Text: TypeAlias = Annotated[str, Field(max_length=16 << 20)]
Short: TypeAlias = Annotated[str, Field(max_length=2_000)]
Line: TypeAlias = Annotated[str, Field(pattern=r"^[^\n]*$", max_length=16 << 20)]
Path: TypeAlias = Annotated[str, Field(max_length=4_096)]
Place: TypeAlias = Annotated[int, Field(ge=0, le=1 << 31)]
Occurrence: TypeAlias = Annotated[str, Field(pattern=r"^([0-9a-f]{32})?$")]
"""Place of a question in its run; see `ConfirmationRequest`."""
At: TypeAlias = Annotated[int, Field(ge=0, le=1 << 52)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Shown(BaseModel):
    """A part of a payload, without the keys that front ends do not know."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class _Hunk(_Shown):
    start: Place
    old: list[Line]
    new: list[Line]
    conflict: bool = False


class _Edited(_Shown):
    hunk: Place
    old: list[Line]
    new: list[Line]


class _Decided(_Shown):
    accepted: list[Place] = []
    rejected: list[Place] = []
    added: list[_Hunk] = []
    edited: list[_Edited] = []


class _Comment(_Shown):
    text: Text
    path: Path = ""
    hunk: Place = 0
    line: Place = 0


class _File(_Shown):
    path: Path
    action: Literal["create", "modify", "delete", "move"]
    filetype: Short = ""
    move_to: Path = ""
    before: Text
    note: Short = ""
    marks: list[Short] = []
    folded: Literal["moved", "formatting"] = "moved"
    conflict: bool = False
    whole: bool = False
    images: list[Short] = []
    mode: list[Short] = []
    binary: bool = False
    hunks: list[_Hunk] = Field(max_length=1_000_000)
    decided: _Decided = _Decided()
    checked: Short = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for path in (self.path, self.move_to):
            if path.startswith("/") or "\0" in path or ".." in path.split("/"):
                raise ValueError(f"the path {path!r} leads out of the project")
        parts = max(len(self.hunks), 1)
        decided = (*self.decided.accepted, *self.decided.rejected, *(one.hunk for one in self.decided.edited))
        if any(at >= parts for at in decided):
            raise ValueError("a decision is about a hunk that the file does not have")
        self.change()
        return self

    def change(self) -> FileChange:
        """Return the change that the hunks make.

        :raises ValueError: they do not fit the text.
        """
        hunks = [Hunk(one.start, tuple(one.old), tuple(one.new)) for one in self.hunks]
        start = None if self.action == "create" else self.before
        try:
            lines = [] if start is None else start.split("\n")
            after = None if self.action == "delete" else "\n".join(apply_hunks(lines, hunks))
        except EditConflict as error:
            raise ValueError(str(error)) from error
        return FileChange(self.path, self.action, start, after, move_to=self.move_to)


class _Review(_Shown):
    files: list[_File] = Field(min_length=1, max_length=MOST_FILES)
    demonstration: bool = False
    revisable: bool = False
    collects: bool = False
    written: bool = False
    revision: Place = 1
    comments: list[_Comment] = []
    warnings: list[Short] = []


class _Planned(_Shown):
    path: Path
    action: Short
    why: Text = ""
    move_to: Path = ""


class _Plan(_Shown):
    files: list[_Planned] = Field(max_length=MOST_FILES)
    summary: Text = ""
    problems: list[Text] = []
    out: list[_Planned] = []
    again: bool = False
    revisable: bool = False
    revision: Place = 1
    comments: list[_Comment] = []
    changed: list[Path] = []
    warnings: list[Short] = []


class _Document(_Shown):
    text: Text
    filetype: Literal["markdown", "text"] = "markdown"
    title: Short = ""
    problems: list[Text] = []
    revisable: bool = False
    revision: Place = 1
    comments: list[_Comment] = []
    changed: list[Place] = []
    warnings: list[Short] = []


class _Tool(_Shown):
    server: Short
    tool: Short
    arguments: dict[str, JsonValue] = {}
    unattended: bool = False


class _Gate(_Shown):
    back: bool = False
    fixable: bool = False


_PAYLOADS: Final[Mapping[DecisionKind, type[_Shown]]] = {
    "review": _Review,
    "plan": _Plan,
    "document": _Document,
    "tool": _Tool,
    "gate": _Gate,
    "override": _Gate,
}
"""Payloads by kind; a comparison can be answered only on the machine of its runs."""


class _Executed(_Strict):
    path: Path
    reason: Short


class Question(_Strict):
    """The complete question of a published run: a reviewer needs nothing else."""

    format: Literal[1] = 1
    run: RunId
    n: Annotated[int, Field(ge=1, le=99_999)]
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
        form = _PAYLOADS.get(self.kind)
        if form is None:
            raise RefusedRef(f"a question of the kind {self.kind!r} cannot be answered here")
        if form is _Gate and not isinstance(self.payload, dict):
            return None
        payload = _parsed(form.model_validate, self.payload, "question")
        return payload.model_dump(exclude_unset=True)

    @property
    def executed_files(self) -> list[ExecutableFile]:
        """Files of the question that other tools execute."""
        return [ExecutableFile(one.path, one.reason) for one in self.executed]

    def diff(self) -> str:
        """Return the proposed changes of a review as a patch, else an empty text."""
        if self.kind != "review":
            return ""
        review = _Review.model_validate(self.payload)
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
    n: Annotated[int, Field(ge=1, le=99_999)]
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

    def check(self, question: Question, commit: str) -> None:
        """Check that it answers exactly this question.

        :param commit: commit of the question.
        :raises RefusedRef: it answers another question.
        """
        about = (self.run, self.n, self.digest, self.place, self.commit)
        if about != (question.run, question.n, question.digest, question.place, commit):
            raise RefusedRef(
                f"the answer {question.n} to run {question.run[:8]} is about another question or another "
                "version of it"
            )

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
    n: Annotated[int, Field(ge=1, le=99_999)]
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
    except RecursionError as error:
        raise RefusedRef(f"the published {noun} is nested too deeply") from error


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{label('.'.join(map(str, first['loc'])))}: {label(first['msg'])}"
