"""Payloads of published questions, and the values that answer them, validated as untrusted data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, model_validator

from tideate_core.errors import EditConflict
from tideate_core.workspace import FileChange, Hunk, apply_hunks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.workflows import DecisionKind

MOST_FILES: Final = 10_000
Text: TypeAlias = Annotated[str, Field(max_length=16 << 20)]
Short: TypeAlias = Annotated[str, Field(max_length=2_000)]
Line: TypeAlias = Annotated[str, Field(pattern=r"^[^\n]*$", max_length=16 << 20)]
Path: TypeAlias = Annotated[str, Field(max_length=4_096)]
Place: TypeAlias = Annotated[int, Field(ge=0, le=1 << 31)]


class Shown(BaseModel):
    """A part of a payload, without the keys that front ends do not know."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class ShownHunk(Shown):
    """A proposed hunk."""

    start: Place
    old: list[Line]
    new: list[Line]
    conflict: bool = False


class EditedHunk(Shown):
    """A hunk that the person rewrote."""

    hunk: Place
    old: list[Line]
    new: list[Line]


class DecidedHunks(Shown):
    """Decisions about the hunks of a file, by their indexes."""

    accepted: list[Place] = []
    rejected: list[Place] = []
    added: list[ShownHunk] = []
    edited: list[EditedHunk] = []


class ShownComment(Shown):
    """A comment of the person on a file, a hunk or a line."""

    text: Text
    path: Path = ""
    hunk: Place = 0
    line: Place = 0


class ShownFile(Shown):
    """A file with its proposed hunks and the decisions about them."""

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
    hunks: list[ShownHunk] = Field(max_length=1_000_000)
    decided: DecidedHunks = DecidedHunks()
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


class Review(Shown):
    """Payload of a review."""

    files: list[ShownFile] = Field(min_length=1, max_length=MOST_FILES)
    demonstration: bool = False
    revisable: bool = False
    collects: bool = False
    written: bool = False
    revision: Place = 1
    comments: list[ShownComment] = []
    warnings: list[Short] = []


class ShownPlanned(Shown):
    """A file that a plan names."""

    path: Path
    action: Short
    why: Text = ""
    move_to: Path = ""


class Plan(Shown):
    """Payload of a plan."""

    files: list[ShownPlanned] = Field(max_length=MOST_FILES)
    summary: Text = ""
    problems: list[Text] = []
    out: list[ShownPlanned] = []
    again: bool = False
    revisable: bool = False
    revision: Place = 1
    comments: list[ShownComment] = []
    changed: list[Path] = []
    warnings: list[Short] = []


class Document(Shown):
    """Payload of a document that the person may edit."""

    text: Text
    filetype: Literal["markdown", "text"] = "markdown"
    title: Short = ""
    problems: list[Text] = []
    revisable: bool = False
    revision: Place = 1
    comments: list[ShownComment] = []
    changed: list[Place] = []
    warnings: list[Short] = []


class Tool(Shown):
    """Payload of a permission for a tool call."""

    server: Short
    tool: Short
    arguments: dict[str, JsonValue] = {}
    unattended: bool = False


class Gate(Shown):
    """Payload of a failed gate."""

    back: bool = False
    fixable: bool = False


PAYLOADS: Final[Mapping[DecisionKind, type[Shown]]] = {
    "review": Review,
    "plan": Plan,
    "document": Document,
    "tool": Tool,
    "gate": Gate,
    "override": Gate,
}
"""Payloads by kind; a comparison can be answered only on the machine of its runs."""


class _Said(Shown):
    text: Text
    path: Path | None = None
    hunk: Place | None = None
    line: Place | None = None


class _Verdict(Shown):
    path: Path | None = None
    accepted: list[Place]
    rejected: list[Place] = []
    added: list[ShownHunk] = []
    edited: list[EditedHunk] = []


class _Verdicts(Shown):
    files: list[_Verdict] = Field(max_length=MOST_FILES)
    comments: list[_Said] = []


class _Files(Shown):
    files: list[ShownPlanned] | None = Field(default=None, max_length=MOST_FILES)
    comments: list[_Said] = []


class _Written(Shown):
    text: Text | None = None
    comments: list[_Said] = []


_VALUES: Final[Mapping[DecisionKind, TypeAdapter[Any]]] = {
    "review": TypeAdapter(_Verdicts),
    "plan": TypeAdapter(_Files),
    "document": TypeAdapter(_Written),
    "tool": TypeAdapter(Literal["run", "project"]),
    "gate": TypeAdapter(Literal["back", "fix"]),
    "override": TypeAdapter(Literal["back", "fix"]),
}
"""Values of answers by kind, beside None."""


def check_value(kind: DecisionKind, payload: Any, value: Any, *, accepted: bool) -> None:
    """Check that a value can answer a question.

    :param payload: of the question, as front ends show it.
    :raises ValueError: it cannot.
    """
    given = _VALUES[kind].validate_python(value)
    shown = payload or {}
    if isinstance(given, str):
        if accepted is not (kind == "tool") or (kind != "tool" and not shown.get(_OFFERS[given])):
            raise ValueError(f"the question does not offer {given!r}")
        return
    if isinstance(given, _Verdicts):
        _check_verdicts(given, shown["files"])
    elif given.comments and not accepted:
        _check_comments(given.comments, shown, getattr(given, "text", None))


_OFFERS: Final = {"back": "back", "fix": "fixable"}
"""Keys of a payload that offer an answer."""


def _check_verdicts(given: _Verdicts, files: list[dict[str, Any]]) -> None:
    if len(given.files) != len(files):
        raise ValueError(f"it is about {len(given.files)} files, and the question about {len(files)}")
    paths = {file["path"] for file in files}
    if unknown := {one.path for one in given.comments if one.path is not None} - paths:
        raise ValueError(f"it has a comment on {min(unknown)!r}, which the question does not show")
    for verdict, file in zip(given.files, files, strict=True):
        if verdict.path not in (None, file["path"]):
            raise ValueError(f"it names {verdict.path!r} in place of {file['path']!r}")
        hunks = [*verdict.accepted, *verdict.rejected, *(one.hunk for one in verdict.edited)]
        if any(at >= max(len(file["hunks"]), 1) for at in hunks):
            raise ValueError(f"it decides about a hunk that {file['path']!r} does not have")
        if both := {*verdict.accepted}.intersection(verdict.rejected):
            raise ValueError(f"it accepts and rejects hunk {min(both)} of {file['path']!r}")


def _check_comments(said: list[_Said], shown: Mapping[str, Any], text: str | None) -> None:
    if not shown.get("revisable"):
        raise ValueError("it has comments, and no model can answer them")
    if not any(one.text.strip() for one in said):
        raise ValueError("its comments are empty")
    lines = (shown.get("text", "") if text is None else text).count("\n") + 1
    if any(one.line is not None and not 1 <= one.line <= lines for one in said if "text" in shown):
        raise ValueError("it has a comment on a line that the text does not have")
